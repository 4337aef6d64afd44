// The lease of the storage worker: a document that names the one broker that starts rounds (worker.ts). The holder
// raises the version of the document ten times in a lease, and acts only while the store has confirmed that within the
// last half of a lease, counted from before the commit was sent. The other brokers measure with their own monotonic
// clocks for how long the version does not change. After a whole lease one of them takes over by compare-and-set. So
// the old holder has stopped before another one begins, and no wall clock decides (cluster/membership.ts does the
// same for brokers).
//
//   free --take--> held --beat--> held --release--> free
//                   |  the version stood still for a lease: another broker takes over
//
// The version of the commit that takes the lease is its fence. The store uses no version twice, so a later holder has
// a higher fence. This file starts no round. On a store that only one broker can use, that broker holds the lease
// without a document, so that a full disk cannot stop the retention that would free it.

import { type Clock, LATEST_DATE_MS, type Timer } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import {
  type Document,
  isStoreFailure,
  OutcomeUnknown,
  type Row,
  type Store,
  StoreUnavailable,
  UnreadableDocument,
} from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The broker that holds the lease. */
export interface Holder {
  readonly id: number
  /** The start of the broker that holds it; empty on a store that only one broker can use. */
  readonly incarnation: string
  /** When it took the lease, in ms since 1970 by its own clock, for people; null without a document. */
  readonly sinceMs: number | null
}

/** The sender of a request that only the holder may send. */
export interface Claim {
  readonly holderId: number
  readonly incarnation: string
  readonly fence: number
}

export interface Lease {
  /** True if this broker holds the lease, and no other broker can have taken it. */
  readonly isHeld: boolean
  /** The version of the commit that took the lease; 0 without a document, and while this broker does not hold it. */
  readonly fence: number
  /** Returns the holder as of the last look; null if no broker holds the lease. */
  holder(): Holder | null
  /**
   * Reads the document. Resolves to null if it names the sender as the holder, else to the reason why not, a sentence.
   * Throws what the store throws.
   */
  refute(claim: Claim): Promise<string | null>
  /** Raises the version or looks at it now. Resolves when that has ended, even if it failed. */
  look(): Promise<void>
  /** Gives the lease back and does not take it again. Resolves when the store has it, or did not answer. */
  release(): Promise<void>
  /** Releases the lease and stops looking. */
  close(): Promise<void>
}

export interface LeaseRooms {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
  readonly brokerId: number
  readonly incarnation: string
  /** False if this broker never takes the lease. */
  readonly isCandidate: boolean
  readonly durationMs: number
  /** The interval of rounds. A broker that may take over looks at least twice in it. */
  readonly tickMs: number
  /** Called with an error that is not a failure of the store: a mistake of this program. */
  lost(error: Error): void
}

const KIND: DocumentKind = 'worker'
const NAME = 'lease'
const FIELD = 'holder'

/** How often the holder raises the version in one lease. */
const BEATS_PER_LEASE = 10

/** How often a broker tries to give the lease back while another writer is faster. */
const TRIES = 5

const COMPLAIN_EVERY_MS = 10_000

interface StoredHolder extends Holder {
  readonly sinceMs: number
  /** The time without a new version after which another broker takes over. */
  readonly durationMs: number
}

interface Held {
  version: number
  readonly fence: number
  confirmedAtMs: number
}

/**
 * Opens the lease of the brokers on this store, and takes it if it is free. If the store does not answer, the lease
 * asks again.
 */
export async function openLease(rooms: LeaseRooms): Promise<Lease> {
  const { store, clock, logger, brokerId, incarnation, durationMs } = rooms
  const beatMs = durationMs / BEATS_PER_LEASE
  const lookMs = Math.min(beatMs, rooms.tickMs / 2)
  let isCandidate = rooms.isCandidate
  let isClosed = false
  let timer: Timer | null = null
  let held: Held | null = null
  /** The document of another holder; null if there was none at the last look. */
  let observed: { readonly version: number; readonly holder: StoredHolder | null; silentMs: number } | null = null
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let own: StoredHolder = { id: brokerId, incarnation, sinceMs: 0, durationMs }
  let released: Promise<void> | null = null

  function read(document: Document): StoredHolder | null {
    try {
      return holderOf(document)
    } catch (why) {
      if (!(why instanceof UnreadableDocument)) throw why
      const result = 'no storage worker runs until a broker replaces it, after svc.storage.worker.lease-duration'
      rooms.unreadable?.({ kind: KIND, what: 'the lease of the storage worker', why: why.cause ?? why, result })
      return null
    }
  }

  const isOurs = (holder: Holder | null) => holder?.id === brokerId && holder.incarnation === incarnation

  /** Raises the version. After an unknown outcome the next beat finds out whether it was raised. */
  async function beat(mine: Held): Promise<void> {
    const sentAtMs = clock.monotonic()
    const outcome = await store.commit({ kind: KIND, name: NAME, expect: mine.version, changes: [] })
    if (outcome.kind === 'committed') {
      mine.version = outcome.version
      mine.confirmedAtMs = sentAtMs
      return
    }
    const found = await store.load(KIND, NAME)
    const holder = found === null ? null : read(found)
    if (found !== null && isOurs(holder)) {
      mine.version = found.version
      return
    }
    held = null
    const by = holder === null ? 'another program changed its document' : `broker ${holder.id} has taken it over`
    logger.warn(`this broker no longer holds the lease of the storage worker: ${by}`, { fence: mine.fence })
  }

  async function observe(): Promise<void> {
    const fromMs = clock.monotonic()
    const found = await store.load(KIND, NAME)
    // The version did not change between two looks. But if this broker or the store was paused, the holder may have
    // been paused too. So at most two intervals count.
    const silenceMs = Math.min(fromMs - lookedAtMs, 2 * lookMs)
    lookedAtMs = clock.monotonic()
    if (found === null) {
      observed = null
      if (isCandidate) await take(0, 'it was free')
      return
    }
    if (observed === null || observed.version !== found.version)
      observed = { version: found.version, holder: read(found), silentMs: 0 }
    else observed.silentMs += silenceMs
    const { holder } = observed
    // The key may have a value that is not a document. It can be neither changed nor removed.
    if (!isCandidate || found.version === 0) return
    if (isOurs(holder)) {
      // A commit with an unknown outcome has taken the lease.
      held = { version: found.version, fence: found.version, confirmedAtMs: Number.NEGATIVE_INFINITY }
      own = holder!
      observed = null
      await beat(held)
      tellTaken('the store had kept it for this broker')
    } else if (observed.silentMs >= leaseOf(holder)) {
      const before = holder === null ? 'a holder whose record cannot be read' : `broker ${holder.id}`
      await take(found.version, `${before} gave no sign of life for ${leaseOf(holder)} ms`)
    }
  }

  const leaseOf = (holder: StoredHolder | null) => holder?.durationMs ?? durationMs

  async function take(expect: number, why: string): Promise<void> {
    const sentAtMs = clock.monotonic()
    const next = { ...own, sinceMs: Math.floor(clock.now()) }
    const outcome = await store.commit({ kind: KIND, name: NAME, expect, changes: [rowOf(next)] })
    if (outcome.kind === 'conflict') {
      // Another broker was faster. Users of this one may ask at once which it was.
      const found = await store.load(KIND, NAME)
      lookedAtMs = clock.monotonic()
      observed = found && { version: found.version, holder: read(found), silentMs: 0 }
      return
    }
    held = { version: outcome.version, fence: outcome.version, confirmedAtMs: sentAtMs }
    own = next
    observed = null
    tellTaken(why)
  }

  function tellTaken(why: string): void {
    if (held !== null)
      logger.info(`this broker holds the lease of the storage worker: ${why}`, { fence: held.fence, durationMs })
  }

  const look = coalesce(async () => {
    if (isClosed) return
    try {
      if (held !== null) await beat(held)
      if (held === null) await observe()
    } catch (error) {
      if (!isStoreFailure(error)) return rooms.lost(error as Error)
      logger
        .limited('store', COMPLAIN_EVERY_MS)
        .warn('the store does not answer which broker holds the lease of the storage worker', { error })
    }
  })

  /** A candidate looks once more exactly when the silence has lasted for a lease. */
  function nextInMs(): number {
    if (held !== null) return beatMs
    if (observed === null || !isCandidate) return lookMs
    return Math.min(lookMs, Math.max(1, leaseOf(observed.holder) - observed.silentMs))
  }

  function schedule(): void {
    timer = clock.timer(nextInMs(), () => void look().finally(() => isClosed || schedule()))
  }

  async function giveBack(): Promise<void> {
    const isAnswerable = isCandidate
    isCandidate = false
    if (!isAnswerable) return
    // Wait first: a beat in flight would raise the version again.
    await look()
    held = null
    for (let attempt = 0; attempt < TRIES; attempt++) {
      try {
        const found = await store.load(KIND, NAME)
        if (found === null || !isOurs(read(found))) return
        const commit = { kind: KIND, name: NAME, expect: found.version, changes: [], remove: true }
        if ((await store.commit(commit)).kind === 'committed') return
      } catch (error) {
        if (error instanceof OutcomeUnknown) continue
        if (!(error instanceof StoreUnavailable)) throw error
        const result = 'another broker takes it after svc.storage.worker.lease-duration'
        logger.warn(`this broker cannot give back the lease of the storage worker; ${result}`, { error })
        return
      }
    }
  }

  function release(): Promise<void> {
    released ??= giveBack()
    return released
  }

  await look()
  schedule()
  return {
    get isHeld() {
      return held !== null && isCandidate && clock.monotonic() - held.confirmedAtMs < durationMs / 2
    },
    get fence() {
      return held?.fence ?? 0
    },
    holder() {
      if (held !== null) return own
      if (observed === null || observed.silentMs >= leaseOf(observed.holder)) return null
      return observed.holder
    },
    async refute(claim) {
      const found = await store.load(KIND, NAME)
      const holder = found === null ? null : read(found)
      if (found === null || holder === null) return 'No broker holds the lease of the storage worker.'
      if (holder.id !== claim.holderId || holder.incarnation !== claim.incarnation || found.version < claim.fence)
        return holder.id === claim.holderId
          ? `Broker ${holder.id} took the lease of the storage worker at another start, or later.`
          : `Broker ${holder.id} holds the lease of the storage worker, and not broker ${claim.holderId}.`
      return null
    },
    look,
    release,
    async close() {
      await release()
      isClosed = true
      timer?.cancel()
      await look()
    },
  }
}

/** Returns the lease of a store that only this broker can use: the broker holds it until it closes. */
export function leaseAlone(brokerId: number, isCandidate: boolean): Lease {
  let isHeld = isCandidate
  const release = async () => {
    isHeld = false
  }
  return {
    get isHeld() {
      return isHeld
    },
    fence: 0,
    holder: () => (isHeld ? { id: brokerId, incarnation: '', sinceMs: null } : null),
    async refute({ holderId, incarnation }) {
      if (holderId !== brokerId || incarnation !== '') return 'Only this broker can use its store.'
      return isHeld ? null : 'No broker holds the lease of the storage worker.'
    },
    look: async () => {},
    release,
    close: release,
  }
}

function rowOf({ id, incarnation, sinceMs, durationMs }: StoredHolder): Row {
  return { key: FIELD, value: Buffer.from(JSON.stringify({ id, incarnation, sinceMs, durationMs })) }
}

/** Throws UnreadableDocument if the document is not in the form that `rowOf` writes. */
function holderOf({ fields }: Document): StoredHolder {
  const what = 'the document does not name the holder of a lease in a form that this version reads'
  try {
    const { id, incarnation, sinceMs, durationMs } = JSON.parse(Buffer.from(fields.get(FIELD) ?? []).toString())
    const isKnown =
      Number.isSafeInteger(id) &&
      id >= 0 &&
      typeof incarnation === 'string' &&
      Number.isSafeInteger(sinceMs) &&
      Math.abs(sinceMs) <= LATEST_DATE_MS &&
      typeof durationMs === 'number' &&
      durationMs > 0
    if (isKnown) return Object.freeze({ id, incarnation, sinceMs, durationMs })
  } catch (cause) {
    throw new UnreadableDocument(what, { cause })
  }
  throw new UnreadableDocument(what)
}
