// Console users as the store has them: immutable snapshots, and the keeper that replaces them. Rests in one document, one field
// for each user, one for each name whose older sessions are cut off. Whether a change is allowed is the caller's: `decide` sees
// the newest state, and the store takes what it decided only if that was the newest state still, so that a rule over all users
// (there is an ADMIN left) holds whoever else writes. It hashes nothing and knows no session.

import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import { workInTurn } from '../base/in-turn.ts'
import { OutcomeUnknown, type Row, type Store, StoreUnavailable } from '../store/store.ts'
import type { Role } from './identity.ts'

export interface User {
  readonly username: string
  readonly role: Role
  /** As password-hash.ts made it. */
  readonly passwordHash: string
  /** The password is the shipped one. */
  readonly hasShippedPassword: boolean
  /**
   * Another one after each change of password or role, and never used again, not even for a user who is made again under the
   * name: what sessions carry and are held against.
   */
  readonly stamp: string
  readonly createdAtMs: number
  readonly passwordChangedAtMs: number
}

export interface Users {
  readonly byName: ReadonlyMap<string, User>
  /**
   * Names whose sessions without a stamp (issued before there were stamps) end where they were issued
   * at this time or before, in milliseconds since 1970.
   */
  readonly cutOffs: ReadonlyMap<string, number>
}

/** Sets this user, or with null removes the one of the name. `isSilent` leaves sessions alone. */
export interface UserChange {
  readonly kind: 'change'
  readonly username: string
  readonly user: User | null
  readonly isSilent?: boolean
}

export interface UserStore {
  current(): Users
  /**
   * `decide` is asked with the newest state what to change, and asked again when another writer was faster. Resolves with what
   * it answered last, when that is durable and seen; nothing is written where it answers something else than a change. Throws
   * what the store throws; after OutcomeUnknown the change may be made.
   */
  change<No extends { readonly kind: string } | null>(
    decide: (users: Users) => UserChange | No,
  ): Promise<UserChange | No>
  /**
   * Takes over what others have written, as of now and not earlier. Costs one look at a version where nothing has changed, and
   * nothing where nobody else can write. Throws what the store throws.
   */
  catchUp(): Promise<void>
}

export interface UserStoreRooms {
  readonly store: Store
  readonly clock: Clock
  /** Whether other brokers use the store too. */
  readonly isShared: boolean
  /** How long a session can live. */
  readonly sessionMs: number
}

const KIND = 'console'
const NAME = 'users'
const USER_PREFIX = 'user:'
const CUT_OFF_PREFIX = 'cut-off:'

/** How often a change is tried again after another writer was faster. */
const ATTEMPTS = 64
/** Cut-offs stay at least as long: sessions may have been issued with another life than today's. */
const LONGEST_SESSION_MS = 30 * 24 * 60 * 60 * 1000

export async function openUserStore({ store, clock, isShared, sessionMs }: UserStoreRooms): Promise<UserStore> {
  let version = 0
  let users: Users = { byName: new Map(), cutOffs: new Map() }
  /** Set while the document may say something else than the snapshot. */
  let isStale = true

  /** Changes go one after the other: each is decided on what the one before left. */
  const inTurn = workInTurn()

  async function refresh(): Promise<void> {
    const document = await store.load(KIND, NAME)
    version = document?.version ?? 0
    users = decodeUsers(document?.fields ?? new Map())
    isStale = false
  }

  async function look(): Promise<void> {
    if (isStale || (isShared && (await store.version(KIND, NAME)) !== version)) await refresh()
  }

  function rowsOf({ username, user, isSilent = false }: UserChange): readonly Row[] {
    const nowMs = clock.now()
    const keepMs = Math.max(sessionMs, LONGEST_SESSION_MS)
    const old = [...users.cutOffs].filter(([, atMs]) => atMs + keepMs < nowMs).map(([name]) => name)
    return [
      ...old
        .filter(name => name !== username || isSilent)
        .map((name): Row => ({ key: CUT_OFF_PREFIX + name, value: null })),
      { key: USER_PREFIX + username, value: user === null ? null : encodeUser(user) },
      ...(isSilent || !users.byName.has(username)
        ? []
        : [{ key: CUT_OFF_PREFIX + username, value: Buffer.from(String(nowMs)) }]),
    ]
  }

  await refresh()
  return {
    current: () => users,

    change: decide =>
      inTurn(async () => {
        await look()
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          const decided = decide(users)
          if (!isChange(decided)) return decided
          const changes = rowsOf(decided)
          try {
            const outcome = await store.commit({ kind: KIND, name: NAME, expect: version, changes })
            if (outcome.kind === 'committed') {
              version = outcome.version
              users = decodeUsers(withRows(encodeUsers(users), changes))
              return decided
            }
          } catch (error) {
            isStale = true
            if (!(error instanceof OutcomeUnknown)) throw error
            await refresh()
            if (isMade(decided, users)) return decided
            continue
          }
          await refresh()
        }
        throw new StoreUnavailable(`the users were changed by others ${ATTEMPTS} times in a row`)
      }),

    catchUp: coalesce(() => inTurn(look)),
  }
}

function isChange(decided: { readonly kind: string } | null): decided is UserChange {
  return decided?.kind === 'change'
}

/** Whether a change whose outcome was not known is what the store has. */
function isMade({ username, user }: UserChange, { byName }: Users): boolean {
  const stored = byName.get(username)
  if (user === null) return stored === undefined
  return stored !== undefined && stored.stamp === user.stamp && stored.passwordHash === user.passwordHash
}

// A user's field: JSON of the user without the name. A cut-off's: the time in digits.

function encodeUser({ username: _, ...rest }: User): Buffer {
  return Buffer.from(JSON.stringify(rest))
}

function decodeUser(username: string, value: Uint8Array): User {
  const user = JSON.parse(Buffer.from(value).toString()) as Omit<User, 'username'>
  assert(
    (user.role === 'ADMIN' || user.role === 'VIEWER') &&
      typeof user.passwordHash === 'string' &&
      typeof user.stamp === 'string',
    `the store does not describe the console user '${username}' in a form that this version reads`,
  )
  return Object.freeze({ username, ...user })
}

function decodeUsers(fields: ReadonlyMap<string, Uint8Array>): Users {
  const byName = new Map<string, User>()
  const cutOffs = new Map<string, number>()
  for (const [key, value] of fields) {
    if (key.startsWith(USER_PREFIX)) {
      const username = key.slice(USER_PREFIX.length)
      byName.set(username, decodeUser(username, value))
    } else if (key.startsWith(CUT_OFF_PREFIX)) {
      cutOffs.set(key.slice(CUT_OFF_PREFIX.length), Number(Buffer.from(value).toString()))
    }
  }
  return Object.freeze({ byName, cutOffs })
}

function encodeUsers({ byName, cutOffs }: Users): Map<string, Uint8Array> {
  return new Map([
    ...[...byName].map(([name, user]) => [USER_PREFIX + name, encodeUser(user)] as const),
    ...[...cutOffs].map(([name, atMs]) => [CUT_OFF_PREFIX + name, Buffer.from(String(atMs))] as const),
  ])
}

function withRows(fields: Map<string, Uint8Array>, rows: readonly Row[]): Map<string, Uint8Array> {
  for (const { key, value } of rows) {
    if (value === null) fields.delete(key)
    else fields.set(key, value)
  }
  return fields
}
