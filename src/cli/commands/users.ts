// Users of the admin API and the console on the command line. Passwords come from KETCH_NEW_PASSWORD or are asked for.

import type { NewUser, User, UserChange, UserList } from '../../api/users.ts'
import { ROLES } from '../../api/words.ts'
import { printable } from '../../base/printable.ts'
import { type Command, confirm, newPassword, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

const userPath = (username: string) => `/api/v1/users/${segment(username)}`

export const userCommands: readonly Command[] = [
  {
    name: 'users list',
    doc: 'Lists the users who sign in with a password.',
    args: [],
    options: {},
    async run(call) {
      const { rows: users, last } = await everyRow<User, UserList>(call, '/api/v1/users', 'users')
      for (const username of last.unreadable)
        call.terminal.err(`ketch: the user ${printable(username)} has a form that this version cannot read\n`)
      call.show({ users, unreadable: last.unreadable }, () =>
        table(
          ['USER', 'ROLE', 'CREATED', 'PASSWORD OF', 'NOTE'],
          users.map(each => [
            each.username,
            each.role,
            each.createdAt,
            each.passwordChangedAt,
            each.passwordChangeRequired ? 'has the default password' : '',
          ]),
        ),
      )
      return EXIT.OK
    },
  },
  {
    name: 'users create',
    doc: 'Makes a user.',
    args: [{ name: 'user' }],
    options: { role: { value: 'role', doc: 'ADMIN or VIEWER; ADMIN by default.' } },
    async run(call) {
      const username = call.args[0]!
      const role = wordOption(call, 'role', ROLES, 'ADMIN')
      const password = await newPassword(call, username)
      const user = await call.api.post<User>('/api/v1/users', { username, password, role } satisfies NewUser)
      call.show(user, () => `${user.username} is made, as ${user.role}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'users role',
    doc: 'Gives a user another role, and ends the sessions of the user.',
    args: [{ name: 'user' }, { name: 'role' }],
    options: {},
    async run(call) {
      const [username, given] = call.args
      const role = ROLES.find(each => each === given!.toUpperCase())
      if (role === undefined)
        throw new CommandFailed(EXIT.USAGE, `the role: got ${JSON.stringify(given)}, takes ${ROLES.join(' or ')}`)
      const user = await call.api.put<User>(userPath(username!), { role } satisfies UserChange)
      call.show(user, () => `${user.username} is ${user.role}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'users password',
    doc: 'Gives a user another password, and ends the sessions of the user.',
    args: [{ name: 'user' }],
    options: {},
    async run(call) {
      const username = call.args[0]!
      const password = await newPassword(call, username)
      // A user who changes their own password must send the current one, which the session began with.
      const own = username === call.api.user ? { currentPassword: await call.api.password() } : {}
      const user = await call.api.put<User>(userPath(username), { password, ...own } satisfies UserChange)
      call.show(user, () => `${user.username} has another password.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'users delete',
    doc: 'Removes a user and ends its sessions. The last ADMIN stays.',
    args: [{ name: 'user' }],
    options: { yes: YES },
    async run(call) {
      const [username] = call.args
      if (!(await confirm(call, `Remove the user ${username}?`))) return EXIT.OK
      await call.api.delete(userPath(username!))
      call.show({ deleted: [username] }, () => `${username} is removed.\n`)
      return EXIT.OK
    },
  },
]
