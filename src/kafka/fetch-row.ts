// One partition of a fetch: what is asked of it, what was found there, and what the client has been told. It lives as long
// as a request, or as long as the session that it is in. It reads nothing; the handler does.

import type { Partition, ReadResult } from '../log/partition.ts'
import { Watch } from '../log/waiters.ts'
import { isRefusal, type Refusal, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import type { fetch } from '../protocol/messages/fetch.ts'
import type { RequestOf } from '../protocol/schema.ts'
import type { Rooms } from './handlers/handler.ts'
import { findPartition, findTopic, type Naming } from './partitions.ts'

type Topic = RequestOf<typeof fetch>['topics'][number]
type Asked = Topic['partitions'][number]

export class FetchRow extends Watch {
  /** The name, where the request says names; else blank. */
  readonly topic: string
  readonly topicId: string
  readonly index: number
  /** What is asked, number by number: many thousands wait at a time. */
  fetchOffset = 0
  currentLeaderEpoch = -1
  partitionMaxBytes = 0
  /** Null where there is none; `found` then says why. */
  partition: Partition | null = null
  found: ReadResult | Refusal = UNKNOWN_TOPIC_OR_PARTITION
  /** What the answers of the session have said, -1 for nothing yet. */
  toldHighWatermark = -1
  toldLogStartOffset = -1
  /** The request that looks at it. */
  reader: unknown = null

  constructor({ topic, topicId }: Topic, asked: Asked) {
    super()
    this.topic = topic
    this.topicId = topicId
    this.index = asked.partition
    this.ask(asked)
  }

  /** Whether it stands for this partition, as a request of the same naming says it. */
  is({ topic, topicId }: Topic, index: number): boolean {
    return this.index === index && this.topic === topic && this.topicId === topicId
  }

  /** Another request asks this of it. */
  ask({ fetchOffset, currentLeaderEpoch, partitionMaxBytes }: Asked): void {
    this.fetchOffset = fetchOffset
    this.currentLeaderEpoch = currentLeaderEpoch
    this.partitionMaxBytes = partitionMaxBytes
  }

  /** Looks the partition up, once for as long as it lives. */
  resolve(rooms: Rooms, naming: Naming): void {
    if (this.partition !== null && this.partition.refusal === null) return
    const topic = findTopic(rooms.catalogue.current(), naming, naming === 'name' ? this.topic : this.topicId)
    const found = findPartition(rooms, topic, this.index)
    if (isRefusal(found)) {
      this.leave()
      this.partition = null
      this.found = found
    } else this.partition = found
  }

  get bytes(): number {
    return isRefusal(this.found) ? 0 : this.found.bytes
  }

  /** Whether what was found is still all that there is to say: no records, and nothing has moved since. */
  get isQuiet(): boolean {
    const { partition, found } = this
    if (partition === null || isRefusal(found) || found.bytes > 0) return false
    return this.fetchOffset >= found.highWatermark && !this.hasMoved
  }

  /** Whether the partition is not any more as it was found. */
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

  /** Lets go of what was found: the client is told. After an error it is told again when the error is gone. */
  tell(): void {
    const { found } = this
    this.toldHighWatermark = isRefusal(found) ? -1 : found.highWatermark
    this.toldLogStartOffset = isRefusal(found) ? -1 : found.logStartOffset
    this.drop()
  }

  /** Lets go of what was found, of which the client was told nothing. */
  drop(): void {
    this.found = UNKNOWN_TOPIC_OR_PARTITION
    this.reader = null
  }
}
