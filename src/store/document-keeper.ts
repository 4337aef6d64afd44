// Changes documents that several brokers write, and keeps their contents in memory. Each change is a compare-and-set.
// A writer that loses the race reads the new document and decides again (contention.ts).
//
// After an unknown outcome the writer reads the document to find out if the change was made. If it cannot read the
// document, the caller gets OutcomeUnknown.

import { coalesce } from '../base/coalesce.ts'
import { workInTurn } from '../base/in-turn.ts'
import { type ContentionRooms, contend, LOST } from './contention.ts'
import type { DocumentKind } from './document-kinds.ts'
import { type Commit, type Document, isStoreFailure, OutcomeUnknown, type Row, type Store } from './store.ts'

export interface DocumentRooms extends ContentionRooms {
  readonly store: Store
}

export interface DocumentPlace {
  readonly kind: DocumentKind
  readonly name: string
  /** The beginning of the message for a client whose change lost every race, for example `the list of topics`. */
  readonly what: string
}

/** A decision about a document, and the result that the caller gets when the store has the change. */
export interface DocumentChange<Answer> {
  readonly answer: Answer
  /** If absent, nothing is written. If the document does not exist, rows that delete are left out. */
  readonly write?: Partial<
    Pick<Commit, 'changes' | 'remove' | 'mayOverfill' | 'isAcknowledged' | 'isSynced' | 'keepMs'>
  >
}

/**
 * Loads the document (null: it does not exist), calls `decide` for the change, and commits the change. Calls `decide`
 * again if another writer was faster. Throws StoreContended if other writers are faster for too long, and every error
 * of the store and of `decide`.
 */
export async function changeDocument<Answer>(
  { store, ...rooms }: DocumentRooms,
  { kind, name, what }: DocumentPlace,
  decide: (now: Document | null) => DocumentChange<Answer> | Promise<DocumentChange<Answer>>,
): Promise<Answer> {
  /** The last attempt with an unknown outcome. */
  let unsettled: { readonly error: OutcomeUnknown; readonly left: Fields; readonly answer: Answer } | null = null
  return await contend(rooms, what, async () => {
    const now: Document | null = await store.load(kind, name).catch(error => {
      throw unsettled !== null && isStoreFailure(error) ? unsettled.error : error
    })
    if (unsettled !== null && isSame(now?.fields ?? null, unsettled.left)) return unsettled.answer
    const { answer, write } = await decide(now)
    if (write === undefined) return answer
    const { changes = [], remove = false, ...rest } = write
    const rows = now === null ? changes.filter(({ value }) => value !== null) : changes
    try {
      const commit = { kind, name, expect: now?.version ?? 0, changes: rows, remove, ...rest }
      const { kind: outcome } = await store.commit(commit)
      return outcome === 'committed' ? answer : LOST
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error
      unsettled = { error, left: remove ? null : withRows(now?.fields ?? null, rows), answer }
      return LOST
    }
  })
}

/** Null: the document does not exist. */
type Fields = ReadonlyMap<string, Uint8Array> | null

function withRows(before: Fields, rows: readonly Row[]): Fields {
  const fields = new Map(before)
  for (const { key, value } of rows) {
    if (value === null) fields.delete(key)
    else fields.set(key, value)
  }
  return fields
}

function isSame(one: Fields, other: Fields): boolean {
  if (one === null || other === null) return one === other
  if (one.size !== other.size) return false
  return [...one].every(([key, value]) => {
    const found = other.get(key)
    return found !== undefined && Buffer.compare(value, found) === 0
  })
}

/** An immutable snapshot of a document. */
export interface Snapshot {
  /** The version of the document in the store; 0 if it did not exist. */
  readonly version: number
}

export interface KeptDocument<T extends Snapshot> extends DocumentPlace {
  /** Whether other brokers can write the document too. */
  readonly isShared: boolean
  /** Reads the document as it is now. `before` is the snapshot that the new one replaces. */
  load(before: T): Promise<T>
  /** Called before a new snapshot becomes visible. The snapshot becomes visible when the promise resolves. */
  adopting?(next: T, before: T): Promise<void>
  /** Called after the new snapshot has become visible. */
  adopted?(next: T, before: T): void
}

/** A decision about a kept document, and the result that the caller gets when the store has the change. */
export interface SnapshotChange<T extends Snapshot, Answer> {
  readonly answer: Answer
  /** Absent: nothing is written. */
  readonly write?: {
    readonly changes: readonly Row[]
    /** The snapshot after the commit. */
    after(version: number): T
    /**
     * Whether a snapshot that was loaded later contains the change. It is called after a commit with an unknown
     * outcome.
     */
    isMade(now: T): boolean
  }
}

export interface DocumentKeeper<T extends Snapshot> {
  current(): T
  /**
   * Calls `decide` for the change, and calls it again if another writer was faster. Changes run one after the other:
   * `decide` gets the result of the change before. Resolves with the last answer of `decide` when the change is
   * durable and visible. If `decide` returns no change, its answer is valid for the newest document too. Throws
   * StoreContended if other writers are faster for too long, and every error of the store and of `decide`. After
   * OutcomeUnknown the change may have been made.
   */
  change<Answer>(decide: (now: T) => SnapshotChange<T, Answer> | Promise<SnapshotChange<T, Answer>>): Promise<Answer>
  /**
   * Loads the changes that other brokers have made. It costs one read of a version if nothing has changed, and
   * nothing if no other broker can write. Throws the errors of the store.
   */
  catchUp(): Promise<void>
}

/** How many milliseconds the keeper waits before it reads the document again after a change with an unknown outcome. */
const REFRESH_MS = 1_000

/**
 * Keeps a document in memory. `first` is the document as the caller has just read it. If the caller could not read
 * the document, `isRead` is false and `first` is a placeholder: the keeper reads the document before anything else.
 */
export function keepDocument<T extends Snapshot>(
  { store, clock, random }: DocumentRooms,
  kept: KeptDocument<T>,
  first: T,
  { isRead } = { isRead: true },
): DocumentKeeper<T> {
  const { kind, name, what, isShared } = kept
  let current = first
  /** Set while the snapshot may differ from the document. */
  let isStale = !isRead
  let isRefreshDue = false
  const inTurn = workInTurn()

  async function adopt(next: T): Promise<void> {
    const before = current
    await kept.adopting?.(next, before)
    current = next
    kept.adopted?.(next, before)
  }

  async function refresh(): Promise<void> {
    await adopt(await kept.load(current))
    isStale = false
  }

  /** Reads the document again until the snapshot equals it, unless a change reads it first. */
  function refreshLater(): void {
    if (isRefreshDue) return
    isRefreshDue = true
    clock.timer(REFRESH_MS, () => {
      isRefreshDue = false
      void inTurn(async () => {
        if (isStale) await refresh()
      }).catch(refreshLater)
    })
  }

  async function isNewest(): Promise<boolean> {
    return !isStale && (!isShared || (await store.version(kind, name)) === current.version)
  }

  async function attempt<Answer>(
    decide: (now: T) => SnapshotChange<T, Answer> | Promise<SnapshotChange<T, Answer>>,
    unsettled: SnapshotChange<T, Answer>[],
  ): Promise<Answer | typeof LOST> {
    if (isStale) await refresh()
    const change = await decide(current)
    const { answer, write } = change
    if (write === undefined) {
      if (await isNewest()) return answer
      isStale = true
      return LOST
    }
    const commit = { kind, name, expect: current.version, changes: write.changes }
    const outcome = await store.commit(commit).catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) return error
      throw error
    })
    if (!(outcome instanceof OutcomeUnknown) && outcome.kind === 'committed') {
      await adopt(write.after(outcome.version))
      return answer
    }
    if (outcome instanceof OutcomeUnknown) unsettled.push(change)
    isStale = true
    try {
      await refresh()
    } catch (error) {
      refreshLater()
      throw outcome instanceof OutcomeUnknown && isStoreFailure(error) ? outcome : error
    }
    // Also checked after a conflict: an earlier commit with an unknown outcome may have taken effect late.
    const made = unsettled.find(each => each.write!.isMade(current))
    return made === undefined ? LOST : made.answer
  }

  return {
    current: () => current,
    change: <Answer>(decide: Parameters<typeof attempt<Answer>>[0]) =>
      inTurn(async () => {
        /** Attempts with an unknown outcome. */
        const unsettled: SnapshotChange<T, Answer>[] = []
        return await contend({ clock, random }, what, () => attempt(decide, unsettled))
      }),
    catchUp: coalesce(() =>
      inTurn(async () => {
        if (!(await isNewest())) await refresh()
      }),
    ),
  }
}
