// Users of the admin API and the console on the command line. Passwords come from KETCH_NEW_PASSWORD or are asked for.

import { printable } from '../../base/printable.ts'
import { type Command, confirm, newPassword, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

interface User {
  readonly username: string
  readonly role: string
  readonly createdAt: string
  readonly passwordChangedAt: string
  readonly passwordChangeRequired: boolean
}

interface UserPage {
  readonly users: readonly User[]
  readonly total: number
  readonly unreadable: readonly string[]
}

const ROLES = ['ADMIN', 'VIEWER'] as const
const userPath = (username: string) => `/api/v1/users/${segment(username)}`

export const userCommands: readonly Command[] = [
  {
    name: 'users list',
    doc: 'The users who sign in with a password.',
    args: [],
    options: {},
    async run(call) {
      const { rows: users, last } = await everyRow<User, UserPage>(call, '/api/v1/users', 'users')
      for (const username of last.unreadable)
        call.terminal.err(`ketch: the user ${printable(username)} is not in a form that is read here\n`)
      call.show({ users, unreadable: last.unreadable }, () =>
        table(
          ['USER', 'ROLE', 'CREATED', 'PASSWORD OF', 'NOTE'],
          users.map(each => [
            each.username,
            each.role,
            each.createdAt,
            each.passwordChangedAt,
            each.passwordChangeRequired ? 'has the shipped password' : '',
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
    options: { role: { value: 'role', doc: 'ADMIN or VIEWER; ADMIN where it is not said.' } },
    async run(call) {
      const username = call.args[0]!
      const role = wordOption(call, 'role', ROLES, 'ADMIN')
      const password = await newPassword(call, username)
      const user = await call.api.post<User>('/api/v1/users', { username, password, role })
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
      const user = await call.api.put<User>(userPath(username!), { role })
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
      // Of oneself the present one is asked for, which is what the session began with.
      const own = username === call.api.user ? { currentPassword: await call.api.password() } : {}
      const user = await call.api.put<User>(userPath(username), { password, ...own })
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
