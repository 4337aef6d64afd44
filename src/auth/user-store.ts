// Console users as the store has them: immutable snapshots, and the keeper that replaces them. Rests in one document, one field
// for each user, one for each name whose older sessions are cut off. Whether a change is allowed is the caller's: `decide` sees
// the newest state, and the store takes what it decided only if that was the newest state still, so that a rule over all users
// (there is an ADMIN left) holds whoever else writes. It hashes nothing and knows no session.
//
// A user that cannot be read (a bad hand, a later version) cannot sign in, and is still a user: the name is not given
// again, and the first admin is not made beside it. It goes when an ADMIN removes it by its name.

import { coalesce } from '../base/coalesce.ts'
import { cut } from '../base/cut.ts'
import { workInTurn } from '../base/in-turn.ts'
import { type ContentionRooms, contend, LOST } from '../store/contention.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { OutcomeUnknown, type Row, type Store, UnreadableDocument } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
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
  /** Names of users that cannot be read. */
  readonly unreadable: ReadonlySet<string>
}

/** Whether there is no user, so that the first visitor may become the first admin. */
export function isEmpty({ byName, unreadable }: Users): boolean {
  return byName.size + unreadable.size === 0
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

export interface UserStoreRooms extends ContentionRooms {
  readonly store: Store
  /** Whether other brokers use the store too. */
  readonly isShared: boolean
  /** How long a session can live. */
  readonly sessionMs: number
  readonly unreadable?: NameUnreadable | undefined
}

const KIND: DocumentKind = 'console'
const NAME = 'users'
const USER_PREFIX = 'user:'
const CUT_OFF_PREFIX = 'cut-off:'

/** Cut-offs stay at least as long: sessions may have been issued with another life than today's. */
const LONGEST_SESSION_MS = 30 * 24 * 60 * 60 * 1000

export async function openUserStore({
  store,
  clock,
  random,
  isShared,
  sessionMs,
  unreadable: tell = UNNAMED,
}: UserStoreRooms): Promise<UserStore> {
  let version = 0
  let users: Users = { byName: new Map(), cutOffs: new Map(), unreadable: new Set() }
  /** Set while the document may say something else than the snapshot. */
  let isStale = true

  /** Changes go one after the other: each is decided on what the one before left. */
  const inTurn = workInTurn()

  async function refresh(): Promise<void> {
    const document = await store.load(KIND, NAME)
    version = document?.version ?? 0
    users = decodeUsers(document?.fields ?? new Map(), tell)
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

  try {
    await refresh()
  } catch (why) {
    if (!(why instanceof UnreadableDocument)) throw why
    tell({
      kind: KIND,
      what: 'the document of all console users',
      why,
      result: 'no user can sign in until it is repaired',
    })
  }
  return {
    current: () => users,

    change: decide =>
      inTurn(async () => {
        await look()
        return await contend({ clock, random }, 'the list of users', async () => {
          const decided = decide(users)
          if (!isChange(decided)) return decided
          const changes = rowsOf(decided)
          try {
            const outcome = await store.commit({ kind: KIND, name: NAME, expect: version, changes })
            if (outcome.kind === 'committed') {
              version = outcome.version
              users = withChange(users, decided, changes)
              return decided
            }
          } catch (error) {
            isStale = true
            if (!(error instanceof OutcomeUnknown)) throw error
            await refresh()
            return isMade(decided, users) ? decided : LOST
          }
          await refresh()
          return LOST
        })
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

/** Throws when it is not what `encodeUser` makes. */
function decodeUser(username: string, value: Uint8Array): User {
  const user = JSON.parse(Buffer.from(value).toString()) as Omit<User, 'username'>
  const isKnown =
    (user.role === 'ADMIN' || user.role === 'VIEWER') &&
    typeof user.passwordHash === 'string' &&
    typeof user.stamp === 'string'
  if (!isKnown) throw new Error('it has no role, password and stamp in a form that this version knows')
  return Object.freeze({ username, ...user })
}

function decodeUsers(fields: ReadonlyMap<string, Uint8Array>, tell: NameUnreadable): Users {
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
        const what = `since when sessions of the console user ${JSON.stringify(cut(username))} are cut off`
        tell({ kind: KIND, what, why: 'it is no time', result: 'all of its sessions without a stamp are over' })
      }
    }
  }
  return Object.freeze({ byName, cutOffs, unreadable })
}

/** Since 1970. */
const MILLISECONDS = /^\d{1,16}$/

/** As the store has them after a change. */
function withChange(users: Users, { username, user }: UserChange, rows: readonly Row[]): Users {
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
  return Object.freeze({ byName, cutOffs, unreadable })
}
