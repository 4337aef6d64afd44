// Keeps track of the brokers that live on this store. Each broker has a document and raises its version with an empty
// commit, the beat. The other brokers measure with their own monotonic clocks for how long the version does not
// change. They never use the store's clock or a time to live (H13). A broker whose version has not changed for its
// expiry is removed by compare-and-set. So the store decides once that the broker is dead, and all others have the
// same view one look later. If the removed broker was only paused, its next beat tells it that it was removed.
// cluster.ts decides which of the living brokers leads a partition.
//
//   claimed --announce--> member --beat--> member
//                           |  removed by others: announced again with the next beat
//                           |  written by another incarnation: over for good
//                           '--leave--> gone, still looking
//
// A record that cannot be read (edited by hand, or written by a later version) ends no broker. A broker that could
// read the record earlier keeps what it read; the other brokers leave it out. Like any record, it is removed when its
// version has not changed for an expiry. If a broker finds an unreadable or changed record in place of its own, it
// writes its own again, unless another process raises the version.
//
// A broker must stop all its work half an expiry after the last beat that the store confirmed, because the other
// brokers may have seen no beat since then. The time counts from before that beat was sent. So the broker has stopped
// before another one can take over its partitions.

import { type Clock, sleep, type Timer } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import { type Random, randomUuid } from '../base/random.ts'
import {
  type Document,
  isStoreFailure,
  OutcomeUnknown,
  type Store,
  StoreUnavailable,
  UnreadableDocument,
} from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type BrokerInfo, brokerOf, describe, type Endpoint, FEATURES, holds, KIND, rowOf } from './broker-record.ts'

export interface MembershipRooms {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
  readonly brokerId: number
  readonly rack: string | null
  readonly version?: string
  readonly expiryMs: number
  /** Called with each new set of brokers that live, ascending by id. */
  changed(brokers: readonly BrokerInfo[]): void
  /** Called after each look at the store that succeeded. */
  looked(): void
  /** This broker cannot go on: another process has its id. */
  lost(error: Error): void
}

export interface Membership {
  /** True if the store has confirmed this broker so recently that no other broker can consider it dead. */
  readonly isConfirmed: boolean
  /** The id of this start of the broker. */
  readonly incarnation: string
  /** Returns the others with a readable record in the store, as of the last look, whether they serve clients or not. */
  others(): readonly BrokerInfo[]
  /** True if others have a record in the store, as of the last look, readable or not. */
  readonly hasOthers: boolean
  /**
   * Makes this broker one of the living brokers. Resolves when the store has its record. Throws what the store
   * throws.
   */
  announce(endpoints: readonly Endpoint[]): Promise<void>
  /**
   * Replaces the certificates in the record of this broker. Resolves after a beat, even if the store did not confirm
   * it; then the next beat writes them.
   */
  present(certificates: readonly string[]): Promise<void>
  /** Removes this broker from its own view of the living brokers. The other brokers do not know that yet. */
  withdraw(): void
  /** Tells the others that this broker leaves, and keeps looking at them. Call `withdraw` first. */
  leave(): Promise<void>
  /** Starts a new look at the store, and resolves when it has ended, even if it failed. */
  look(): Promise<void>
  /** Leaves if it has not left yet, and stops. */
  close(): Promise<void>
}

/** The id belongs to another living broker. The message can be printed as it is. */
export class BrokerIdHeld extends Error {
  override readonly name = 'BrokerIdHeld'
}

/** Returns a text for people about a broker; null stands for a record that cannot be read. */
function describeAny(info: BrokerInfo | null): string {
  return info === null ? 'a broker whose record cannot be read' : describe(info)
}

/** How often a broker sends a beat, and looks at the other brokers, in one expiry. */
const BEATS_PER_EXPIRY = 10

/** How often a broker tries to write or remove its document while another writer is faster. */
const CLAIMS = 5

const COMPLAIN_EVERY_MS = 10_000

interface Observed {
  version: number
  /** The time in ms for which the version has certainly not changed. */
  silentMs: number
  readonly name: string
  /** The record that was read last; null if it could never be read. */
  info: BrokerInfo | null
}

/**
 * Claims the id. If a document with this id exists, watches it for one expiry. If its version changes, throws
 * BrokerIdHeld; else this broker replaces the document. Also throws what the store throws.
 */
export async function joinCluster(rooms: MembershipRooms): Promise<Membership> {
  const { store, clock, logger, expiryMs } = rooms
  const name = String(rooms.brokerId)
  const incarnation = randomUuid(rooms.random)
  const intervalMs = expiryMs / BEATS_PER_EXPIRY
  let self: BrokerInfo = Object.freeze({
    id: rooms.brokerId,
    incarnation,
    rack: rooms.rack,
    endpoints: [],
    version: rooms.version ?? null,
    certificates: [],
    features: FEATURES,
    expiryMs,
  })
  let confirmedAtMs = clock.monotonic()
  let version = await claim()

  /** True if the store has the document of this broker, as far as the broker knows. */
  let isMember = true
  let isWithdrawn = false
  /** True if this broker has closed, or if another broker has its id. */
  let isClosed = false
  let timer: Timer | null = null
  const others = new Map<string, Observed>()
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let published = ''
  /**
   * True if the store has another record of this broker than `self`, because this broker changed it, or because another
   * writer overwrote it and no beat noticed. The next beat writes the record.
   */
  let isOutdated = false
  /** A document in place of this broker's record that this broker did not write and cannot read; null without one. */
  let strange: { version: number; sinceMs: number } | null = null

  function read(document: Document): BrokerInfo | null {
    try {
      return brokerOf(document)
    } catch (why) {
      if (!(why instanceof UnreadableDocument)) throw why
      const result = 'it is left out, and removed when it gives no sign of life'
      const what = `the record of broker ${JSON.stringify(document.name)}`
      rooms.unreadable?.({ kind: KIND, what, why: why.cause ?? 'it does not describe a broker', result })
      return null
    }
  }

  function isOurs(document: Document): boolean {
    return read(document)?.incarnation === incarnation
  }

  async function claim(): Promise<number> {
    for (let attempt = 0; attempt < CLAIMS; attempt++) {
      const held = await store.load(KIND, name)
      const expect = held === null || isOurs(held) ? (held?.version ?? 0) : await outwait(held)
      try {
        confirmedAtMs = clock.monotonic()
        const outcome = await store.commit({ kind: KIND, name, expect, changes: [rowOf(self)] })
        if (outcome.kind === 'committed') return outcome.version
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error
      }
    }
    throw new StoreUnavailable(`the document of broker ${name} was changed by others ${CLAIMS} times in a row`)
  }

  /**
   * Watches the document with the id for its expiry. Resolves with the version that may be replaced. Throws
   * BrokerIdHeld if the version changes.
   */
  async function outwait(held: Document): Promise<number> {
    const holder = read(held)
    const waitMs = Math.max(holder?.expiryMs ?? 0, expiryMs)
    logger.info(
      `the id is held by ${describeAny(holder)}; this broker takes the id if the holder gives no sign of life for ${waitMs} ms`,
    )
    const fromMs = clock.monotonic()
    while (clock.monotonic() - fromMs < waitMs) {
      await sleep(clock, intervalMs)
      const seen = await store.load(KIND, name)
      if (seen === null) return 0
      if (seen.version === held.version) continue
      throw new BrokerIdHeld(
        `svc.broker.id: got ${name}, which is the id of ${describeAny(read(seen))}, and this broker lives; ` +
          'each broker on a store needs its own id',
      )
    }
    return held.version
  }

  /** Sends a beat: raises the version of this broker's document. */
  async function beat(): Promise<void> {
    const sentAtMs = clock.monotonic()
    const record = self
    const changes = isMember && !isOutdated ? [] : [rowOf(record)]
    const outcome = await store.commit({ kind: KIND, name, expect: version, changes })
    if (outcome.kind === 'committed') {
      version = outcome.version
      confirmedAtMs = sentAtMs
      // If endpoints were announced during this commit, the next beat must write them, or no other broker would see
      // this one.
      isMember = record.endpoints === self.endpoints
      isOutdated = record !== self
      strange = null
      return
    }
    const found = outcome.version === 0 ? null : await store.load(KIND, name)
    if (found === null) {
      if (isMember)
        logger
          .limited('dead', 10_000)
          .warn('the other brokers considered this broker dead; they lead its partitions now')
      version = 0
      isMember = false
      return
    }
    const holder = read(found)
    if (holder === null) standBeside(found)
    else if (holder.incarnation === incarnation) {
      // A beat whose outcome was unknown has succeeded.
      version = found.version
    } else {
      isClosed = true
      isMember = false
      rooms.lost(new BrokerIdHeld(`svc.broker.id: ${name} has been taken over by ${describe(holder)}`))
    }
  }

  /**
   * Decides whether this broker may overwrite a document that it cannot read. If a later version of Ketch has taken
   * the id, it keeps raising the version. An edit by hand does not, so after an expiry this broker overwrites the
   * document.
   */
  function standBeside(found: Document): void {
    const nowMs = clock.monotonic()
    if (strange?.version !== found.version) strange = { version: found.version, sinceMs: nowMs }
    else if (nowMs - strange.sinceMs >= expiryMs) {
      version = found.version
      isOutdated = true
    }
  }

  /** Looks at the other brokers, and removes those whose version has not changed for an expiry. */
  async function observe(): Promise<void> {
    const fromMs = clock.monotonic()
    const listed = await store.list(KIND)
    const own = listed.find(each => each.name === name)
    // If the document is newer than the last beat, another broker wrote it, and the next beat learns which one.
    if (own !== undefined && isMember && own.version <= version && !holds(own, self)) isOutdated = true
    const documents = listed.filter(each => each.name !== name)
    // The version did not change between two looks. But if this broker or the store was paused, the other brokers may
    // have been paused too. So at most two intervals count.
    const silenceMs = Math.min(fromMs - lookedAtMs, 2 * intervalMs)
    lookedAtMs = clock.monotonic()
    const present = new Set(documents.map(each => each.name))
    for (const each of others.keys()) if (!present.has(each)) others.delete(each)
    const dead: Observed[] = []
    for (const document of documents) {
      // The key has a value that is not a document. It can be neither changed nor removed.
      if (document.version === 0) {
        read(document)
        others.delete(document.name)
        continue
      }
      const known = others.get(document.name)
      if (known === undefined || known.version !== document.version) {
        const info = read(document) ?? known?.info ?? null
        others.set(document.name, { version: document.version, silentMs: 0, name: document.name, info })
        continue
      }
      known.silentMs += silenceMs
      if (known.silentMs >= (known.info?.expiryMs ?? expiryMs)) dead.push(known)
    }
    await Promise.all(dead.map(remove))
  }

  async function remove({ name: dead, info, version: last }: Observed): Promise<void> {
    const outcome = await store.commit({ kind: KIND, name: dead, expect: last, changes: [], remove: true })
    if (outcome.kind === 'conflict') return
    others.delete(dead)
    const silentMs = info?.expiryMs ?? expiryMs
    logger.warn(`${describeAny(info)} has given no sign of life for ${silentMs} ms and is considered dead`, {
      id: dead,
    })
  }

  function readableOthers(): BrokerInfo[] {
    return Array.from(others.values(), each => each.info).filter(each => each !== null)
  }

  function publish(): void {
    const living = readableOthers()
    if (isMember && !isWithdrawn) living.push(self)
    const brokers = living.filter(each => each.endpoints.length > 0).sort((one, other) => one.id - other.id)
    const text = JSON.stringify(brokers)
    if (text === published) return
    published = text
    rooms.changed(Object.freeze(brokers))
  }

  const look = coalesce(async () => {
    if (isClosed) return
    const steps = isWithdrawn ? [observe()] : [beat(), observe()]
    let isWhole = true
    for (const step of await Promise.allSettled(steps)) {
      if (step.status === 'fulfilled') continue
      isWhole = false
      const error = step.reason
      if (!isStoreFailure(error)) {
        rooms.lost(error)
        continue
      }
      logger
        .limited('store', COMPLAIN_EVERY_MS)
        .warn('the store does not answer which brokers live; until it does, this broker leads no partition', { error })
    }
    // A broker that has never seen the others would think that it is alone and would take over all partitions.
    if (lookedAtMs > Number.NEGATIVE_INFINITY) publish()
    if (isWhole) rooms.looked()
  })

  async function leave(): Promise<void> {
    // Wait first: a beat in flight would write the document again.
    await look()
    isMember = false
    for (let attempt = 0; attempt < CLAIMS; attempt++) {
      try {
        const found = await store.load(KIND, name)
        if (found === null || (found.version !== version && !isOurs(found))) return
        const { version: expect } = found
        const outcome = await store.commit({ kind: KIND, name, expect, changes: [], remove: true })
        if (outcome.kind === 'committed') return
      } catch (error) {
        if (error instanceof OutcomeUnknown) continue
        if (!(error instanceof StoreUnavailable)) throw error
        logger.warn('this broker cannot tell the others that it leaves; they notice it after svc.broker.expiry', {
          error,
        })
        return
      }
    }
  }

  function schedule(): void {
    timer = clock.timer(intervalMs, () => void look().finally(() => isClosed || schedule()))
  }

  schedule()
  return {
    get isConfirmed() {
      return isMember && !isWithdrawn && clock.monotonic() - confirmedAtMs < expiryMs / 2
    },

    incarnation,

    others: readableOthers,

    get hasOthers() {
      return others.size > 0
    },

    async announce(endpoints) {
      self = Object.freeze({ ...self, endpoints })
      // The next beat writes the whole record.
      isMember = false
      for (await look(); !isMember; await look()) {
        if (isClosed) throw new StoreUnavailable(`broker ${name} ended before the other brokers knew it`)
        await sleep(clock, intervalMs)
      }
    },

    async present(certificates) {
      self = Object.freeze({ ...self, certificates })
      isOutdated = true
      await look()
    },

    withdraw() {
      isWithdrawn = true
      publish()
    },

    leave,
    look,

    async close() {
      isWithdrawn = true
      if (isMember) await leave()
      isClosed = true
      timer?.cancel()
      await look()
    },
  }
}
