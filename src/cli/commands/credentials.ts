// SASL credentials of Kafka clients on the command line. Passwords come from KETCH_NEW_PASSWORD or are asked for.

import type { Credential, CredentialList, NewCredential, StoredCredential } from '../../api/credentials.ts'
import { MECHANISMS } from '../../api/words.ts'
import { printable } from '../../base/printable.ts'
import { type Command, confirm, newPassword, segment, wordOption, YES } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

export const credentialCommands: readonly Command[] = [
  {
    name: 'credentials list',
    doc: 'Lists the users that Kafka clients may sign in as with a password.',
    args: [],
    options: {},
    async run(call) {
      const page = everyRow<Credential, CredentialList>(call, '/api/v1/credentials', 'credentials')
      const { rows: credentials, last } = await page
      for (const username of last.unreadable)
        call.terminal.err(`ketch: the credential of ${printable(username)} has a form that this version cannot read\n`)
      call.show({ credentials }, () =>
        table(
          ['USER', 'MECHANISM', 'ITERATIONS', 'TENANT'],
          credentials.map(each => [each.username, each.mechanism, each.iterations, each.tenant_id]),
        ),
      )
      return EXIT.OK
    },
  },
  {
    name: 'credentials create',
    doc: 'Stores the credential of a Kafka client. It replaces an existing one.',
    args: [{ name: 'user' }],
    options: {
      mechanism: { value: 'name', doc: `${MECHANISMS.join(' or ')}; the first by default.` },
      tenant: { value: 'id', doc: 'The tenant that connections of this user carry.' },
    },
    async run(call) {
      const username = call.args[0]!
      const mechanism = wordOption(call, 'mechanism', MECHANISMS, 'SCRAM-SHA-256')
      const tenant = call.option('tenant')
      const password = await newPassword(call, username)
      const body: NewCredential = {
        username,
        mechanism,
        password,
        ...(tenant === undefined ? {} : { tenant_id: tenant }),
      }
      const made = await call.api.post<StoredCredential>('/api/v1/credentials', body)
      if (made.notice !== null) call.terminal.err(`ketch: ${made.notice}\n`)
      call.show(made, () => `${made.username} may sign in with ${made.mechanism}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'credentials delete',
    doc: 'Removes the credential of a Kafka client. Open connections stay.',
    args: [{ name: 'user' }],
    options: { yes: YES },
    async run(call) {
      const [username] = call.args
      if (!(await confirm(call, `Remove the credential of ${username}?`))) return EXIT.OK
      await call.api.delete(`/api/v1/credentials/${segment(username!)}`)
      call.show({ deleted: [username] }, () => `${username} is removed.\n`)
      return EXIT.OK
    },
  },
]
