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
import type { Catalogue } from '../log/catalogue.ts'
import {
  because,
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  GROUP_ID_NOT_FOUND,
  GROUP_SUBSCRIBED_TO_TOPIC,
  NOT_COORDINATOR,
  REBALANCE_IN_PROGRESS,
  type Refusal,
} from '../protocol/errors.ts'
import {
  type Document,
  isStoreFailure,
  type Row,
  type Store,
  StoreUnavailable,
  UnreadableDocument,
} from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import {
  type Claim,
  type ClassicGroup,
  checkDelete,
  checkOffsetCommit,
  checkOffsetDelete,
  type Decision,
  describe,
  emptyGroup,
  expire,
  type GroupDescription,
  type GroupRules,
  type GroupState,
  heartbeat,
  idleSinceMs,
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
  subscriptionOf,
  sync,
  toStore,
  trim,
} from './classic-group.ts'
import { assignedPartitions } from './consumer-metadata.ts'
import type { Deliveries, Owned } from './deliveries.ts'
import {
  type CommittedOffset,
  decodeGroup,
  encodeHead,
  encodeOffset,
  type GroupRecord,
  HEAD,
  KIND,
  offsetField,
  type StoredOffsets,
} from './group-record.ts'
import { costOfGroup, costOfOffset, TOO_MANY_GROUPS, TOO_MANY_OFFSETS } from './kept-bytes.ts'
import { CHANGED, committedBy, type OffsetReplacement, type ReplaceOutcome } from './offset-replacement.ts'

/** How long a group whose loading failed waits before it tries again by itself. */
const RELOAD_AFTER_MS = 1_000
/** How long one that cannot be read waits until somebody may have repaired it. */
const REREAD_AFTER_MS = 10_000
/** A store that is away concerns all groups at once. */
const COMPLAIN_EVERY_MS = 5_000
const REPLACED = 'another coordinator has written this group, it is loaded again'
const REMOVED = 'this group is gone from the store: it begins anew, without members and offsets'
const LOST = 'the store has lost this group: what this broker knows of it is stored again'
/** A timer that is later than this says that the whole process stood still, and heartbeats may lie unread. */
const STALL_MS = 1_000

export interface OffsetToCommit {
  readonly topicId: string
  readonly partition: number
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
  /** Milliseconds from the commit to its end, if the client asked for that; -1 leaves it to the settings. */
  readonly retentionMs: number
}

export interface TopicPartitions {
  readonly topicId: string
  readonly partitions: readonly number[]
}

export interface Surroundings {
  readonly store: Store
  /** Whether another broker may coordinate the group without this one knowing yet. */
  readonly isShared: boolean
  readonly clock: Clock
  readonly logger: Logger
  readonly rules: GroupRules
  /** `broker.offsets-retention` */
  readonly offsetsRetentionMs: number
  readonly deliveries: Deliveries
  readonly unreadable: NameUnreadable
  catalogue(): Pick<Catalogue, 'topics' | 'topicsById' | 'unreadable'>
  /** Called once for each rebalance whose assignments were committed. */
  rebalanced(): void
  /** Called for each commit that failed. */
  failed(errorType: string): void
  /** Called with what a group has come to take more of memory than before, or less. */
  held(growthBytes: number): void
  /** The same of what stays of it while it is empty. */
  kept(growthBytes: number): void
  /** Bytes of that which all groups of this broker may still take; below 0 where more was loaded than fits. */
  readonly keptLeftBytes: number
  /** Called when nothing of the group is left that needs memory. */
  vacant(groupId: string, group: LiveGroup): void
}

type Offsets = Map<string, Map<number, CommittedOffset>>

/** Null when all are stored; why none is; else an answer for each, in order. */
export type CommitReply = null | Refusal | readonly (Refusal | null)[]

/** What the next commit stores, and who is answered after it. */
interface Batch {
  head: boolean
  /** The whole document goes; nothing else is in the batch then. */
  remove: boolean
  readonly offsets: Map<string, Uint8Array | null>
  rebalances: number
  readonly answers: (() => void)[]
}

const newBatch = (): Batch => ({ head: false, remove: false, offsets: new Map(), rebalances: 0, answers: [] })

const nothingStored = (): GroupRecord => ({ head: null, offsets: new Map() })

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
  /** The memory that they take. */
  #offsetBytes = 0
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
  /** The memory that it takes, as it was reported last. */
  #heldBytes = 0
  /** The memory that stays while it is empty, as it was reported last. */
  #keptBytes = 0
  /** The store has it, in a form that is not read here: nothing is said of it, and nothing is written but its removal. */
  #isUnreadable = false

  /**
   * `document` is what the store has, null when it certainly has nothing. A group that cannot be read refuses everything with
   * COORDINATOR_NOT_AVAILABLE but its deletion, until what is stored of it can be.
   */
  constructor(id: string, document: Document | null, around: Surroundings) {
    this.#id = id
    this.#around = around
    try {
      this.#adopt(document)
    } catch (error) {
      this.#setAside(error, document?.version ?? 0)
    }
  }

  join(request: JoinRequest, newMemberId: string): Promise<JoinReply> {
    return this.#whenReady<JoinReply>(
      refusal => refuseJoin(refusal, request.memberId),
      (group, parked, now) => {
        if (this.#isTooMany()) parked.settle(refuseJoin(TOO_MANY_GROUPS, request.memberId))
        else this.#apply(group, join(group, request, parked, newMemberId, this.#around.rules, now))
      },
      true,
    )
  }

  sync(request: SyncRequest): Promise<SyncReply> {
    return this.#whenReady<SyncReply>(
      // What was under way is lost with what was in memory; clients take this refusal as "join again" (as in Kafka).
      refusal => refuseSync(refusal === COORDINATOR_LOAD_IN_PROGRESS ? REBALANCE_IN_PROGRESS : refusal),
      (group, parked, now) => this.#apply(group, sync(group, request, parked, this.#around.rules, now)),
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

  /**
   * All offsets or none, but for those that there is no room for. `missing` is the refusal when there is no such group and the client
   * claims to be a member.
   */
  commitOffsets(claim: Claim, offsets: readonly OffsetToCommit[], missing: Refusal): Promise<CommitReply> {
    return this.#whenReady<CommitReply>(
      refusal => refusal,
      (group, parked, now) => {
        const refusal = this.exists || claim.generation < 0 ? checkOffsetCommit(group, claim, now) : missing
        const reply = refusal ?? this.#setOffsets(offsets, now)
        this.#afterCommit(() => parked.settle(reply))
      },
    )
  }

  /** Null, or an answer for each: TOO_MANY_OFFSETS where one does not fit that takes more than before. */
  #setOffsets(offsets: readonly OffsetToCommit[], now: Now): readonly (Refusal | null)[] | null {
    let leftBytes = this.#around.keptLeftBytes - (this.exists ? 0 : costOfGroup(this.#id))
    let refused = 0
    const rows = offsets.map(({ topicId, partition, retentionMs, ...rest }) => {
      const before = this.#offsets.get(topicId)?.get(partition)
      const growth = costOfOffset(rest) - (before === undefined ? 0 : costOfOffset(before))
      if (growth > 0 && growth > leftBytes) {
        refused++
        return TOO_MANY_OFFSETS
      }
      leftBytes -= growth
      const expireAtMs = retentionMs < 0 ? -1 : Math.min(now.wallMs + retentionMs, Number.MAX_SAFE_INTEGER)
      this.#setOffset(topicId, partition, { ...rest, commitTimestampMs: now.wallMs, expireAtMs })
      return null
    })
    // A group that only ever committed offsets has a head too, which says since when it is empty.
    if (this.#version === 0 && refused < Math.max(rows.length, 1)) this.#next.head = true
    return refused === 0 ? null : rows
  }

  /** It would be a new group, and there is no room for one. */
  #isTooMany(): boolean {
    return !this.exists && costOfGroup(this.#id) > this.#around.keptLeftBytes
  }

  /** The offsets of one topic, or of all: what is committed when the answer is given, by whichever coordinator. */
  async readOffsets<Reply>(read: (offsets: StoredOffsets) => Reply): Promise<Reply | Refusal> {
    const doubt = this.#around.isShared ? await this.#checkCurrent() : null
    if (doubt !== null) return doubt
    return await this.#whenReady<Reply | Refusal>(
      // The Java client takes COORDINATOR_NOT_AVAILABLE as fatal in this one answer.
      refusal => (refusal.code === COORDINATOR_NOT_AVAILABLE.code ? COORDINATOR_LOAD_IN_PROGRESS : refusal),
      (_group, parked) => {
        const reply = read(this.#offsets)
        this.#afterCommit(() => parked.settle(reply))
      },
    )
  }

  /** What it is for those who list groups; null while it is being loaded or deleted, or when there is no such group. */
  get listed(): { readonly state: GroupState; readonly protocolType: string | null } | null {
    return this.exists ? this.#group : null
  }

  /** It is being loaded after a failure, and nobody can say what it is. */
  get isUncertain(): boolean {
    return this.#group === null && !this.#isUnreadable && !this.#next.remove && this.#inFlight?.remove !== true
  }

  /** Whether there is such a group: somebody is in it, or something of it is stored or about to be. */
  get exists(): boolean {
    if (this.#group === null) return false
    return this.#version > 0 || isInUse(this.#group) || this.#isDirty(this.#next) || this.#inFlight !== null
  }

  /** As it is committed. GROUP_ID_NOT_FOUND when there is no such group. */
  describe(): Promise<GroupDescription | Refusal> {
    return this.#whenReady<GroupDescription | Refusal>(
      refusal => refusal,
      (group, parked) => {
        const described = this.exists ? describe(group) : GROUP_ID_NOT_FOUND
        this.#afterCommit(() => parked.settle(described))
      },
    )
  }

  /** Deletes the group with its offsets. NON_EMPTY_GROUP while anybody is in it, GROUP_ID_NOT_FOUND. */
  remove(): Promise<Refusal | null> {
    if (this.#isUnreadable && !this.#closed) return this.#removeUnread()
    return this.#whenReady<Refusal | null>(
      refusal => refusal,
      (group, parked) => {
        const refusal = this.exists ? checkDelete(group) : GROUP_ID_NOT_FOUND
        if (refusal === null) this.#remove('an operator deletes the group')
        this.#afterCommit(() => parked.settle(refusal))
      },
    )
  }

  /**
   * One answer for each topic: null, or GROUP_SUBSCRIBED_TO_TOPIC. For all of them NON_EMPTY_GROUP when the members are no
   * consumers, or GROUP_ID_NOT_FOUND. A partition without an offset is as good as one whose offset was deleted.
   */
  deleteOffsets(topics: readonly TopicPartitions[]): Promise<readonly (Refusal | null)[] | Refusal> {
    return this.#whenReady<readonly (Refusal | null)[] | Refusal>(
      refusal => refusal,
      (group, parked) => {
        const refusal = this.exists ? checkOffsetDelete(group) : GROUP_ID_NOT_FOUND
        const isSubscribed = subscriptionOf(group)
        const reply = refusal ?? topics.map(topic => this.#deleteOffsetsOf(topic, isSubscribed))
        this.#afterCommit(() => parked.settle(reply))
      },
    )
  }

  /**
   * Replaces offsets of a group that nobody is in, all of them or none: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or CHANGED when one
   * of them is not what is expected.
   */
  async replaceOffsets(replacements: readonly OffsetReplacement[]): Promise<ReplaceOutcome> {
    const doubt = this.#around.isShared ? await this.#checkCurrent() : null
    if (doubt !== null) return doubt
    return await this.#whenReady<ReplaceOutcome>(
      refusal => refusal,
      (group, parked, now) => {
        const refusal = this.exists ? checkDelete(group) : GROUP_ID_NOT_FOUND
        const isExpected = (each: OffsetReplacement) =>
          each.isExpected(this.#offsets.get(each.topicId)?.get(each.partition) ?? null)
        const outcome = refusal ?? (replacements.every(isExpected) ? null : CHANGED)
        for (const { topicId, partition, offset } of outcome === null ? replacements : []) {
          if (offset === null) this.#forgetOffset(topicId, partition)
          else this.#setOffset(topicId, partition, committedBy(offset, now.wallMs))
        }
        this.#afterCommit(() => parked.settle(outcome))
      },
    )
  }

  /**
   * Forgets the offsets that nobody has used for long at this time of the wall clock (KIP-211), and the group when it is
   * empty and has none left. Resolves when that is stored, or refused, to the number of offsets that are forgotten.
   */
  expireOffsets(nowMs: number): Promise<number> {
    return this.#whenReady<number>(
      () => 0,
      (group, parked) => {
        const isSubscribed = subscriptionOf(group)
        const { topicsById, unreadable } = this.#around.catalogue()
        const expired = [...this.#offsets].flatMap(([topicId, partitions]) => {
          const topic = topicsById.get(topicId)
          // It may be of a topic that cannot be read, so whether a member subscribes to that is unknown.
          if (topic === undefined ? unreadable.size > 0 : isSubscribed(topic.name)) return []
          const isExpired = (committed: CommittedOffset) => this.#isExpired(group, committed, nowMs)
          return [...partitions].flatMap(([partition, each]) => (isExpired(each) ? [{ topicId, partition }] : []))
        })
        for (const { topicId, partition } of expired) this.#forgetOffset(topicId, partition)
        if (this.exists && this.#offsets.size === 0 && group.state === 'Empty' && !isInUse(group)) {
          this.#remove('it is empty and has no offsets')
        }
        this.#afterCommit(() => parked.settle(expired.length))
      },
    )
  }

  /** Forgets the offsets of all topics but these. They are out of sight at once; nobody waits for the commit. */
  keepTopics(topicIds: { has(topicId: string): boolean }): void {
    this.#forgetTopics([...this.#offsets.keys()].filter(topicId => !topicIds.has(topicId)))
  }

  /** Forgets the offsets of topics that are gone, in the same way: of how many. Looks through whichever are fewer. */
  forgetTopics(topicIds: ReadonlySet<string>): number {
    const own = this.#offsets
    return this.#forgetTopics(
      own.size < topicIds.size
        ? [...own.keys()].filter(topicId => topicIds.has(topicId))
        : [...topicIds].filter(topicId => own.has(topicId)),
    )
  }

  #forgetTopics(topicIds: readonly string[]): number {
    // Being loaded: the catalogue hides them, and the next start removes them.
    if (this.#group === null || topicIds.length === 0) return 0
    for (const topicId of topicIds)
      for (const partition of this.#offsets.get(topicId)!.keys()) this.#forgetOffset(topicId, partition)
    this.#flush()
    return topicIds.length
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
    this.#hold(0)
    this.#keep(0)
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

  /**
   * Whether what is in memory holds all that was committed when this was called. While brokers come and go two may take
   * themselves for the coordinator; whoever writes notices, whoever only answers would not.
   */
  async #checkCurrent(): Promise<Refusal | null> {
    const known = this.#version
    let stored: number
    try {
      stored = await this.#around.store.version(KIND, this.#id)
    } catch (cause) {
      if (!isStoreFailure(cause)) throw cause
      return COORDINATOR_LOAD_IN_PROGRESS
    }
    if (stored === 0 && known > 0 && this.#group !== null) return await this.#checkStored()
    // It may be what this coordinator commits just now.
    while (stored > this.#version && this.#inFlight !== null) await this.#committing
    const isOurs = this.#version === known ? stored === known : stored <= this.#version
    if (isOurs || this.#group === null) return null
    // Nothing was lost: an operator who resets offsets through another broker writes the group there.
    this.#around.logger
      .limited('group-check', COMPLAIN_EVERY_MS)
      .info(REPLACED, { group: this.#id, expected: this.#version, found: stored })
    this.#drop(NOT_COORDINATOR)
    return NOT_COORDINATOR
  }

  /** Nothing is stored of the group: writing it tells whether the store has lost it, or it was removed. */
  async #checkStored(): Promise<Refusal | null> {
    this.#next.head = true
    this.#flush()
    while (this.#inFlight !== null) await this.#committing
    return this.#group === null ? NOT_COORDINATOR : null
  }

  #apply(group: ClassicGroup, decision: Decision): void {
    this.#hold(group.heldBytes)
    for (const note of decision.notes) this.#around.logger.info(note, { group: this.#id })
    if (decision.commit) this.#next.head = true
    if (decision.rebalanced) this.#next.rebalances++
    if (decision.commit) this.#own(group)
    for (const { parked, reply } of decision.answers) {
      this.#afterCommit(() => (parked as Parked<JoinReply | SyncReply>).settle(reply))
    }
    this.#arm(group)
  }

  #hold(bytes: number): void {
    if (bytes !== this.#heldBytes) this.#around.held(bytes - this.#heldBytes)
    this.#heldBytes = bytes
  }

  #keep(bytes: number): void {
    if (bytes !== this.#keptBytes) this.#around.kept(bytes - this.#keptBytes)
    this.#keptBytes = bytes
  }

  /** While it is loaded anew, or deleted, it counts as before. */
  #countKept(): void {
    if (this.#isUnreadable) this.#keep(costOfGroup(this.#id))
    else if (this.#group !== null) this.#keep(this.exists ? costOfGroup(this.#id) + this.#offsetBytes : 0)
  }

  /** Tells whose fetches are the group's, whenever that may have changed. During a rebalance owners go on reading. */
  #own(group: ClassicGroup): void {
    const { deliveries, logger } = this.#around
    if (group.state === 'Empty') deliveries.forget(this.#id)
    if (group.state !== 'Stable' || group.protocolType !== 'consumer') return
    const { topics } = this.#around.catalogue()
    const owned = new Map<string, Owned>()
    for (const { memberId, clientId, clientHost, assignment } of describe(group).members) {
      for (const [name, partitions] of assignedPartitions(assignment) ?? []) {
        const topic = topics.get(name)
        for (const partition of topic === undefined ? [] : partitions) {
          const field = offsetField(topic!.id, partition)
          if (partition < 0 || partition >= topic!.partitions || owned.has(field)) continue
          owned.set(field, { memberId, clientId, clientHost, topicId: topic!.id, partition })
        }
      }
    }
    if (deliveries.assign(this.#id, [...owned.values()])) return
    logger.warn('too many partitions are owned: what is delivered to the group is not followed', { group: this.#id })
  }

  #deleteOffsetsOf({ topicId, partitions }: TopicPartitions, isSubscribed: (topic: string) => boolean): Refusal | null {
    if (isSubscribed(this.#around.catalogue().topicsById.get(topicId)?.name ?? '')) return GROUP_SUBSCRIBED_TO_TOPIC
    for (const partition of partitions) this.#forgetOffset(topicId, partition)
    return null
  }

  #setOffset(topicId: string, partition: number, committed: CommittedOffset): void {
    const partitions = this.#offsets.get(topicId) ?? new Map<number, CommittedOffset>()
    const before = partitions.get(partition)
    this.#offsetBytes += costOfOffset(committed) - (before === undefined ? 0 : costOfOffset(before))
    this.#offsets.set(topicId, partitions.set(partition, committed))
    this.#next.offsets.set(offsetField(topicId, partition), encodeOffset(committed))
  }

  #forgetOffset(topicId: string, partition: number): void {
    const partitions = this.#offsets.get(topicId)
    const before = partitions?.get(partition)
    if (partitions === undefined || before === undefined) return
    partitions.delete(partition)
    this.#offsetBytes -= costOfOffset(before)
    if (partitions.size === 0) this.#offsets.delete(topicId)
    this.#next.offsets.set(offsetField(topicId, partition), null)
  }

  #isExpired(group: ClassicGroup, { commitTimestampMs, expireAtMs }: CommittedOffset, nowMs: number): boolean {
    const sinceMs = idleSinceMs(group, commitTimestampMs)
    if (sinceMs === null) return false
    return nowMs >= (expireAtMs >= 0 ? expireAtMs : sinceMs + this.#around.offsetsRetentionMs)
  }

  /** From here on the group is being deleted: nothing goes on with it, and clients are told to come back in a moment. */
  #remove(why: string): void {
    this.#around.logger.info(`the group is deleted: ${why}`, { group: this.#id })
    this.#disarm()
    this.#around.deliveries.forget(this.#id)
    if (this.#version === 0 && this.#inFlight === null) {
      this.#adopt(null)
      return
    }
    this.#group = null
    this.#hold(0)
    this.#absence = COORDINATOR_LOAD_IN_PROGRESS
    this.#next = { ...newBatch(), remove: true, rebalances: this.#next.rebalances, answers: this.#next.answers }
  }

  #isDirty(batch: Batch): boolean {
    return batch.head || batch.remove || batch.offsets.size > 0
  }

  /** Gives an answer once everything that it may rest upon is stored. */
  #afterCommit(answer: () => void): void {
    if (this.#isDirty(this.#next)) this.#next.answers.push(answer)
    else if (this.#inFlight !== null) this.#inFlight.answers.push(answer)
    else answer()
  }

  #flush(): void {
    this.#countKept()
    if (this.#inFlight !== null || !this.#isDirty(this.#next)) return
    const batch = this.#next
    this.#next = newBatch()
    this.#inFlight = batch
    const changes: Row[] = Array.from(batch.offsets, ([key, value]) => ({ key, value }))
    if (batch.head) changes.push({ key: HEAD, value: encodeHead(toStore(this.#group!)) })
    this.#committing = this.#commit(batch, changes)
  }

  async #commit(batch: Batch, changes: readonly Row[]): Promise<void> {
    const { store } = this.#around
    try {
      const { remove } = batch
      const document = { kind: KIND, name: this.#id, remove }
      let outcome = await store.commit({ ...document, expect: this.#version, changes })
      if (outcome.kind === 'conflict' && outcome.isLost === true && (remove || this.#group !== null)) {
        this.#around.logger.limited('group-lost', COMPLAIN_EVERY_MS).warn(LOST, { group: this.#id })
        this.#around.failed('lost')
        outcome = await store.commit({ ...document, expect: 0, changes: remove ? [] : this.#everything() })
      }
      if (outcome.kind === 'conflict') {
        this.#around.logger
          .limited('group-commit', COMPLAIN_EVERY_MS)
          .warn(outcome.version === 0 ? REMOVED : REPLACED, {
            group: this.#id,
            expected: this.#version,
            found: outcome.version,
          })
        this.#around.failed('conflict')
        this.#drop(NOT_COORDINATOR)
        return
      }
      if (remove) this.#adopt(null)
      else this.#version = outcome.version
    } catch (cause) {
      this.#around.logger
        .limited('group-commit', COMPLAIN_EVERY_MS)
        .error('a group could not be stored, it is loaded again', { group: this.#id, error: cause })
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

  /** All that would be stored of the group; some of it may be on its way in the next commit too. */
  #everything(): readonly Row[] {
    const rows: Row[] = [{ key: HEAD, value: encodeHead(toStore(this.#group!)) }]
    for (const [topicId, partitions] of this.#offsets) {
      for (const [partition, committed] of partitions) {
        rows.push({ key: offsetField(topicId, partition), value: encodeOffset(committed) })
      }
    }
    return rows
  }

  /** What is in memory may not be what is stored: nobody is answered from it any more. */
  #drop(refusal: Refusal): void {
    this.#group = null
    this.#hold(0)
    this.#absence = COORDINATOR_LOAD_IN_PROGRESS
    this.#next = newBatch()
    this.#inFlight = null
    this.#disarm()
    this.#around.deliveries.forget(this.#id)
    for (const waiter of [...this.#waiters]) waiter.refuse(refusal)
    void this.#load()
  }

  /** The way out of what cannot be read: the document goes, whatever is in it. */
  async #removeUnread(): Promise<Refusal | null> {
    const { store, logger } = this.#around
    logger.warn('a group that cannot be read is deleted: an operator says so', { group: this.#id })
    const commit = { kind: KIND, name: this.#id, expect: this.#version, changes: [], remove: true }
    const { kind } = await store.commit(commit)
    await this.#load()
    return kind === 'conflict' ? NOT_COORDINATOR : null
  }

  /** Nothing is known of the group but that it is there. */
  #setAside(error: unknown, version: number): void {
    if (!(error instanceof UnreadableDocument)) throw error
    const { unreadable, clock } = this.#around
    const what = `the stored group ${JSON.stringify(this.#id)}`
    const result = 'clients are told COORDINATOR_NOT_AVAILABLE until it is repaired, or deleted with all of its offsets'
    unreadable({ kind: KIND, what, why: error.cause ?? error, result })
    this.#isUnreadable = true
    this.#offsets = new Map()
    this.#offsetBytes = 0
    this.#version = version
    this.#countKept()
    this.#absence = because(COORDINATOR_NOT_AVAILABLE, error.message)
    this.#disarm()
    this.#timer = clock.timer(REREAD_AFTER_MS, () => void this.#load())
  }

  async #load(): Promise<void> {
    if (this.#closed) return
    const { store, clock } = this.#around
    let document: Document | null = null
    try {
      document = await store.load(KIND, this.#id)
      if (this.#closed) return
      this.#adopt(document)
      this.#leaveIfVacant()
    } catch (cause) {
      if (cause instanceof UnreadableDocument) return this.#setAside(cause, document?.version ?? 0)
      this.#around.logger
        .limited('group-load', COMPLAIN_EVERY_MS)
        .error('a group could not be loaded', { group: this.#id, error: cause })
      this.#absence = COORDINATOR_NOT_AVAILABLE
      clock.timer(RELOAD_AFTER_MS, () => void this.#load())
    }
  }

  #adopt(document: Document | null): void {
    const now = this.#now()
    const { head, offsets } = document === null ? nothingStored() : decodeGroup(document)
    const group = head === null ? emptyGroup(now) : resume(head, now)
    if (this.#isUnreadable) this.#disarm()
    this.#isUnreadable = false
    this.#offsets = offsets
    this.#offsetBytes = bytesOf(offsets)
    this.#version = document?.version ?? 0
    this.#group = group
    this.#own(group)
    this.#apply(group, trim(group, this.#around.rules, now))
    this.#countKept()
  }

  #leaveIfVacant(): void {
    if (this.#group === null || this.#version > 0 || isInUse(this.#group) || this.#waiters.size > 0) return
    if (this.#inFlight !== null || this.#isDirty(this.#next)) return
    this.#disarm()
    this.#around.vacant(this.#id, this)
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

function bytesOf(offsets: StoredOffsets): number {
  let bytes = 0
  for (const partitions of offsets.values())
    for (const committed of partitions.values()) bytes += costOfOffset(committed)
  return bytes
}
