// SASL credentials of Kafka clients on the command line. Passwords come from KETCH_NEW_PASSWORD or are asked for.

import { printable } from '../../base/printable.ts'
import { type Command, confirm, newPassword, segment, wordOption, YES } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

interface Credential {
  readonly username: string
  readonly mechanism: string
  readonly iterations: number
  readonly tenant_id: string | null
}

interface CredentialPage {
  readonly credentials: readonly Credential[]
  readonly total: number
  readonly unreadable: readonly string[]
}

const MECHANISMS = ['SCRAM-SHA-256', 'PLAIN'] as const

export const credentialCommands: readonly Command[] = [
  {
    name: 'credentials list',
    doc: 'Who may sign in as a Kafka client with a password.',
    args: [],
    options: {},
    async run(call) {
      const page = everyRow<Credential, CredentialPage>(call, '/api/v1/credentials', 'credentials')
      const { rows: credentials, last } = await page
      for (const username of last.unreadable)
        call.terminal.err(`ketch: the credential of ${printable(username)} is not in a form that is read here\n`)
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
    doc: 'Lets a Kafka client sign in; one that exists is replaced.',
    args: [{ name: 'user' }],
    options: {
      mechanism: { value: 'name', doc: `${MECHANISMS.join(' or ')}; the first where it is not said.` },
      tenant: { value: 'id', doc: 'The tenant that connections of this user carry.' },
    },
    async run(call) {
      const username = call.args[0]!
      const mechanism = wordOption(call, 'mechanism', MECHANISMS, 'SCRAM-SHA-256')
      const tenant = call.option('tenant')
      const password = await newPassword(call, username)
      const body = { username, mechanism, password, ...(tenant === undefined ? {} : { tenant_id: tenant }) }
      const made = await call.api.post<Credential>('/api/v1/credentials', body)
      call.show(made, () => `${made.username} may sign in with ${made.mechanism}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'credentials delete',
    doc: 'Lets a Kafka client sign in no longer. Open connections stay.',
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
