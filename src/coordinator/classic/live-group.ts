// One classic group that this broker coordinates. It passes requests to the group and its offsets
// (classic-machine.ts) through a live document (../live-document.ts), which stores the decisions and answers the
// requests. It counts the memory of the group, and tells the deliveries which partitions the members own. It decides
// nothing about members itself.

import type { Catalogue } from '../../log/catalogue.ts'
import {
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  GROUP_ID_NOT_FOUND,
  GROUP_SUBSCRIBED_TO_TOPIC,
  REBALANCE_IN_PROGRESS,
  type Refusal,
} from '../../protocol/errors.ts'
import type { Document } from '../../store/store.ts'
import type { Deliveries, Owned } from '../deliveries.ts'
import { costOfGroup, TOO_MANY_GROUPS } from '../kept-bytes.ts'
import { type Keeper, LiveDocument, type Surroundings } from '../live-document.ts'
import type { Decision, Machine } from '../machine.ts'
import type { CommitReply, OffsetToCommit, TopicPartitions } from '../offsets/group-offsets.ts'
import { type CommittedOffset, offsetField, type StoredOffsets } from '../offsets/offset-record.ts'
import { CHANGED, type OffsetReplacement, type ReplaceOutcome } from '../offsets/offset-replacement.ts'
import type { ClassicState } from './classic-machine.ts'
import { assignedPartitions } from './consumer-metadata.ts'
import { type ClassicGroup, type GroupRules, type GroupState, isInUse, rebalanceTimeout } from './group.ts'
import { HEAD } from './head-record.ts'
import { join } from './join.ts'
import { checkOffsetCommit, heartbeat, leave } from './presence.ts'
import {
  checkDelete,
  checkOffsetDelete,
  describe,
  type GroupDescription,
  idleSinceMs,
  subscriptionOf,
} from './questions.ts'
import {
  type Claim,
  type JoinReply,
  type JoinRequest,
  type Leaving,
  type Left,
  refuseJoin,
  refuseSync,
  type SyncReply,
  type SyncRequest,
} from './requests.ts'
import { sync } from './sync.ts'

/** The surroundings that all groups of a broker share. */
export interface GroupSurroundings extends Surroundings {
  readonly machine: Machine<ClassicState>
  readonly rules: GroupRules
  /** `broker.offsets-retention` */
  readonly offsetsRetentionMs: number
  readonly deliveries: Deliveries
  catalogue(): Pick<Catalogue, 'topics' | 'topicsById' | 'unreadable'>
  /** Called once for each rebalance whose assignments were committed. */
  rebalanced(): void
  /** Called with the growth of the memory that the members of a group take; below zero when they take less. */
  held(growthBytes: number): void
  /** Called in the same way for the memory that a group takes even while it is empty. */
  kept(growthBytes: number): void
  /**
   * Bytes of that memory that all groups of this broker may still take; below 0 if the loaded groups exceed the
   * limit.
   */
  readonly keptLeftBytes: number
  /** Called when the group no longer needs memory. */
  vacant(groupId: string, group: LiveGroup): void
}

const NOTHING: Decision = Object.freeze({ changes: [], answers: [], notes: [] })

const MAY_PARK = Object.freeze({ mayPark: true })

const itself = (refusal: Refusal): Refusal => refusal

/**
 * Makes the refusal of a join. It is a separate function, so that a waiting join does not keep its request in memory.
 */
const joinRefused = (memberId: string) => (refusal: Refusal) => refuseJoin(refusal, memberId)

/** A rebalance in progress is lost with the state. After REBALANCE_IN_PROGRESS clients join again (as in Kafka). */
const syncRefused = (refusal: Refusal) =>
  refuseSync(refusal === COORDINATOR_LOAD_IN_PROGRESS ? REBALANCE_IN_PROGRESS : refusal)

/** Returns a decision that changes these fields, and answers when they are stored. */
const stored = (changes: readonly string[], answer: () => void): Decision => ({ changes, answers: [answer], notes: [] })

export class LiveGroup implements Keeper<ClassicState> {
  readonly #id: string
  readonly #around: GroupSurroundings
  readonly #document: LiveDocument<ClassicState>
  /** The memory of the members, as last reported to `held`. */
  #heldBytes = 0
  /** The memory that the group takes even while it is empty, as last reported to `kept`. */
  #keptBytes = 0

  /**
   * `document` is the document in the store; null if the store certainly has no document. A group that cannot be read
   * refuses every request except its deletion with COORDINATOR_NOT_AVAILABLE, until it is repaired in the store.
   */
  constructor(id: string, document: Document | null, around: GroupSurroundings) {
    this.#id = id
    this.#around = around
    this.#document = new LiveDocument(id, around.machine, this, around)
    this.#document.open(document)
  }

  // ---- members

  join(request: JoinRequest, newMemberId: string): Promise<JoinReply> {
    return this.#document.ask<JoinReply>(
      ({ group }, parked, now) => {
        if (this.#isTooMany()) return stored([], () => parked.settle(refuseJoin(TOO_MANY_GROUPS, request.memberId)))
        return join(group, request, parked, newMemberId, this.#around.rules, now)
      },
      joinRefused(request.memberId),
      MAY_PARK,
    )
  }

  sync(request: SyncRequest): Promise<SyncReply> {
    return this.#document.ask<SyncReply>(
      ({ group }, parked, now) => {
        const decision = sync(group, request, parked, this.#around.rules, now)
        if (decision.isRebalanced !== true) return decision
        this.#tellMembers(group)
        return { ...decision, answers: [() => this.#around.rebalanced(), ...decision.answers] }
      },
      syncRefused,
      MAY_PARK,
    )
  }

  /**
   * Answers a heartbeat at constant cost, and stores nothing. While the group is being loaded, every heartbeat
   * succeeds (as in Kafka).
   */
  heartbeat(claim: Claim): Refusal | null {
    const { state, absence } = this.#document
    if (state === null) return absence === COORDINATOR_LOAD_IN_PROGRESS ? null : absence
    return heartbeat(state.group, claim, this.#document.now())
  }

  leave(leaving: readonly Leaving[]): Promise<readonly Left[] | Refusal> {
    return this.#document.ask<readonly Left[] | Refusal>(
      ({ group }, parked, now) => leave(group, leaving, parked, now),
      itself,
    )
  }

  // ---- offsets

  /**
   * Stores the offsets, except those for which there is no memory, or refuses all of them. `missing` is the refusal
   * if the group does not exist and the client claims to be a member.
   */
  commitOffsets(claim: Claim, wanted: readonly OffsetToCommit[], missing: Refusal): Promise<CommitReply> {
    return this.#document.ask<CommitReply>(({ group, offsets }, parked, now) => {
      const refusal = this.exists || claim.generation < 0 ? checkOffsetCommit(group, claim, now) : missing
      if (refusal !== null) return stored([], () => parked.settle(refusal))
      const leftBytes = this.#around.keptLeftBytes - (this.exists ? 0 : costOfGroup(this.#id))
      const { changes, reply } = offsets.commit(wanted, leftBytes, now.wallMs)
      // A group that has only committed offsets has a head too, which says since when it is empty.
      const isNew = !this.#document.isStored && (changes.length > 0 || wanted.length === 0)
      return stored(isNew ? [HEAD, ...changes] : changes, () => parked.settle(reply))
    }, itself)
  }

  /**
   * Resolves to the result of `read`, which must not keep the offsets. All these offsets are committed, by this or by
   * another coordinator.
   */
  readOffsets<Reply>(read: (offsets: StoredOffsets) => Reply): Promise<Reply | Refusal> {
    return this.#document.askCurrent<Reply | Refusal>(
      ({ offsets }, parked) => {
        const reply = read(offsets.byTopic)
        return stored([], () => parked.settle(reply))
      },
      // The Java client treats COORDINATOR_NOT_AVAILABLE as fatal in the answer to OffsetFetch.
      refusal => (refusal.code === COORDINATOR_NOT_AVAILABLE.code ? COORDINATOR_LOAD_IN_PROGRESS : refusal),
    )
  }

  /**
   * Deletes offsets. Resolves to one answer for each topic: null, or GROUP_SUBSCRIBED_TO_TOPIC. Resolves to one
   * refusal for all topics if it is NON_EMPTY_GROUP (the members are not consumers) or GROUP_ID_NOT_FOUND. Skips
   * partitions without an offset.
   */
  deleteOffsets(topics: readonly TopicPartitions[]): Promise<readonly (Refusal | null)[] | Refusal> {
    return this.#document.ask<readonly (Refusal | null)[] | Refusal>(({ group, offsets }, parked) => {
      const refusal = this.exists ? checkOffsetDelete(group) : GROUP_ID_NOT_FOUND
      if (refusal !== null) return stored([], () => parked.settle(refusal))
      const isSubscribed = subscriptionOf(group)
      const { topicsById } = this.#around.catalogue()
      const rows = topics.map(({ topicId }) =>
        isSubscribed(topicsById.get(topicId)?.name ?? '') ? GROUP_SUBSCRIBED_TO_TOPIC : null,
      )
      const changes = topics.flatMap(({ topicId, partitions }, index) =>
        rows[index] === null ? offsets.forget(topicId, partitions) : [],
      )
      return stored(changes, () => parked.settle(rows))
    }, itself)
  }

  /**
   * Replaces offsets of a group without members, all of them or none. Resolves to null, NON_EMPTY_GROUP,
   * GROUP_ID_NOT_FOUND, or CHANGED if an offset differs from the expected one.
   */
  replaceOffsets(replacements: readonly OffsetReplacement[]): Promise<ReplaceOutcome> {
    return this.#document.askCurrent<ReplaceOutcome>(({ group, offsets }, parked, now) => {
      const refusal = this.exists ? checkDelete(group) : GROUP_ID_NOT_FOUND
      if (refusal !== null) return stored([], () => parked.settle(refusal))
      const changes = offsets.replace(replacements, now.wallMs)
      if (changes === CHANGED) return stored([], () => parked.settle(CHANGED))
      return stored(changes, () => parked.settle(null))
    }, itself)
  }

  /**
   * Forgets the offsets that no consumer has used for the retention time (KIP-211), and then the group, if it is
   * empty and has no offset left. Resolves to the number of forgotten offsets when the change is stored, or to 0 when
   * it is refused.
   */
  expireOffsets(nowMs: number): Promise<number> {
    return this.#document.ask<number>(
      ({ group, offsets }, parked) => {
        const isSubscribed = subscriptionOf(group)
        const { topicsById, unreadable } = this.#around.catalogue()
        const changes = offsets.expire(
          topicId => {
            const topic = topicsById.get(topicId)
            // Its topic may be unreadable. Then it is unknown whether a member subscribes to it.
            return topic === undefined ? unreadable.size > 0 : isSubscribed(topic.name)
          },
          committed => this.#isExpired(group, committed, nowMs),
        )
        const decision = stored(changes, () => parked.settle(changes.length))
        const isOver = this.exists && offsets.byTopic.size === 0 && group.state === 'Empty' && !isInUse(group)
        return isOver ? removal('it is empty and has no offsets', decision) : decision
      },
      () => 0,
    )
  }

  /**
   * Forgets the offsets of all topics except these. The forgotten offsets are invisible at once; no client waits for
   * the commit.
   */
  keepTopics(topicIds: { has(topicId: string): boolean }): void {
    this.#forgetTopics(({ offsets: { byTopic } }) => [...byTopic.keys()].filter(topicId => !topicIds.has(topicId)))
  }

  /** Forgets the offsets of deleted topics in the same way. Returns the number of topics that had offsets. */
  forgetTopics(topicIds: ReadonlySet<string>): number {
    // Looks through the shorter of the two lists.
    return this.#forgetTopics(({ offsets: { byTopic } }) =>
      byTopic.size < topicIds.size
        ? [...byTopic.keys()].filter(topicId => topicIds.has(topicId))
        : [...topicIds].filter(topicId => byTopic.has(topicId)),
    )
  }

  // ---- the group as a whole

  /** The row of the group in a list; null while the group is being loaded or deleted, or if it does not exist. */
  get listed(): { readonly state: GroupState; readonly protocolType: string | null } | null {
    return this.exists ? this.#document.state!.group : null
  }

  /** Whether the group is being loaded after a failure, so that it is unknown whether it exists. */
  get isUncertain(): boolean {
    return this.#document.isUncertain
  }

  /** Whether the group exists: it has members, or a part of it is stored or about to be stored. */
  get exists(): boolean {
    return this.#document.exists
  }

  /** Resolves to the committed state, or to GROUP_ID_NOT_FOUND if the group does not exist. */
  describe(): Promise<GroupDescription | Refusal> {
    return this.#document.ask<GroupDescription | Refusal>(({ group }, parked) => {
      const described = this.exists ? describe(group) : GROUP_ID_NOT_FOUND
      return stored([], () => parked.settle(described))
    }, itself)
  }

  /**
   * Deletes the group with its offsets. Resolves to null, NON_EMPTY_GROUP while it has members, or
   * GROUP_ID_NOT_FOUND.
   */
  remove(): Promise<Refusal | null> {
    if (this.#document.isUnreadable) return this.#document.removeUnread()
    return this.#document.ask<Refusal | null>(({ group }, parked) => {
      const refusal = this.exists ? checkDelete(group) : GROUP_ID_NOT_FOUND
      const decision = stored([], () => parked.settle(refusal))
      return refusal === null ? removal('an operator deletes the group', decision) : decision
    }, itself)
  }

  /** Returns how many milliseconds longer than an ordinary request JoinGroup and SyncGroup may wait. */
  patienceMs(): number {
    const { state } = this.#document
    return state === null ? 0 : rebalanceTimeout(state.group)
  }

  /**
   * Ends each rebalance here: parked requests are refused with NOT_COORDINATOR, so that their clients look for the
   * coordinator again.
   */
  drain(): void {
    this.#document.drain()
  }

  /** Drains, and resolves when the commits that have begun have ended. */
  async close(): Promise<void> {
    await this.#document.close()
    this.#hold(0)
    this.#keep(0)
  }

  // ---- for the document

  replaced(state: ClassicState | null): void {
    this.#count(state)
    if (state === null) this.#around.deliveries.forget(this.#id)
    else this.#own(state.group)
  }

  changed(state: ClassicState, fields: readonly string[]): void {
    this.#count(state)
    if (fields.includes(HEAD)) this.#own(state.group)
  }

  vacant(): void {
    this.#around.vacant(this.#id, this)
  }

  // ---- inside

  /** Logs the members of the new generation at DEBUG. */
  #tellMembers({ generation, protocolName, leader, members }: ClassicGroup): void {
    const { logger } = this.#around
    if (!logger.isEnabled('DEBUG')) return
    const named = Array.from(members.values(), ({ id, clientId, clientHost }) => `${id} (${clientId} at ${clientHost})`)
    logger.debug(`generation ${generation} has these members`, {
      group: this.#id,
      protocolName,
      leader,
      members: named.join(', '),
    })
  }

  /** Returns whether the group would be new while there is no memory for a new group. */
  #isTooMany(): boolean {
    return !this.exists && costOfGroup(this.#id) > this.#around.keptLeftBytes
  }

  /**
   * Does nothing while the group is being loaded: the catalogue hides these topics, and the next start forgets their
   * offsets.
   */
  #forgetTopics(which: (state: ClassicState) => readonly string[]): number {
    let count = 0
    this.#document.tell(state => {
      const topicIds = which(state)
      count = topicIds.length
      return count === 0 ? NOTHING : { ...NOTHING, changes: state.offsets.forgetTopics(topicIds) }
    })
    return count
  }

  #isExpired(group: ClassicGroup, { commitTimestampMs, expireAtMs }: CommittedOffset, nowMs: number): boolean {
    const sinceMs = idleSinceMs(group, commitTimestampMs)
    if (sinceMs === null) return false
    return nowMs >= (expireAtMs >= 0 ? expireAtMs : sinceMs + this.#around.offsetsRetentionMs)
  }

  /** Counts the memory of the group. While the group is loaded again or deleted, its offsets count as before. */
  #count(state: ClassicState | null): void {
    this.#hold(state?.group.heldBytes ?? 0)
    if (this.#document.isUnreadable) this.#keep(costOfGroup(this.#id))
    else if (state !== null) this.#keep(this.exists ? costOfGroup(this.#id) + state.offsets.bytes : 0)
  }

  #hold(bytes: number): void {
    if (bytes !== this.#heldBytes) this.#around.held(bytes - this.#heldBytes)
    this.#heldBytes = bytes
  }

  #keep(bytes: number): void {
    if (bytes !== this.#keptBytes) this.#around.kept(bytes - this.#keptBytes)
    this.#keptBytes = bytes
  }

  /**
   * Records which client owns which partition, so that its fetches count for the group. Owners stay recorded during a
   * rebalance, because they continue to read.
   */
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
    logger.warn('the members own too many partitions: the broker does not track the deliveries to the group', {
      group: this.#id,
    })
  }
}

/** Adds the deletion of the group to a decision. */
function removal(why: string, decision: Decision): Decision {
  return { ...decision, remove: true, notes: [`the group is deleted: ${why}`] }
}
