// Deletes the oldest records of partitions, up to an offset that an operator names. Retention (log/round.ts) does
// the same by age and size. If the store has lost a partition, deleting all of its records accepts the loss, and the
// partition begins again without records.

import type { Clock } from '../../base/clock.ts'
import type { CatalogueKeeper } from '../../log/catalogue.ts'
import type { Logs } from '../../log/logs.ts'
import {
  because,
  INVALID_REQUEST,
  KAFKA_STORAGE_ERROR,
  NOT_LEADER_OR_FOLLOWER,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { isStoreFailure } from '../../store/store.ts'
import type { DeleteRecordsRequest } from '../contract.ts'
import { withinTime } from '../topics.ts'

export interface RecordRooms {
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly clock: Clock
}

const LATE = because(REQUEST_TIMED_OUT, 'The records may be deleted all the same.')

/**
 * Resolves to one answer for each request, in order: the log start when it is durable, or a refusal. After timeoutMs
 * (0 or less: no limit) the answer is REQUEST_TIMED_OUT. Partitions do not wait for each other. The request can be
 * repeated safely.
 */
export async function deleteRecords(
  { catalogue, logs, clock }: RecordRooms,
  requests: readonly DeleteRecordsRequest[],
  timeoutMs: number,
): Promise<readonly (number | Refusal)[]> {
  const { topics } = catalogue.current()
  const named = new Map<string, number>()
  const keyOf = ({ topic, partition }: DeleteRecordsRequest) => `${partition}:${topic}`
  for (const request of requests) named.set(keyOf(request), (named.get(keyOf(request)) ?? 0) + 1)
  const deleting = requests.map(async (request): Promise<number | Refusal> => {
    if (named.get(keyOf(request))! > 1) return because(INVALID_REQUEST, 'The partition is named twice in this request.')
    const topic = topics.get(request.topic)
    const partition = topic === undefined ? null : logs.partition(topic.id, request.partition)
    if (partition === null) {
      const exists = request.partition >= 0 && request.partition < (topic?.partitions ?? 0)
      return exists ? NOT_LEADER_OR_FOLLOWER : UNKNOWN_TOPIC_OR_PARTITION
    }
    try {
      // The request deletes all records, also the records that the store has lost.
      if (request.offset === -1 && partition.isDamaged) return await logs.remake(partition.topicId, partition.index)
      return await partition.deleteRecords(request.offset)
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      return because(KAFKA_STORAGE_ERROR, `The store cannot be written to: ${error.message}`)
    }
  })
  return Promise.all(deleting.map(async each => (await withinTime(clock, timeoutMs, each)) ?? LATE))
}
