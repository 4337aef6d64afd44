// Keeps the fetch sessions (KIP-227): the broker remembers which partitions a client reads and from which offset. So
// a request names only the partitions that change, and an answer only the partitions with news. A session watches
// each of its partitions. A request reads only the marked partitions. A partition that returned records goes behind
// the others.
//
//   full request, epoch 0 ──open──> session, next epoch 1 ──next──> 2 ──> … ──> 2^31-1 ──> 1
//                                       │ closed by a full request that names it, by forgetting its last partition,
//                                       └ or evicted: unused for two minutes, or that old and smaller than a new one
//
// Any connection that knows the id of a session may continue it, as in Apache Kafka. It sees only the partitions that
// its own client may read. Unlike in Apache Kafka, no
// session is privileged, because there are no followers. The number of partitions in all sessions together is
// limited.

import type { Policy } from '../../auth/clients/policy.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Watchlist } from '../../log/waiters.ts'
import {
  FETCH_SESSION_ID_NOT_FOUND,
  FETCH_SESSION_TOPIC_ID_ERROR,
  INVALID_FETCH_SESSION_EPOCH,
  type Refusal,
} from '../../protocol/errors.ts'
import type { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Naming } from '../partitions.ts'
import { FetchRow } from './row.ts'

/** The epoch of a request that has no session and wants none. */
export const FINAL_EPOCH = -1
/** The epoch of a request that asks for a new session. */
export const INITIAL_EPOCH = 0
/** The session id of an answer without a session. */
export const NO_SESSION = 0

const LARGEST_INT32 = 0x7fff_ffff

/**
 * How long a session must be unused, or how old it must be, to make room for others. Kafka's value; Kafka has no
 * setting for it.
 */
const EVICTABLE_AFTER_MS = 120_000

/** The most partitions of all sessions together; they need some 100 MB. */
const MOST_PARTITIONS = 250_000

type Body = RequestOf<typeof fetch>

export interface FetchSession {
  readonly id: number
  readonly naming: Naming
  readonly list: Watchlist<FetchRow>
  /** The epoch that the next request must name. */
  readonly nextEpoch: number
  /** The policy for which every row was checked; null without ACLs. A request with another one checks all rows. */
  checkedFor: Policy | null
  /** True if the session has ended; a request may still be using it. */
  readonly isClosed: boolean
}

export interface FetchSessions {
  /** Makes a session of the rows of a full request. Returns null if there is no room. */
  open(rows: readonly FetchRow[], naming: Naming, list: Watchlist<FetchRow>, policy: Policy | null): FetchSession | null
  /**
   * Continues the session that the request names, with the partitions that it adds, changes and forgets. Ends the
   * wait of an earlier request. If the request forgets the last partition, the session ends and this returns null.
   * With another policy than before, all rows are marked, so that the request reads and checks each of them.
   */
  next(body: Body, naming: Naming, policy: Policy | null): FetchSession | Refusal | null
  close(id: number): void
}

interface Held extends FetchSession {
  nextEpoch: number
  isClosed: boolean
  readonly createdAtMs: number
  usedAtMs: number
  /** By name or id, then by index. */
  readonly topics: Map<string, Map<number, FetchRow>>
  size: number
}

export interface FetchSessionRooms {
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
}

const NOT_FULL: { readonly size: number; readonly untilMs: number } = { size: 0, untilMs: 0 }

export function createFetchSessions(
  { clock, random, metrics }: FetchSessionRooms,
  slots: number,
  mostPartitions = MOST_PARTITIONS,
): FetchSessions {
  /** The session that was unused for the longest time comes first. */
  const sessions = new Map<number, Held>()
  let partitions = 0
  /**
   * A search that found no session to evict. Until `untilMs` a session of at most `size` partitions evicts no other
   * one, unless a session shrinks or ends.
   */
  let fullFor = NOT_FULL
  const evictions = metrics.child('svc.broker.fetch.session_evictions', {})
  metrics.sample('svc.broker.fetch.sessions', {}, () => sessions.size)
  metrics.sample('svc.broker.fetch.session_partitions', {}, () => partitions)

  function newId(): number {
    for (;;) {
      const id = 1 + random.below(LARGEST_INT32 - 1)
      if (!sessions.has(id)) return id
    }
  }

  function touch(session: Held): void {
    session.usedAtMs = clock.monotonic()
    sessions.delete(session.id)
    sessions.set(session.id, session)
  }

  function remove(session: Held): void {
    if (!sessions.delete(session.id)) return
    session.isClosed = true
    fullFor = NOT_FULL
    partitions -= session.size
    for (const rows of session.topics.values()) for (const row of rows.values()) session.list.drop(row)
    session.list.interrupt()
  }

  /** Returns true if there is room for a session of this size. Evicts a less valuable session if that makes room. */
  function makeRoom(size: number): boolean {
    if (sessions.size < slots) return partitions + size <= mostPartitions
    const evicted = findEvictable(size)
    if (evicted === null || partitions - evicted.size + size > mostPartitions) return false
    remove(evicted)
    evictions.inc()
    return true
  }

  /**
   * Returns a session that is no longer used, else the smallest of those that are old enough and smaller than this
   * one. Returns null if no session can be evicted. While all slots are taken every full request searches, so a
   * search without a result is remembered.
   */
  function findEvictable(size: number): Held | null {
    const nowMs = clock.monotonic()
    if (size <= fullFor.size && nowMs < fullFor.untilMs) return null
    let found: Held | null = null
    let untilMs = Number.POSITIVE_INFINITY
    for (const session of sessions.values()) {
      if (nowMs - session.usedAtMs > EVICTABLE_AFTER_MS) return session
      untilMs = Math.min(untilMs, session.usedAtMs + EVICTABLE_AFTER_MS)
      if (nowMs - session.createdAtMs <= EVICTABLE_AFTER_MS) {
        untilMs = Math.min(untilMs, session.createdAtMs + EVICTABLE_AFTER_MS)
      } else if (session.size < (found ?? { size }).size) found = session
    }
    if (found === null) fullFor = { size, untilMs }
    return found
  }

  function put(session: Held, row: FetchRow): void {
    const topic = session.naming === 'name' ? row.topic : row.topicId
    let rows = session.topics.get(topic)
    if (rows === undefined) {
      rows = new Map()
      session.topics.set(topic, rows)
    }
    rows.set(row.index, row)
    session.size++
    partitions++
  }

  function forget(session: Held, topic: string, index: number): void {
    const rows = session.topics.get(topic)
    const row = rows?.get(index)
    if (rows === undefined || row === undefined) return
    session.list.drop(row)
    rows.delete(index)
    if (rows.size === 0) session.topics.delete(topic)
    session.size--
    partitions--
    fullFor = NOT_FULL
  }

  function update(session: Held, { topics, forgottenTopicsData }: Body): void {
    for (const topic of topics) {
      const name = session.naming === 'name' ? topic.topic : topic.topicId
      for (const asked of topic.partitions) {
        const known = session.topics.get(name)?.get(asked.partition)
        const row = known ?? new FetchRow(topic, asked)
        if (known === undefined) put(session, row)
        else row.ask(asked)
        session.list.mark(row)
      }
    }
    for (const topic of forgottenTopicsData) {
      const name = session.naming === 'name' ? topic.topic : topic.topicId
      for (const index of topic.partitions) forget(session, name, index)
    }
  }

  return {
    open(rows, naming, list, policy) {
      if (rows.length === 0 || !makeRoom(rows.length)) return null
      const nowMs = clock.monotonic()
      const session: Held = {
        id: newId(),
        naming,
        list,
        nextEpoch: INITIAL_EPOCH + 1,
        checkedFor: policy,
        isClosed: false,
        createdAtMs: nowMs,
        usedAtMs: nowMs,
        topics: new Map(),
        size: 0,
      }
      for (const row of rows) put(session, row)
      sessions.set(session.id, session)
      return session
    },
    next(body, naming, policy) {
      const session = sessions.get(body.sessionId)
      if (session === undefined) return FETCH_SESSION_ID_NOT_FOUND
      if (session.nextEpoch !== body.sessionEpoch) return INVALID_FETCH_SESSION_EPOCH
      if (session.naming !== naming) return FETCH_SESSION_TOPIC_ID_ERROR
      update(session, body)
      if (session.size === 0) {
        remove(session)
        return null
      }
      if (partitions > mostPartitions) {
        remove(session)
        return FETCH_SESSION_ID_NOT_FOUND
      }
      if (session.checkedFor !== policy) {
        for (const rows of session.topics.values()) for (const row of rows.values()) session.list.mark(row)
        session.checkedFor = policy
      }
      touch(session)
      session.nextEpoch = epochAfter(body.sessionEpoch)
      session.list.interrupt()
      return session
    },
    close(id) {
      const session = sessions.get(id)
      if (session !== undefined) remove(session)
    },
  }
}

/** Returns the epoch of the request that follows a request with this epoch. */
export function epochAfter(epoch: number): number {
  return epoch === LARGEST_INT32 ? 1 : epoch + 1
}
