// Gives partitions other replicas, by the rules of Apache Kafka's ReplicationControlManager. No data moves, because
// the log is in the store. A reassignment is complete when it is stored, so there is never a reassignment in progress
// to list or to cancel.

import { cut } from '../base/cut.ts'
import type { Topic } from '../log/catalogue.ts'
import {
  because,
  INVALID_REPLICATION_FACTOR,
  isRefusal,
  NO_REASSIGNMENT_IN_PROGRESS,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { PartitionReference } from './contract.ts'
import { checkReplicas, replicasOf, withAssigned } from './replicas.ts'
import { type TopicRooms, withinTime } from './topics.ts'

export interface Reassignment extends PartitionReference {
  /** Null cancels a reassignment that is in progress. */
  readonly brokerIds: readonly number[] | null
}

export interface ReassignOptions {
  /** False: the number of replicas must stay the same. */
  readonly allowsFactorChange: boolean
  /** After this time the answer is REQUEST_TIMED_OUT, although the change may still be made. 0 or less is no limit. */
  readonly timeoutMs: number
}

/**
 * Resolves to one outcome for each request, in order: null if the change was made. If several requests name one
 * partition, the last one wins. Throws what the store throws; some changes may have been made then.
 */
export async function reassignPartitions(
  rooms: TopicRooms,
  requests: readonly Reassignment[],
  { allowsFactorChange, timeoutMs }: ReassignOptions,
): Promise<readonly (Refusal | null)[]> {
  const { catalogue, cluster, clock } = rooms
  if (catalogue.isShared) await catalogue.catchUp()
  const { topics } = catalogue.current()
  const outcomes = requests.map(request => check(rooms, topics.get(request.topic), request, allowsFactorChange))
  /** The new brokers, by topic id and partition. */
  const wanted = new Map<string, Record<number, readonly number[]>>()
  for (const [i, { topic, partition, brokerIds }] of requests.entries()) {
    if (outcomes[i] !== null) continue
    const { id } = topics.get(topic)!
    const lists = wanted.get(id) ?? {}
    lists[partition] = brokerIds!
    wanted.set(id, lists)
  }
  if (wanted.size === 0) return outcomes
  const ids = [...wanted.keys()]
  const decide = ({ id, partitions, placement }: Topic) => ({
    placement: withAssigned(cluster, partitions, placement, wanted.get(id)!),
  })
  const changed = await withinTime(clock, timeoutMs, catalogue.change(ids, decide))
  const answers = new Map(ids.map((id, i) => [id, changed === null ? LATE : changed[i]!]))
  return requests.map(({ topic, partition }, i) => {
    if (outcomes[i] !== null) return outcomes[i]!
    const answer = answers.get(topics.get(topic)!.id)!
    if (!isRefusal(answer)) return null
    // The topic was deleted meanwhile, so its id is unknown. The client sent the name of the topic, so it gets the
    // error for names.
    return answer.code === UNKNOWN_TOPIC_ID.code ? unknownPartition(topic, partition) : answer
  })
}

const LATE = because(REQUEST_TIMED_OUT, 'The replicas may be changed all the same.')

function check(
  { cluster }: TopicRooms,
  topic: Topic | undefined,
  { topic: name, partition, brokerIds }: Reassignment,
  allowsFactorChange: boolean,
): Refusal | null {
  if (topic === undefined) return because(UNKNOWN_TOPIC_OR_PARTITION, `Unable to find a topic named ${cut(name)}.`)
  if (partition < 0 || partition >= topic.partitions) return unknownPartition(name, partition)
  if (brokerIds === null) return NO_REASSIGNMENT_IN_PROGRESS
  const { ids } = replicasOf(cluster, topic, partition)
  // A replica on a broker that is away may stay in the list.
  const refusal = checkReplicas(cluster, brokerIds, [...ids, ...(topic.placement.assigned[partition] ?? [])])
  if (refusal !== null) return refusal
  if (allowsFactorChange || brokerIds.length === ids.length) return null
  return because(
    INVALID_REPLICATION_FACTOR,
    `The replication factor is changed from ${ids.length} to ${brokerIds.length}`,
  )
}

function unknownPartition(topic: string, partition: number): Refusal {
  return because(UNKNOWN_TOPIC_OR_PARTITION, `Unable to find partition ${topic}:${partition}.`)
}
