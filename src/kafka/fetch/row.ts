// Represents one partition of a fetch: the values of the client's request, the result of the last read, and the high
// watermark and log start that the client was told. It lives as long as its request, or as long as its session.
// reading.ts decides when it is read.

import type { Policy } from '../../auth/clients/policy.ts'
import { assert } from '../../base/assert.ts'
import type { Isolation, Partition, ReadResult } from '../../log/partition.ts'
import { Watch, type Watchlist } from '../../log/waiters.ts'
import {
  isRefusal,
  type Refusal,
  TOPIC_AUTHORIZATION_FAILED,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import type { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import type { Rooms } from '../handler.ts'
import { onEachRow } from '../needs.ts'
import { findPartition, findRepeated, findTopic, keyOf, type Naming } from '../partitions.ts'
import { isMet } from '../permissions.ts'
import type { Grant } from './share.ts'

type Body = RequestOf<typeof fetch>
type Topic = Body['topics'][number]
type Asked = Topic['partitions'][number]

/**
 * The need of a fetch. It is checked here and not by dispatch, because a request has rows that it does not name, and
 * because a request that waits is checked again.
 */
export const READING = Object.freeze(onEachRow('READ'))

export class FetchRow extends Watch {
  /** The name if the request uses names, else blank. */
  readonly topic: string
  readonly topicId: string
  readonly index: number
  /** The numbers of the request are fields of their own to save memory: many thousands of rows wait at a time. */
  fetchOffset = 0
  currentLeaderEpoch = -1
  partitionMaxBytes = 0
  /** Null if it was not found; `found` then says why. */
  partition: Partition | null = null
  found: ReadResult | Refusal = UNKNOWN_TOPIC_OR_PARTITION
  /** The values in the last answer of the session; -1 before the first one. */
  toldHighWatermark = -1
  toldLogStartOffset = -1
  /** The request that works on the row. */
  reader: unknown = null
  /** The policy that allows its client to read the topic; null without ACLs, or before the check. */
  checkedFor: Policy | null = null

  constructor({ topic, topicId }: Topic, asked: Asked) {
    super()
    this.topic = topic
    this.topicId = topicId
    this.index = asked.partition
    this.ask(asked)
  }

  /** Returns true if the row is for this partition, in a request that names topics the same way. */
  is({ topic, topicId }: Topic, index: number): boolean {
    return this.index === index && this.topic === topic && this.topicId === topicId
  }

  /** Sets the values of another request that takes over the row. */
  ask({ fetchOffset, currentLeaderEpoch, partitionMaxBytes }: Asked): void {
    this.fetchOffset = fetchOffset
    this.currentLeaderEpoch = currentLeaderEpoch
    this.partitionMaxBytes = partitionMaxBytes
  }

  /** Looks up the partition, unless a valid one is already known, if the policy allows its client to read it. */
  resolve(rooms: Rooms, naming: Naming, policy: Policy | null): void {
    const denied = this.check(rooms, naming, policy)
    if (denied !== null) {
      this.leave()
      this.partition = null
      this.found = denied
      return
    }
    if (this.partition !== null && this.partition.refusal === null) return
    const topic = findTopic(rooms.catalogue.current(), naming, naming === 'name' ? this.topic : this.topicId)
    const found = findPartition(rooms, topic, this.index)
    if (isRefusal(found)) {
      this.leave()
      this.partition = null
      this.found = found
    } else this.partition = found
  }

  /**
   * Returns the refusal if the policy does not allow the client to read the topic, else null. A row that the same
   * policy has allowed costs one comparison.
   */
  check({ catalogue }: Pick<Rooms, 'catalogue'>, naming: Naming, policy: Policy | null): Refusal | null {
    if (policy === this.checkedFor || policy === null) return null
    const name = naming === 'name' ? this.topic : catalogue.current().topicsById.get(this.topicId)?.name
    // An id without a topic needs no permission; the row is refused because of it.
    if (name === undefined) return null
    this.checkedFor = isMet(policy, READING, name) ? policy : null
    return this.checkedFor === null ? TOPIC_AUTHORIZATION_FAILED : null
  }

  /** Returns the most bytes that the next batch can have; 0 if the reader has reached the end. */
  batchBytes(isolation: Isolation): number {
    return this.partition === null ? 0 : this.partition.mostBytesAt(this.fetchOffset, isolation)
  }

  read(maxBytes: number, minOneBatch: boolean, isolation: Isolation): ReturnType<Partition['read']> {
    const { partition, found, fetchOffset, currentLeaderEpoch } = this
    if (partition === null) return found
    return partition.checkEpoch(currentLeaderEpoch) ?? partition.read(fetchOffset, maxBytes, minOneBatch, isolation)
  }

  /** Whether only the archive has the offset. */
  get isCold(): boolean {
    return this.partition?.isCold(this.fetchOffset) ?? false
  }

  /** Returns a result without records, with the offsets of the log as they are; or the refusal. */
  readNothing(isolation: Isolation): ReadResult | Refusal {
    const result = this.read(0, false, isolation)
    assert(!(result instanceof Promise), 'a read of no bytes waits for nothing')
    return result
  }

  get bytes(): number {
    return isRefusal(this.found) ? 0 : this.found.bytes
  }

  /** Whether the last result is still complete: no records, and the partition has not changed since. */
  get isQuiet(): boolean {
    const { partition, found } = this
    if (partition === null || isRefusal(found) || found.bytes > 0) return false
    return this.fetchOffset >= found.highWatermark && !this.hasMoved
  }

  /** Whether the partition has changed since the last read. */
  get hasMoved(): boolean {
    const { partition, found } = this
    if (partition === null || isRefusal(found)) return false
    const { refusal, highWatermark, logStartOffset } = partition
    return refusal !== null || highWatermark !== found.highWatermark || logStartOffset !== found.logStartOffset
  }

  /** Whether an incremental answer must name it (KIP-227). */
  get isNews(): boolean {
    const { found } = this
    if (isRefusal(found) || found.bytes > 0) return true
    return found.highWatermark !== this.toldHighWatermark || found.logStartOffset !== this.toldLogStartOffset
  }

  /**
   * Drops the result after the client got it. After an error, the row is in an answer again when the error is over.
   */
  tell(): void {
    const { found } = this
    this.toldHighWatermark = isRefusal(found) ? -1 : found.highWatermark
    this.toldLogStartOffset = isRefusal(found) ? -1 : found.logStartOffset
    this.drop()
  }

  /** Drops the result without an answer to the client. */
  drop(): void {
    this.found = UNKNOWN_TOPIC_OR_PARTITION
    this.reader = null
  }
}

/**
 * Returns the rows of a full request. A known row is used again if it is for the same partition at the same position.
 * If several rows of the request name a partition, the last of them counts.
 */
export function rowsOf({ topics }: Body, naming: Naming, known: readonly FetchRow[]): FetchRow[] {
  const said = naming === 'name' ? 'topic' : 'topicId'
  const repeated = findRepeated(
    topics.map(topic => ({ topic: topic[said], partitions: topic.partitions.map(row => row.partition) })),
  )
  const last = new Map<string, unknown>()
  if (repeated.size > 0) {
    for (const topic of topics) for (const row of topic.partitions) last.set(keyOf(topic[said], row.partition), row)
  }
  const rows: FetchRow[] = []
  for (const topic of topics) {
    for (const row of topic.partitions) {
      if (repeated.size > 0 && last.get(keyOf(topic[said], row.partition)) !== row) continue
      const before = known[rows.length]
      if (before?.is(topic, row.partition) !== true) rows.push(new FetchRow(topic, row))
      else {
        before.ask(row)
        rows.push(before)
      }
    }
  }
  return rows
}

/** Lets rows without news watch their partitions. Marks the other rows, so that they are read again. */
export function settle(list: Watchlist<FetchRow>, rows: readonly FetchRow[]): void {
  for (const row of rows) {
    if (row.isQuiet) list.rest(row, row.partition!.waits)
    else {
      list.mark(row)
      if (row.partition !== null) row.stand(row.partition.waits)
    }
  }
}

/**
 * Returns a function that releases the memory of the records, to call when the network has taken them. Returns null
 * if the request has no grant.
 */
export function releaseOf(rows: readonly FetchRow[], grant: Grant | null): (() => void) | null {
  if (grant === null) return null
  const releases: (() => void)[] = []
  for (const { found } of rows) if (!isRefusal(found) && found.release !== null) releases.push(found.release)
  return () => {
    for (const release of releases) release()
    grant.sent()
  }
}
