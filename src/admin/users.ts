// Lists, creates, changes and removes console users. The credentials of Kafka clients are in credentials.ts. The
// check that one ADMIN remains is made together with the write, so that two brokers cannot remove the last two ADMINs
// at the same time.

import type { Accounts, SignInRefusal } from '../auth/console/accounts.ts'
import type { Identity, Role, Visitor } from '../auth/console/identity.ts'
import type { Busy } from '../auth/console/password-hash.ts'
import type { User, Users } from '../auth/console/user-store.ts'
import { canonicalUsername, objectionToPassword, objectionToUsername } from '../auth/user-rules.ts'

export interface NewUser {
  readonly username: string
  readonly password: string
  readonly role: Role
}

export interface UserChanges {
  readonly role?: Role | undefined
  readonly password?: string | undefined
  /** A user who changes their own password gives the old one too. */
  readonly currentPassword?: string | undefined
}

/** The identity that requests a change, and the address of its client. */
export interface Actor {
  readonly identity: Identity | null
  readonly visitor: Visitor
}

export type UserRefusal =
  | { readonly kind: 'invalid'; readonly field: 'username' | 'password' | 'currentPassword'; readonly message: string }
  | { readonly kind: 'unknown-user'; readonly username: string }
  | { readonly kind: 'unreadable-user'; readonly username: string }
  | { readonly kind: 'user-exists'; readonly username: string }
  | { readonly kind: 'last-admin'; readonly username: string }
  | { readonly kind: 'nothing-to-change' }
  | { readonly kind: 'wrong-current-password' }
  | { readonly kind: 'password-change-required' }
  | Exclude<SignInRefusal, { kind: 'wrong-credentials' }>
  | Busy

/** The user already has the requested role, so nothing was changed. */
interface Unchanged {
  readonly kind: 'unchanged'
  readonly user: User
}

export function isUserRefusal(answer: User | UserRefusal): answer is UserRefusal {
  return 'kind' in answer
}

export interface ListedUsers {
  /** In no particular order. */
  readonly users: readonly User[]
  /** Names of users that cannot be read, sorted. */
  readonly unreadable: readonly string[]
}

/** Lists all users. Throws what the store throws, as every verb in this file does. */
export async function listUsers({ users }: Accounts): Promise<ListedUsers> {
  await users.catchUp()
  const { byName, unreadable } = users.current()
  return { users: [...byName.values()], unreadable: [...unreadable].sort() }
}

export async function describeUser({ users }: Accounts, given: string): Promise<User | UserRefusal> {
  const username = canonicalUsername(given)
  await users.catchUp()
  return users.current().byName.get(username) ?? missing(users.current(), username)
}

export async function createUser(
  accounts: Accounts,
  { username: given, password, role }: NewUser,
): Promise<User | UserRefusal> {
  const { users } = accounts
  const username = canonicalUsername(given)
  const name = objectionToUsername(username)
  if (name !== null) return invalid('username', name)
  const secret = objectionToPassword(password)
  if (secret !== null) return invalid('password', secret)
  const exists: UserRefusal = { kind: 'user-exists', username }
  await users.catchUp()
  if (isTaken(users.current(), username)) return exists
  const user = await accounts.makeUser(username, role, password)
  if ('kind' in user) return user
  const decided = await users.change<UserRefusal>(now =>
    isTaken(now, username) ? exists : { kind: 'change', username, user },
  )
  return decided.kind === 'change' ? user : decided
}

/** Changes the role or the password of a user. A new role or password ends the user's sessions on every broker. */
export async function changeUser(
  accounts: Accounts,
  { identity, visitor }: Actor,
  given: string,
  { role, password, currentPassword }: UserChanges,
): Promise<User | UserRefusal> {
  const { users } = accounts
  const username = canonicalUsername(given)
  const isOwn = identity?.session != null && !identity.isFederated && identity.username === username
  if (identity?.mustChangePassword && !(isOwn && password !== undefined && (role ?? identity.role) === identity.role))
    return { kind: 'password-change-required' }
  if (role === undefined && password === undefined) return { kind: 'nothing-to-change' }
  await users.catchUp()
  if (!users.current().byName.has(username)) return missing(users.current(), username)
  if (isOwn && password !== undefined) {
    if (currentPassword === undefined) return invalid('currentPassword', 'is missing: it is your own password')
    const found = await accounts.checkPassword(username, currentPassword, visitor)
    if ('kind' in found) return found.kind === 'wrong-credentials' ? { kind: 'wrong-current-password' } : found
  }
  const secret = password === undefined ? null : objectionToPassword(password)
  if (secret !== null) return invalid('password', secret)
  const renewed = password === undefined ? null : await accounts.makePassword(password)
  if (renewed !== null && 'kind' in renewed) return renewed
  const stamp = accounts.makeStamp()
  const decided = await users.change<UserRefusal | Unchanged>(now => {
    const user = now.byName.get(username)
    if (user === undefined) return missing(now, username)
    const next = { ...user, ...renewed, role: role ?? user.role, stamp }
    if (password === undefined && next.role === user.role) return { kind: 'unchanged', user }
    if (next.role !== 'ADMIN' && isLastAdmin(now, user)) return { kind: 'last-admin', username }
    return { kind: 'change', username, user: next }
  })
  return decided.kind === 'change' || decided.kind === 'unchanged' ? decided.user! : decided
}

/**
 * Removes a user, even if its stored form cannot be read, and ends its sessions. Resolves to null, or to a refusal.
 */
export async function removeUser({ users }: Accounts, given: string): Promise<UserRefusal | null> {
  const username = canonicalUsername(given)
  const decided = await users.change<UserRefusal>(now => {
    const user = now.byName.get(username)
    if (user === undefined && !now.unreadable.has(username)) return { kind: 'unknown-user', username }
    if (user !== undefined && isLastAdmin(now, user)) return { kind: 'last-admin', username }
    return { kind: 'change', username, user: null }
  })
  return decided.kind === 'change' ? null : decided
}

/** Returns the refusal for a name that no readable user has. */
function missing({ unreadable }: Users, username: string): UserRefusal {
  return { kind: unreadable.has(username) ? 'unreadable-user' : 'unknown-user', username }
}

/** Returns true if a user has this name, even a user that cannot be read. */
function isTaken({ byName, unreadable }: Users, username: string): boolean {
  return byName.has(username) || unreadable.has(username)
}

function isLastAdmin({ byName }: Users, { username, role }: User): boolean {
  return role === 'ADMIN' && ![...byName.values()].some(each => each.role === 'ADMIN' && each.username !== username)
}

function invalid(field: 'username' | 'password' | 'currentPassword', message: string): UserRefusal {
  return { kind: 'invalid', field, message }
}
