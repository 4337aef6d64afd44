// The group coordinator, as handlers use it: all consumer groups that this broker coordinates, by group id. It checks
// group ids, makes member ids, finds the live group (classic/live-group.ts) and passes the request on. It loads all
// stored groups of this broker when it opens, and more groups when this broker becomes their coordinator. A group is
// not stored before its first join is complete or its first offset is committed. This file knows no names of topics,
// no versions of APIs, and no connections.

import { assert } from '../base/assert.ts'
import { afterOthers, type Clock, sleep } from '../base/clock.ts'
import { watchClockJumps } from '../base/clock-jumps.ts'
import { coalesce } from '../base/coalesce.ts'
import { type Random, uuidText } from '../base/random.ts'
import { type Catalogue, mayExist } from '../log/catalogue.ts'
import {
  because,
  COORDINATOR_LOAD_IN_PROGRESS,
  GROUP_ID_NOT_FOUND,
  INVALID_GROUP_ID,
  isRefusal,
  NOT_COORDINATOR,
  REBALANCE_IN_PROGRESS,
  type Refusal,
  UNKNOWN_MEMBER_ID,
} from '../protocol/errors.ts'
import type { Settings } from '../settings/settings.ts'
import { type Document, isStoreFailure, type Store, UnreadableDocument } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { classicMachine } from './classic/classic-machine.ts'
import type { GroupRules, GroupState } from './classic/group.ts'
import { type GroupSurroundings, LiveGroup } from './classic/live-group.ts'
import type { GroupDescription } from './classic/questions.ts'
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
} from './classic/requests.ts'
import { type Deliveries, openDeliveries } from './deliveries.ts'
import { KIND } from './group-record.ts'
import type { CommitReply, OffsetToCommit, TopicPartitions } from './offsets/group-offsets.ts'
import type { CommittedOffset, StoredOffsets } from './offsets/offset-record.ts'
import type { OffsetReplacement, ReplaceOutcome } from './offsets/offset-replacement.ts'

/** The most bytes of a group id: Kafka's limit for a string. */
const MAX_GROUP_ID_BYTES = 32_767

/** The most characters of the instance id or client id at the start of a member id. */
const NAME_IN_MEMBER_ID = 255

/** The most partitions of all groups together whose delivered position is tracked. They take some 60 MB. */
const MAX_FOLLOWED_PARTITIONS = 200_000

/** Groups that move here are loaded in batches of this size. */
const LOADED_AT_ONCE = 200
/** The time until another attempt to load groups. */
const RELOAD_AFTER_MS = 1_000

/** The number of groups that are searched at a time for offsets that have expired, or whose topics were deleted. */
const GROUPS_PER_TURN = 100
/** Deleted topics whose offsets a group forgets at a time. */
const TOPICS_PER_TURN = 1_000

interface LeaveReply {
  readonly error: Refusal | null
  /** One row for each identity, in order; empty if there is an error. */
  readonly rows: readonly Left[]
}

interface OffsetCommitRequest extends Claim {
  readonly groupId: string
  readonly offsets: readonly OffsetToCommit[]
  /**
   * The refusal if the client claims to be a member of a group that does not exist. It depends on the version of the
   * API.
   */
  readonly missing: Refusal
}

interface OffsetFetchRequest {
  readonly groupId: string
  /** Null asks for every partition that has an offset. */
  readonly topics: readonly TopicPartitions[] | null
}

export interface FetchedOffset extends CommittedOffset {
  readonly partition: number
}

interface OffsetFetchReply {
  readonly error: Refusal | null
  /** Only partitions that have an offset, in the order of the request. */
  readonly topics: readonly { readonly topicId: string; readonly offsets: readonly FetchedOffset[] }[]
}

interface ListedGroup {
  readonly groupId: string
  readonly state: GroupState
  readonly protocolType: string | null
}

interface OffsetDeleteReply {
  readonly error: Refusal | null
  /** One for each topic, in their order: null, or GROUP_SUBSCRIBED_TO_TOPIC. Empty with an error. */
  readonly topics: readonly (Refusal | null)[]
}

/** Says which groups this broker coordinates. The groups only read it. */
export interface Coordination {
  /** Returns whether this broker coordinates the group, as far as it knows. */
  coordinates(groupId: string): boolean
  /**
   * False while another broker may have taken over the groups of this broker. Then this broker must refuse all
   * requests.
   */
  readonly isConfirmed: boolean
  /** Whether other brokers can be coordinators too. */
  readonly isShared: boolean
}

/** The coordination for a store that no other broker uses. */
export const SOLE_COORDINATION: Coordination = Object.freeze({
  coordinates: () => true,
  isConfirmed: true,
  isShared: false,
})

export interface Groups {
  /**
   * Resolves when the rebalance ends, or when the request is refused. The files in classic/ name the refusals of each
   * request.
   */
  join(request: JoinRequest): Promise<JoinReply>
  sync(request: SyncRequest): Promise<SyncReply>
  /** Returns null, or the refusal that tells the member what to do. It is synchronous and stores nothing. */
  heartbeat(groupId: string, claim: Claim): Refusal | null
  leave(groupId: string, leaving: readonly Leaving[]): Promise<LeaveReply>
  /** Resolves to null when all offsets are stored. The empty group id is valid here. */
  commitOffsets(request: OffsetCommitRequest): Promise<CommitReply>
  /** Resolves to the stored offsets. A group that does not exist has no offsets. */
  fetchOffsets(request: OffsetFetchRequest): Promise<OffsetFetchReply>
  /**
   * Resolves to the result of `read` when it is certain that the offsets stay stored. `read` gets all stored offsets
   * without a copy and must not keep them.
   */
  readOffsets<T extends object>(groupId: string, read: (offsets: StoredOffsets) => T): Promise<T | Refusal>
  /**
   * Called when the coordinators have changed. Drops the groups that this broker no longer coordinates, and loads
   * those that it coordinates now. Resolves when both are done, or when the broker closes.
   */
  reassign(): Promise<void>
  /** Returns all groups, or COORDINATOR_LOAD_IN_PROGRESS while it is unknown whether one of them exists. */
  list(): readonly ListedGroup[] | Refusal
  /** Resolves to GROUP_ID_NOT_FOUND if the group does not exist. */
  describe(groupId: string): Promise<GroupDescription | Refusal>
  /** Deletes the group with its offsets. Resolves to null, NON_EMPTY_GROUP or GROUP_ID_NOT_FOUND. */
  remove(groupId: string): Promise<Refusal | null>
  /**
   * Deletes offsets of a group. `error` is NON_EMPTY_GROUP if the members are not consumers, GROUP_ID_NOT_FOUND, or
   * INVALID_GROUP_ID.
   */
  deleteOffsets(groupId: string, topics: readonly TopicPartitions[]): Promise<OffsetDeleteReply>
  /**
   * Replaces offsets of a group without members, all of them or none. Resolves to null, NON_EMPTY_GROUP,
   * GROUP_ID_NOT_FOUND, or CHANGED if an offset differs from the expected one.
   */
  replaceOffsets(groupId: string, replacements: readonly OffsetReplacement[]): Promise<ReplaceOutcome>
  /** Which members own which partitions. */
  readonly deliveries: Pick<Deliveries, 'ofGroup' | 'countOwners'>
  /** Returns how many milliseconds longer than an ordinary request JoinGroup and SyncGroup of this group may wait. */
  patienceMs(groupId: string): number
  /** Forgets the offsets of deleted topics, a few groups at a time. The catalogue hides them from readers at once. */
  topicsRemoved(topicIds: ReadonlySet<string>): void
  /**
   * Forgets the offsets of every topic that is not in this list. The start needs it after a crash between the
   * deletion of a topic and its clean-up.
   */
  keepTopics(topicIds: { has(topicId: string): boolean }): void
  /** Tells clients that wait in a rebalance to look for the coordinator again. Offsets may still be committed. */
  drain(): void
  /** Drains, and resolves when every change that has begun is stored or refused. */
  close(): Promise<void>
}

/**
 * Loads all groups that this broker coordinates. From then on it forgets offsets that no consumer has used for
 * `broker.offsets-retention`. Requests to a group that cannot be read are refused with COORDINATOR_NOT_AVAILABLE.
 * Throws when the store cannot list the groups.
 */
export async function openGroups(rooms: {
  readonly store: Store
  readonly catalogue: { current(): Pick<Catalogue, 'topics' | 'topicsById' | 'unreadable'>; catchUp(): Promise<void> }
  readonly coordination: Coordination
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
}): Promise<Groups> {
  const { store, settings, clock, random, metrics, coordination } = rooms
  const groups = new Map<string, LiveGroup>()
  const rebalances = metrics.child('svc.broker.rebalances', {})
  const logger = rooms.logger.named('coordinator.groups')
  const deliveries = openDeliveries(MAX_FOLLOWED_PARTITIONS, clock)
  const maxBytes = settings.get('broker.groups-max-bytes')
  let heldBytes = 0
  let keptBytes = 0
  metrics.sample('svc.broker.group_bytes', {}, () => heldBytes)
  metrics.sample('svc.broker.group_offset_bytes', {}, () => keptBytes)
  const rules: GroupRules = {
    firstJoinDelayMs: settings.get('broker.rebalance-delay'),
    minSessionTimeoutMs: settings.get('broker.group-min-session-timeout'),
    maxSessionTimeoutMs: settings.get('broker.group-max-session-timeout'),
    maxSize: settings.get('broker.group-max-size'),
    get leftBytes() {
      return maxBytes - heldBytes
    },
  }
  const around: GroupSurroundings = {
    machine: classicMachine(rules),
    rules,
    store,
    isShared: coordination.isShared,
    clock,
    logger,
    offsetsRetentionMs: settings.get('broker.offsets-retention'),
    deliveries,
    unreadable: rooms.unreadable ?? UNNAMED,
    catalogue: () => rooms.catalogue.current(),
    held(growthBytes) {
      heldBytes += growthBytes
    },
    kept(growthBytes) {
      keptBytes += growthBytes
    },
    get keptLeftBytes() {
      return maxBytes - keptBytes
    },
    rebalanced: () => rebalances.inc(),
    failed: errorType => metrics.count('svc.broker.failures', { operation: 'group', error_type: errorType }),
    vacant(groupId, group) {
      if (groups.get(groupId) === group) groups.delete(groupId)
    },
  }
  for (const document of await store.list(KIND)) if (coordination.coordinates(document.name)) adopt(document)

  function adopt(document: Document): void {
    groups.set(document.name, new LiveGroup(document.name, document, around))
  }

  let draining = false
  let closed = false
  const groupOf = (groupId: string): LiveGroup => {
    assert(!closed, 'the groups are closed')
    const known = groups.get(groupId)
    if (known !== undefined) return known
    const made = new LiveGroup(groupId, null, around)
    if (draining) made.drain()
    groups.set(groupId, made)
    return made
  }

  /** Groups that were dropped and still have a commit in flight. */
  const leaving = new Set<Promise<void>>()
  /** Set while some stored groups of this broker may not be loaded yet. */
  let isLoading = false

  const reassign = coalesce(async () => {
    for (const [groupId, group] of groups) if (!coordination.coordinates(groupId)) release(groupId, group)
    isLoading = true
    while (!closed) {
      try {
        await load()
        isLoading = false
        return
      } catch (error) {
        if (!isStoreFailure(error)) throw error
        logger.limited('load', 5_000).warn('groups that moved to this broker cannot be loaded yet', { error })
        await sleep(clock, RELOAD_AFTER_MS)
      }
    }
  })

  /** Loads the groups that this broker coordinates and that are not in memory. */
  async function load(): Promise<void> {
    const isMissing = ({ name }: Document) => coordination.coordinates(name) && !groups.has(name)
    const documents = (await store.list(KIND)).filter(isMissing)
    if (documents.length === 0) return
    // This comes after the list of groups was read, because a topic is created before its offsets are committed.
    await rooms.catalogue.catchUp()
    for (let i = 0; i < documents.length; i += LOADED_AT_ONCE) {
      await Promise.all(documents.slice(i, i + LOADED_AT_ONCE).map(takeOver))
    }
    keepTopics(mayExist(rooms.catalogue.current()))
    logger.info('groups have moved to this broker', { count: documents.length })
  }

  /**
   * Raises the version of the stored group, which fences the previous coordinator. If another broker has written the
   * group meanwhile, reads it again and tries again.
   */
  async function takeOver(document: Document | null): Promise<void> {
    if (document === null) return
    const { name } = document
    for (let found: Document | null = document; found !== null && !closed; found = await find(name)) {
      if (found.version === 0) return adopt(found)
      const outcome = await store.commit({ kind: KIND, name, expect: found.version, changes: [] })
      if (outcome.kind === 'conflict') continue
      if (!groups.has(name)) adopt({ ...found, version: outcome.version })
      return
    }
  }

  /** Loads a group in the form in which the store lists it: a key that does not contain a document has version 0. */
  async function find(name: string): Promise<Document | null> {
    try {
      return await store.load(KIND, name)
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      return { kind: KIND, name, version: 0, fields: new Map() }
    }
  }

  function release(groupId: string, group: LiveGroup): void {
    groups.delete(groupId)
    const closing = group.close().finally(() => leaving.delete(closing))
    leaving.add(closing)
    deliveries.forget(groupId)
  }

  function keepTopics(topicIds: { has(topicId: string): boolean }): void {
    for (const group of groups.values()) group.keepTopics(topicIds)
  }

  /** Deleted topics whose offsets the groups have not forgotten yet. */
  let gone: string[] = []
  let isForgetting = false

  async function forgetGone(): Promise<void> {
    if (isForgetting) return
    isForgetting = true
    while (gone.length > 0 && !closed) {
      const some = gone
      gone = []
      await forgetTopics(some)
    }
    isForgetting = false
  }

  async function forgetTopics(all: readonly string[]): Promise<void> {
    const parts = Array.from({ length: Math.ceil(all.length / TOPICS_PER_TURN) }, (_, i) => {
      return new Set(all.slice(i * TOPICS_PER_TURN, (i + 1) * TOPICS_PER_TURN))
    })
    let looked = 0
    // A group that arrives meanwhile is loaded, or commits, with a catalogue that no longer has the topics.
    for (const group of groups.values()) {
      for (const part of parts) {
        if (closed) return
        const forgotten = group.forgetTopics(part)
        if (forgotten > 0 || ++looked % GROUPS_PER_TURN === 0) await afterOthers(clock)
      }
    }
  }

  /** Returns why this broker cannot answer for the group; null if it can. */
  function misplaced(groupId: string): Refusal | null {
    if (closed || !coordination.coordinates(groupId) || !coordination.isConfirmed) return NOT_COORDINATOR
    return isLoading && !groups.has(groupId) ? COORDINATOR_LOAD_IN_PROGRESS : null
  }

  const unfitFor = (groupId: string, mayBeEmpty: boolean): Refusal | null =>
    misplaced(groupId) ?? checkGroupId(groupId, mayBeEmpty)

  async function readOffsets<T extends object>(
    groupId: string,
    read: (offsets: StoredOffsets) => T,
  ): Promise<T | Refusal> {
    const unfit = unfitFor(groupId, true)
    if (unfit !== null) return unfit
    if (coordination.isShared && !groups.has(groupId)) await takeOver(await find(groupId))
    return (await groups.get(groupId)?.readOffsets(read)) ?? read(NO_OFFSETS)
  }

  const checkIntervalMs = settings.get('broker.offsets-retention-check-interval')
  let check = clock.timer(checkIntervalMs, () => void expireOffsets())

  const lookForJumps = watchClockJumps(clock, jumpMs => {
    logger.warn(
      'the system clock has jumped forward; until tomorrow the broker expires no offset that is too old only because of the jump',
      { jumpMs },
    )
  })

  async function expireOffsets(): Promise<void> {
    const mistrustedMs = lookForJumps()
    const all = [...groups.values()]
    let expired = 0
    for (let from = 0; from < all.length && !closed; from += GROUPS_PER_TURN) {
      const some = all.slice(from, from + GROUPS_PER_TURN)
      for (const count of await Promise.all(some.map(group => group.expireOffsets(clock.now() - mistrustedMs))))
        expired += count
      await afterOthers(clock)
    }
    if (expired > 0) logger.info('offsets have expired', { count: expired })
    if (!closed) check = clock.timer(checkIntervalMs, () => void expireOffsets())
  }

  return {
    join(request) {
      const unfit = checkGroupId(request.groupId, false) ?? misplaced(request.groupId)
      if (unfit !== null) return Promise.resolve(refuseJoin(unfit, request.memberId))
      const name = (request.instanceId ?? request.clientId).slice(0, NAME_IN_MEMBER_ID)
      const newMemberId = request.memberId === '' ? `${name}-${uuidText(random)}` : ''
      return groupOf(request.groupId).join(request, newMemberId)
    },

    sync(request) {
      const unfit = unfitFor(request.groupId, false)
      if (unfit === null) return groupOf(request.groupId).sync(request)
      return Promise.resolve(refuseSync(unfit === COORDINATOR_LOAD_IN_PROGRESS ? REBALANCE_IN_PROGRESS : unfit))
    },

    heartbeat(groupId, claim) {
      const unfit = unfitFor(groupId, false)
      if (unfit !== null) return unfit === COORDINATOR_LOAD_IN_PROGRESS ? null : unfit
      const known = groups.get(groupId)
      return known === undefined ? UNKNOWN_MEMBER_ID : known.heartbeat(claim)
    },

    async leave(groupId, leaving) {
      const unfit = unfitFor(groupId, false)
      if (unfit !== null) return { error: unfit, rows: [] }
      const reply = await groupOf(groupId).leave(leaving)
      return isRows(reply) ? { error: null, rows: reply } : { error: reply, rows: [] }
    },

    commitOffsets(request) {
      const unfit = unfitFor(request.groupId, true)
      if (unfit !== null) return Promise.resolve(unfit)
      return groupOf(request.groupId).commitOffsets(request, request.offsets, request.missing)
    },

    async fetchOffsets({ groupId, topics }) {
      const reply = await readOffsets(groupId, offsets => select(offsets, topics))
      return isRefusal(reply) ? { error: reply, topics: [] } : { error: null, topics: reply }
    },

    readOffsets,

    list() {
      const all = [...groups]
      if (closed) return NOT_COORDINATOR
      if (isLoading || all.some(([, group]) => group.isUncertain)) return COORDINATOR_LOAD_IN_PROGRESS
      return all.flatMap(([groupId, { listed }]) =>
        listed === null ? [] : [{ groupId, state: listed.state, protocolType: listed.protocolType }],
      )
    },

    async describe(groupId) {
      return misplaced(groupId) ?? (await groups.get(groupId)?.describe()) ?? GROUP_ID_NOT_FOUND
    },

    async remove(groupId) {
      const refusal = misplaced(groupId)
      if (refusal !== null) return refusal
      const known = groups.get(groupId)
      return known === undefined ? GROUP_ID_NOT_FOUND : known.remove()
    },

    async deleteOffsets(groupId, topics) {
      const unfit = unfitFor(groupId, false)
      const reply = unfit ?? (await groups.get(groupId)?.deleteOffsets(topics)) ?? GROUP_ID_NOT_FOUND
      return isRows(reply) ? { error: null, topics: reply } : { error: reply, topics: [] }
    },

    async replaceOffsets(groupId, replacements) {
      const unfit = unfitFor(groupId, false)
      if (unfit !== null) return unfit
      const known = groups.get(groupId)
      return known === undefined ? GROUP_ID_NOT_FOUND : await known.replaceOffsets(replacements)
    },

    deliveries,

    patienceMs: groupId => groups.get(groupId)?.patienceMs() ?? 0,

    topicsRemoved(topicIds) {
      for (const topicId of topicIds) gone.push(topicId)
      void forgetGone()
    },

    keepTopics,

    reassign,

    drain() {
      draining = true
      for (const group of groups.values()) group.drain()
    },

    async close() {
      draining = true
      closed = true
      check.cancel()
      await Promise.all([...leaving, ...Array.from(groups.values(), group => group.close())])
    },
  }
}

/**
 * Returns null if the group id is valid. Kafka allows the empty id only for offsets, for consumers that assign
 * partitions themselves.
 */
function checkGroupId(groupId: string, mayBeEmpty: boolean): Refusal | null {
  if (groupId === '' && !mayBeEmpty) return because(INVALID_GROUP_ID, 'The group id is empty.')
  // A string has at most three bytes of UTF-8 for each UTF-16 unit, so most group ids need no exact count.
  if (groupId.length * 3 <= MAX_GROUP_ID_BYTES || Buffer.byteLength(groupId) <= MAX_GROUP_ID_BYTES) return null
  return because(INVALID_GROUP_ID, `A group id has at most ${MAX_GROUP_ID_BYTES} bytes.`)
}

const NO_OFFSETS: StoredOffsets = new Map()

function isRows<Row>(reply: readonly Row[] | Refusal): reply is readonly Row[] {
  return Array.isArray(reply)
}

function select(offsets: StoredOffsets, wanted: OffsetFetchRequest['topics']): OffsetFetchReply['topics'] {
  const rowsOf = (topicId: string, partitions: Iterable<number>): FetchedOffset[] => {
    const rows: FetchedOffset[] = []
    for (const partition of partitions) {
      const committed = offsets.get(topicId)?.get(partition)
      if (committed !== undefined) rows.push({ partition, ...committed })
    }
    return rows
  }
  return wanted === null
    ? Array.from(offsets, ([topicId, partitions]) => ({ topicId, offsets: rowsOf(topicId, partitions.keys()) }))
    : wanted.map(({ topicId, partitions }) => ({ topicId, offsets: rowsOf(topicId, partitions) }))
}
