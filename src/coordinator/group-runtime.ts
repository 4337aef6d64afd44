// One live group: it gives classic-group.ts its requests, its time and its one timer, commits what was decided, and
// answers. It decides nothing about members itself.
//
// Decisions change the group in memory at once. What they changed is committed in batches, one commit in flight;
// whatever is decided meanwhile goes together in the next. An answer waits for the last batch that it may have been
// decided upon, so nobody is ever told what a failed commit takes back. A failed commit drops the group: everybody who
// waits is told to look for the coordinator again, and the group is loaded from the store anew. Heartbeats are answered
// at once, without a commit.
//
//                   ┌───────── commit failed ─────────┐
//                   ▼                                 │
//   ┌─────────┐  loaded  ┌──────┐  commit(expect) ┌──────────┐
//   │ loading │ ───────▶ │ live │ ──────────────▶ │ in flight│
//   └─────────┘          └──────┘ ◀── committed ──└──────────┘

import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import {
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  NOT_COORDINATOR,
  REBALANCE_IN_PROGRESS,
  type Refusal,
} from '../protocol/errors.ts'
import { type Document, type Row, type Store, StoreUnavailable } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import {
  type Claim,
  type ClassicGroup,
  checkOffsetCommit,
  type Decision,
  emptyGroup,
  expire,
  type GroupRules,
  heartbeat,
  isInUse,
  type JoinReply,
  type JoinRequest,
  join,
  type Leaving,
  type Left,
  leave,
  type Now,
  type Parked,
  rebalanceTimeout,
  refuseJoin,
  refuseSync,
  resume,
  type SyncReply,
  type SyncRequest,
  sync,
  toStore,
} from './classic-group.ts'
import {
  type CommittedOffset,
  decodeHead,
  decodeOffset,
  encodeHead,
  encodeOffset,
  HEAD,
  KIND,
  offsetField,
  parseOffsetField,
} from './group-record.ts'

/** How long a group whose loading failed waits before it tries again by itself. */
const RELOAD_AFTER_MS = 1_000
/** A store that is away concerns all groups at once. */
const COMPLAIN_EVERY_MS = 5_000
/** A timer that is later than this says that the whole process stood still, and heartbeats may lie unread. */
const STALL_MS = 1_000

export interface OffsetToCommit {
  readonly topicId: string
  readonly partition: number
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

export interface Surroundings {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly rules: GroupRules
  /** Called once for each rebalance whose assignments were committed. */
  rebalanced(): void
  /** Called for each commit that failed. */
  failed(errorType: string): void
  /** Called when nothing of the group is left that needs memory. */
  vacant(groupId: string): void
}

type Offsets = Map<string, Map<number, CommittedOffset>>

/** What the next commit stores, and who is answered after it. */
interface Batch {
  head: boolean
  readonly offsets: Map<string, Uint8Array | null>
  rebalances: number
  readonly answers: (() => void)[]
}

const newBatch = (): Batch => ({ head: false, offsets: new Map(), rebalances: 0, answers: [] })

/** A request that has not been answered yet. */
interface Waiter {
  /** It may wait for other members, not only for a commit. */
  readonly mayPark: boolean
  refuse(refusal: Refusal): void
}

export class LiveGroup {
  readonly #id: string
  readonly #around: Surroundings
  /** Null while it is being loaded. */
  #group: ClassicGroup | null = null
  #offsets: Offsets = new Map()
  /** Of the stored document; 0 when there is none. */
  #version = 0
  /** What is told while there is no group in memory. */
  #absence: Refusal = COORDINATOR_LOAD_IN_PROGRESS
  readonly #waiters = new Set<Waiter>()
  #next: Batch = newBatch()
  #inFlight: Batch | null = null
  #committing: Promise<void> = Promise.resolve()
  #timer: Timer | null = null
  #timerAtMs = Number.POSITIVE_INFINITY
  /** The timer that runs is the second chance after a stall: nothing may bring it forward. */
  #forgaveStall = false
  #draining = false
  #closed = false

  /** `document` is what the store has, null when it certainly has nothing. Throws when the document cannot be read. */
  constructor(id: string, document: Document | null, around: Surroundings) {
    this.#id = id
    this.#around = around
    this.#adopt(document)
  }

  join(request: JoinRequest, newMemberId: string): Promise<JoinReply> {
    return this.#whenReady<JoinReply>(
      refusal => refuseJoin(refusal, request.memberId),
      (group, parked, now) => this.#apply(group, join(group, request, parked, newMemberId, this.#around.rules, now)),
      true,
    )
  }

  sync(request: SyncRequest): Promise<SyncReply> {
    return this.#whenReady<SyncReply>(
      // What was under way is lost with what was in memory; clients take this refusal as "join again" (as in Kafka).
      refusal => refuseSync(refusal === COORDINATOR_LOAD_IN_PROGRESS ? REBALANCE_IN_PROGRESS : refusal),
      (group, parked, now) => this.#apply(group, sync(group, request, parked, now)),
      true,
    )
  }

  /** Constant cost, nothing is stored. While the group is being loaded every heartbeat is good (as in Kafka). */
  heartbeat(claim: Claim): Refusal | null {
    if (this.#group === null) return this.#absence === COORDINATOR_LOAD_IN_PROGRESS ? null : this.#absence
    return heartbeat(this.#group, claim, this.#now())
  }

  leave(leaving: readonly Leaving[]): Promise<readonly Left[] | Refusal> {
    return this.#whenReady<readonly Left[] | Refusal>(
      refusal => refusal,
      (group, parked, now) => {
        const { rows, decision } = leave(group, leaving, now)
        this.#apply(group, decision)
        this.#afterCommit(() => parked.settle(rows))
      },
    )
  }

  /** All offsets or none. `missing` is the refusal when there is no such group and the client claims to be a member. */
  commitOffsets(claim: Claim, offsets: readonly OffsetToCommit[], missing: Refusal): Promise<Refusal | null> {
    return this.#whenReady<Refusal | null>(
      refusal => refusal,
      (group, parked, now) => {
        const unknown = this.#version === 0 && !isInUse(group) && !this.#isDirty(this.#next) && this.#inFlight === null
        const refusal = unknown && claim.generation >= 0 ? missing : checkOffsetCommit(group, claim, now)
        if (refusal === null) {
          for (const { topicId, partition, ...rest } of offsets) {
            const committed: CommittedOffset = { ...rest, commitTimestampMs: now.wallMs }
            const partitions = this.#offsets.get(topicId) ?? new Map<number, CommittedOffset>()
            this.#offsets.set(topicId, partitions.set(partition, committed))
            this.#next.offsets.set(offsetField(topicId, partition), encodeOffset(committed))
          }
          // A group that only ever committed offsets has a head too, which says since when it is empty.
          if (this.#version === 0) this.#next.head = true
        }
        this.#afterCommit(() => parked.settle(refusal))
      },
    )
  }

  /** The offsets of one topic, or of all: what is committed when the answer is given. */
  fetchOffsets<Reply>(read: (offsets: ReadonlyMap<string, ReadonlyMap<number, CommittedOffset>>) => Reply) {
    return this.#whenReady<Reply | Refusal>(
      // The Java client takes COORDINATOR_NOT_AVAILABLE as fatal in this one answer.
      refusal => (refusal === COORDINATOR_NOT_AVAILABLE ? COORDINATOR_LOAD_IN_PROGRESS : refusal),
      (_group, parked) => {
        const reply = read(this.#offsets)
        this.#afterCommit(() => parked.settle(reply))
      },
    )
  }

  /** Forgets the offsets of topics that are gone. They are out of sight at once; nobody waits for the commit. */
  forgetTopics(isGone: (topicId: string) => boolean): void {
    // Being loaded: the catalogue hides them, and the next start removes them.
    if (this.#group === null) return
    for (const [topicId, partitions] of this.#offsets) {
      if (!isGone(topicId)) continue
      this.#offsets.delete(topicId)
      for (const partition of partitions.keys()) this.#next.offsets.set(offsetField(topicId, partition), null)
    }
    this.#flush()
  }

  /** How long JoinGroup and SyncGroup may wait beyond an ordinary request. */
  patienceMs(): number {
    return this.#group === null ? 0 : rebalanceTimeout(this.#group)
  }

  /** No rebalance goes on from here: parked requests are told to look for the coordinator again. */
  drain(): void {
    this.#draining = true
    this.#disarm()
    for (const waiter of [...this.#waiters]) if (waiter.mayPark) waiter.refuse(NOT_COORDINATOR)
  }

  /** Resolves when the commits that were begun have ended. */
  async close(): Promise<void> {
    this.drain()
    this.#closed = true
    while (this.#inFlight !== null) await this.#committing
  }

  #now(): Now {
    return { ms: this.#around.clock.monotonic(), wallMs: this.#around.clock.now() }
  }

  /** Runs `decide` on the group in memory, or refuses for want of one. */
  #whenReady<Reply>(
    refused: (refusal: Refusal) => Reply,
    decide: (group: ClassicGroup, parked: Parked<Reply>, now: Now) => void,
    mayPark = false,
  ): Promise<Reply> {
    if (this.#closed || (this.#draining && mayPark)) return Promise.resolve(refused(NOT_COORDINATOR))
    const group = this.#group
    if (group === null) return Promise.resolve(refused(this.#absence))
    return new Promise(resolve => {
      const waiter: Waiter & Parked<Reply> = {
        mayPark,
        settle: reply => {
          if (this.#waiters.delete(waiter)) resolve(reply)
        },
        refuse: refusal => waiter.settle(refused(refusal)),
      }
      this.#waiters.add(waiter)
      decide(group, waiter, this.#now())
      this.#flush()
      this.#leaveIfVacant()
    })
  }

  #apply(group: ClassicGroup, decision: Decision): void {
    for (const note of decision.notes) this.#around.logger.info(note, { group: this.#id })
    if (decision.commit) this.#next.head = true
    if (decision.rebalanced) this.#next.rebalances++
    for (const { parked, reply } of decision.answers) {
      this.#afterCommit(() => (parked as Parked<JoinReply | SyncReply>).settle(reply))
    }
    this.#arm(group)
  }

  #isDirty(batch: Batch): boolean {
    return batch.head || batch.offsets.size > 0
  }

  /** Gives an answer once everything that it may rest upon is stored. */
  #afterCommit(answer: () => void): void {
    if (this.#isDirty(this.#next)) this.#next.answers.push(answer)
    else if (this.#inFlight !== null) this.#inFlight.answers.push(answer)
    else answer()
  }

  #flush(): void {
    if (this.#inFlight !== null || this.#group === null || !this.#isDirty(this.#next)) return
    const batch = this.#next
    this.#next = newBatch()
    this.#inFlight = batch
    const changes: Row[] = Array.from(batch.offsets, ([key, value]) => ({ key, value }))
    if (batch.head) changes.push({ key: HEAD, value: encodeHead(toStore(this.#group)) })
    this.#committing = this.#commit(batch, changes)
  }

  async #commit(batch: Batch, changes: readonly Row[]): Promise<void> {
    const { store } = this.#around
    const logger = this.#around.logger.limited('group-commit', COMPLAIN_EVERY_MS)
    try {
      const outcome = await store.commit({ kind: KIND, name: this.#id, expect: this.#version, changes })
      if (outcome.kind === 'conflict') {
        logger.warn('another coordinator has written this group, it is loaded again', {
          group: this.#id,
          expected: this.#version,
          found: outcome.version,
        })
        this.#around.failed('conflict')
        this.#drop(NOT_COORDINATOR)
        return
      }
      this.#version = outcome.version
    } catch (cause) {
      logger.error('a group could not be stored, it is loaded again', { group: this.#id, error: cause })
      this.#around.failed(cause instanceof StoreUnavailable ? 'store-unavailable' : 'outcome-unknown')
      this.#drop(cause instanceof StoreUnavailable ? COORDINATOR_NOT_AVAILABLE : NOT_COORDINATOR)
      return
    }
    this.#inFlight = null
    for (let count = 0; count < batch.rebalances; count++) this.#around.rebalanced()
    for (const answer of batch.answers) answer()
    this.#flush()
    this.#leaveIfVacant()
  }

  /** What is in memory may not be what is stored: nobody is answered from it any more. */
  #drop(refusal: Refusal): void {
    this.#group = null
    this.#absence = COORDINATOR_LOAD_IN_PROGRESS
    this.#next = newBatch()
    this.#inFlight = null
    this.#disarm()
    for (const waiter of [...this.#waiters]) waiter.refuse(refusal)
    void this.#load()
  }

  async #load(): Promise<void> {
    if (this.#closed) return
    const { store, clock } = this.#around
    try {
      this.#adopt(await store.load(KIND, this.#id))
      this.#leaveIfVacant()
    } catch (cause) {
      this.#around.logger
        .limited('group-load', COMPLAIN_EVERY_MS)
        .error('a group could not be loaded', { group: this.#id, error: cause })
      this.#absence = COORDINATOR_NOT_AVAILABLE
      clock.timer(RELOAD_AFTER_MS, () => void this.#load())
    }
  }

  #adopt(document: Document | null): void {
    const now = this.#now()
    const offsets: Offsets = new Map()
    for (const [key, value] of document?.fields ?? []) {
      const of = parseOffsetField(key)
      if (of === null) continue
      const partitions = offsets.get(of.topicId) ?? new Map<number, CommittedOffset>()
      offsets.set(of.topicId, partitions.set(of.partition, decodeOffset(value)))
    }
    const head = document?.fields.get(HEAD)
    const group = head === undefined ? emptyGroup(now) : resume(decodeHead(head), now)
    this.#offsets = offsets
    this.#version = document?.version ?? 0
    this.#group = group
    this.#arm(group)
  }

  #leaveIfVacant(): void {
    if (this.#group === null || this.#version > 0 || isInUse(this.#group) || this.#waiters.size > 0) return
    if (this.#inFlight !== null || this.#isDirty(this.#next)) return
    this.#disarm()
    this.#around.vacant(this.#id)
  }

  /** One timer for all deadlines of the group. Heartbeats only move deadlines away, so they never touch it. */
  #arm(group: ClassicGroup): void {
    if (this.#draining || this.#forgaveStall || group.wakeAtMs >= this.#timerAtMs) return
    this.#disarm()
    this.#timerAtMs = group.wakeAtMs
    const { clock } = this.#around
    this.#timer = clock.timer(this.#timerAtMs - clock.monotonic(), () => this.#wake())
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.#forgaveStall = false
  }

  #wake(): void {
    const group = this.#group
    assert(group !== null, 'a group that is being loaded has no timer')
    const now = this.#now()
    const isStall = now.ms - this.#timerAtMs > STALL_MS && !this.#forgaveStall
    this.#disarm()
    if (isStall) {
      // The process stood still (a paused machine, a long collection): what lies unread in the sockets comes first.
      this.#forgaveStall = true
      this.#timerAtMs = now.ms + STALL_MS
      this.#timer = this.#around.clock.timer(STALL_MS, () => this.#wake())
      return
    }
    this.#apply(group, expire(group, now))
    this.#flush()
    this.#leaveIfVacant()
  }
}
