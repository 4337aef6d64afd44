// Console users, who sign in with a password, and their roles. The rules are in admin/users.ts.

import { z } from 'zod'
import { pageOf, searchFor } from '../../admin/paging.ts'
import {
  changeUser,
  createUser,
  describeUser,
  isUserRefusal,
  listUsers,
  removeUser,
  type UserRefusal,
} from '../../admin/users.ts'
import { newUserShape, userChangeShape, userListQuery, userListShape, userShape } from '../../api/users.ts'
import type { User } from '../../auth/console/user-store.ts'
import { fromSignIn } from '../access.ts'
import { type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'
import { visitorOf } from '../session-cookie.ts'

const params = z.object({ username: z.string() })

function shown({ username, role, createdAtMs, passwordChangedAtMs, hasShippedPassword }: User) {
  return {
    username,
    role,
    createdAt: new Date(createdAtMs).toISOString(),
    passwordChangedAt: new Date(passwordChangedAtMs).toISOString(),
    passwordChangeRequired: hasShippedPassword,
  }
}

function refused(refusal: UserRefusal): Problem {
  switch (refusal.kind) {
    case 'invalid': {
      const { field, message } = refusal
      return problem('INVALID_REQUEST', `The ${field} ${message}.`, { fields: { [field]: message } })
    }
    case 'unknown-user':
      return problem('NOT_FOUND', `There is no user '${refusal.username}'.`)
    case 'unreadable-user':
      return problem(
        'UNREADABLE',
        `The user '${refusal.username}' is stored in a form that this version cannot read; delete it to free its name.`,
      )
    case 'user-exists':
      return problem('USER_EXISTS', `There is a user '${refusal.username}' already.`)
    case 'last-admin':
      return problem('LAST_ADMIN', `'${refusal.username}' is the last ADMIN.`)
    case 'nothing-to-change':
      return problem('INVALID_REQUEST', 'The body names neither a role nor a password.')
    case 'wrong-current-password':
      return problem('WRONG_CURRENT_PASSWORD')
    case 'password-change-required':
      return problem('PASSWORD_CHANGE_REQUIRED')
    case 'locked-out':
    case 'busy':
      return fromSignIn(refusal)
  }
}

export const userRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/users',
    needs: 'viewer',
    verb: 'list users',
    tag: 'users',
    doc: 'The users who sign in with a password, without those of single sign-on.',
    query: userListQuery,
    answers: { 200: userListShape },
    async answer({ query }, { accounts }) {
      const isWanted = searchFor(query.q)
      const { users, unreadable } = await listUsers(accounts)
      const wanted = users.map(shown).filter(({ username }) => isWanted(username))
      const page = pageOf(
        wanted,
        query,
        each => each[query.sort],
        each => each.username,
      )
      return reply(200, { users: page, total: wanted.length, unreadable })
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/users',
    needs: 'admin',
    verb: 'create user',
    tag: 'users',
    doc: 'Makes a user. The role is ADMIN by default.',
    body: newUserShape,
    audited: ['username', 'role'],
    answers: { 201: userShape },
    headers: { 201: ['Location'] },
    problems: { 409: 'USER_EXISTS', 503: 'BUSY' },
    async answer({ body }, { accounts }) {
      const made = await createUser(accounts, body)
      if (isUserRefusal(made)) return refused(made)
      return reply(201, shown(made), { location: `/api/v1/users/${encodeURIComponent(made.username)}` })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/users/:username',
    needs: 'viewer',
    verb: 'describe user',
    tag: 'users',
    doc: 'One user.',
    params,
    answers: { 200: userShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { username } }, { accounts }) {
      const found = await describeUser(accounts, username)
      return isUserRefusal(found) ? refused(found) : reply(200, shown(found))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/users/:username',
    needs: 'admin',
    verb: 'change user',
    tag: 'users',
    doc: 'Sets another password or role and ends the sessions of the user on every broker. To change the own password, send currentPassword too.',
    params,
    body: userChangeShape,
    audited: ['role'],
    answers: { 200: userShape },
    problems: { 403: 'WRONG_CURRENT_PASSWORD', 409: 'LAST_ADMIN, UNREADABLE', 429: 'TOO_MANY_REQUESTS', 503: 'BUSY' },
    async answer({ params: { username }, body, identity, address, headers }, { accounts }) {
      const visitor = { ...visitorOf(address, name => headers[name]), isSignedIn: identity?.session != null }
      const changed = await changeUser(accounts, { identity, visitor }, username, body)
      return isUserRefusal(changed) ? refused(changed) : reply(200, shown(changed))
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/users/:username',
    needs: 'admin',
    verb: 'delete user',
    tag: 'users',
    doc: 'Removes a user and ends its sessions on every broker. The last ADMIN stays.',
    params,
    answers: { 204: null },
    problems: { 409: 'LAST_ADMIN' },
    async answer({ params: { username } }, { accounts }) {
      const refusal = await removeUser(accounts, username)
      return refusal === null ? reply(204) : refused(refusal)
    },
  }),
]
