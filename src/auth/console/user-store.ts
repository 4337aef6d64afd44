// Keeps the console users of the store as immutable snapshots, and changes them. They are in one document: one field
// for each user, and one for each name whose older sessions are cut off. The caller decides whether a change is
// allowed: `decide` gets the newest state, and the store takes the change only if that state is still the newest. So
// a rule over all users (at least one ADMIN is left) also holds when other brokers write. This file hashes no
// password and knows no session.
//
// A user that cannot be read (edited by hand, or written by a later version) cannot sign in, but still counts as a
// user: the name is not given again, and no first admin is created. An ADMIN can remove such a user by its name.

import { cut } from '../../base/cut.ts'
import { type DocumentRooms, keepDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Row, UnreadableDocument } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import type { Role } from './identity.ts'

export interface User {
  readonly username: string
  readonly role: Role
  /** The hash in the form of password-hash.ts. */
  readonly passwordHash: string
  /** True if the password is the default one, which is public. */
  readonly hasShippedPassword: boolean
  /**
   * A new one after each change of password or role. It is never used again, not even for a new user with the same
   * name. Sessions carry it and are checked against it.
   */
  readonly stamp: string
  readonly createdAtMs: number
  readonly passwordChangedAtMs: number
}

export interface Users {
  /** The version of their document; 0 if no user was created yet. */
  readonly version: number
  readonly byName: ReadonlyMap<string, User>
  /**
   * By name, a time in milliseconds since 1970. Sessions without a stamp (from before stamps existed) are over if
   * they were issued at this time or earlier.
   */
  readonly cutOffs: ReadonlyMap<string, number>
  /** Names of users that cannot be read. */
  readonly unreadable: ReadonlySet<string>
}

/** Returns whether there is no user. Then the first visitor may become the first admin. */
export function isEmpty({ byName, unreadable }: Pick<Users, 'byName' | 'unreadable'>): boolean {
  return byName.size + unreadable.size === 0
}

/**
 * Stores this user; null removes the user with the name. If `isSilent` is true, the sessions of the user stay valid.
 */
export interface UserChange {
  readonly kind: 'change'
  readonly username: string
  readonly user: User | null
  readonly isSilent?: boolean
}

export interface UserStore {
  current(): Users
  /**
   * Calls `decide` with the newest state to get the change, and calls it again when another writer was faster. Resolves
   * with its last answer when the change is durable and in the snapshot; if the answer is not a change, nothing is
   * written. Throws what the store throws; after OutcomeUnknown the change may be made.
   */
  change<No extends { readonly kind: string } | null>(
    decide: (users: Users) => UserChange | No,
  ): Promise<UserChange | No>
  /**
   * Loads the changes that other brokers made until now. It costs one read of a version if nothing has changed, and
   * nothing if no other broker can write. Throws what the store throws.
   */
  catchUp(): Promise<void>
}

export interface UserStoreRooms extends DocumentRooms {
  /** Whether other brokers use the store too. */
  readonly isShared: boolean
  /** The longest life of a session in ms. */
  readonly sessionMs: number
  readonly unreadable?: NameUnreadable | undefined
}

const KIND: DocumentKind = 'console'
const NAME = 'users'
const USER_PREFIX = 'user:'
const CUT_OFF_PREFIX = 'cut-off:'

/** Cut-offs stay at least this long, because older sessions may have a longer life than new ones. */
const LONGEST_SESSION_MS = 30 * 24 * 60 * 60 * 1000

export async function openUserStore({
  store,
  clock,
  random,
  isShared,
  sessionMs,
  unreadable: tell = UNNAMED,
}: UserStoreRooms): Promise<UserStore> {
  const load = async () => {
    const document = await store.load(KIND, NAME)
    return decodeUsers(document?.version ?? 0, document?.fields ?? new Map(), tell)
  }

  function rowsOf({ cutOffs, byName }: Users, { username, user, isSilent = false }: UserChange): readonly Row[] {
    const nowMs = clock.now()
    const keepMs = Math.max(sessionMs, LONGEST_SESSION_MS)
    const old = [...cutOffs].filter(([, atMs]) => atMs + keepMs < nowMs).map(([name]) => name)
    return [
      ...old
        .filter(name => name !== username || isSilent)
        .map((name): Row => ({ key: CUT_OFF_PREFIX + name, value: null })),
      { key: USER_PREFIX + username, value: user === null ? null : encodeUser(user) },
      ...(isSilent || !byName.has(username)
        ? []
        : [{ key: CUT_OFF_PREFIX + username, value: Buffer.from(String(nowMs)) }]),
    ]
  }

  let first: Users | null = null
  try {
    first = await load()
  } catch (why) {
    if (!(why instanceof UnreadableDocument)) throw why
    tell({
      kind: KIND,
      what: 'the document of all console users',
      why,
      result: 'no user can sign in until it is repaired',
    })
  }
  const rooms = { store, clock, random }
  const kept = { kind: KIND, name: NAME, what: 'the list of users', isShared, load }
  const keeper = keepDocument(rooms, kept, first ?? NO_USERS, { isRead: first !== null })
  return {
    current: keeper.current,
    catchUp: keeper.catchUp,
    change: decide =>
      keeper.change<ReturnType<typeof decide>>(now => {
        const answer = decide(now)
        if (!isChange(answer)) return { answer }
        const changes = rowsOf(now, answer)
        const after = (version: number) => withChange(now, answer, changes, version)
        return { answer, write: { changes, after, isMade: later => isMade(answer, later) } }
      }),
  }
}

/** The users of a store that has no document of them, or an unreadable one. */
const NO_USERS: Users = Object.freeze({
  version: 0,
  byName: new Map(),
  cutOffs: new Map(),
  unreadable: new Set<string>(),
})

function isChange(decided: { readonly kind: string } | null): decided is UserChange {
  return decided?.kind === 'change'
}

/** Returns whether the store has the change whose outcome was unknown. */
function isMade({ username, user }: UserChange, { byName }: Users): boolean {
  const stored = byName.get(username)
  if (user === null) return stored === undefined
  return stored !== undefined && stored.stamp === user.stamp && stored.passwordHash === user.passwordHash
}

// The field of a user is JSON of the user without the name. The field of a cut-off is the time in digits.

function encodeUser({ username: _, ...rest }: User): Buffer {
  return Buffer.from(JSON.stringify(rest))
}

/** Returns the user. Throws if the value is not in the form that `encodeUser` writes. */
function decodeUser(username: string, value: Uint8Array): User {
  const user = JSON.parse(Buffer.from(value).toString()) as Omit<User, 'username'>
  const isKnown =
    (user.role === 'ADMIN' || user.role === 'VIEWER') &&
    typeof user.passwordHash === 'string' &&
    typeof user.stamp === 'string'
  if (!isKnown) throw new Error('it has no role, password and stamp in a form that this version knows')
  return Object.freeze({ username, ...user })
}

function decodeUsers(version: number, fields: ReadonlyMap<string, Uint8Array>, tell: NameUnreadable): Users {
  const byName = new Map<string, User>()
  const cutOffs = new Map<string, number>()
  const unreadable = new Set<string>()
  for (const [key, value] of fields) {
    if (key.startsWith(USER_PREFIX)) {
      const username = key.slice(USER_PREFIX.length)
      try {
        byName.set(username, decodeUser(username, value))
      } catch (why) {
        unreadable.add(username)
        const result = 'the user cannot sign in, and the name is not given again until an ADMIN removes it'
        tell({ kind: KIND, what: `the stored console user ${JSON.stringify(cut(username))}`, why, result })
      }
    } else if (key.startsWith(CUT_OFF_PREFIX)) {
      const username = key.slice(CUT_OFF_PREFIX.length)
      const text = Buffer.from(value).toString()
      const isRead = MILLISECONDS.test(text)
      cutOffs.set(username, isRead ? Number(text) : Number.POSITIVE_INFINITY)
      if (!isRead) {
        const what = `the time up to which sessions of the console user ${JSON.stringify(cut(username))} are cut off`
        tell({ kind: KIND, what, why: 'it is not a time', result: 'all of its sessions without a stamp are over' })
      }
    }
  }
  return Object.freeze({ version, byName, cutOffs, unreadable })
}

/** Milliseconds since 1970, in digits. */
const MILLISECONDS = /^\d{1,16}$/

/** Returns the users after a change. */
function withChange(users: Users, { username, user }: UserChange, rows: readonly Row[], version: number): Users {
  const byName = new Map(users.byName)
  if (user === null) byName.delete(username)
  else byName.set(username, user)
  const cutOffs = new Map(users.cutOffs)
  for (const { key, value } of rows) {
    if (!key.startsWith(CUT_OFF_PREFIX)) continue
    const name = key.slice(CUT_OFF_PREFIX.length)
    if (value === null) cutOffs.delete(name)
    else cutOffs.set(name, Number(Buffer.from(value).toString()))
  }
  const unreadable = new Set(users.unreadable)
  unreadable.delete(username)
  return Object.freeze({ version, byName, cutOffs, unreadable })
}
