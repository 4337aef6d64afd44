// Gives topics more partitions, by the rules of Apache Kafka's ControllerApis and ReplicationControlManager. New
// partitions are empty and begin at offset 0. They have as many replicas as the older partitions, even if fewer
// brokers live at the moment. Existing records stay where they are, but new records with the same key may go to
// another partition. Partitions are never removed.

import type { Topic } from '../log/catalogue.ts'
import {
  because,
  INVALID_PARTITIONS,
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_REQUEST,
  isRefusal,
  type Refusal,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { NewPartitionsRequest, TopicOutcome } from './contract.ts'
import { checkExpected } from './expected-topic.ts'
import { checkReplicas, checkSize, factorOf, withAssigned } from './replicas.ts'
import { type CreateOptions, checkCount, late, type TopicRooms, withinTime } from './topics.ts'

/**
 * Resolves to one outcome for each topic, in the order of the request: the new number of partitions, or a refusal. A
 * name that occurs twice has one outcome, a refusal.
 */
export async function createPartitions(
  rooms: TopicRooms,
  requests: readonly NewPartitionsRequest[],
  options: Omit<CreateOptions, 'auto'>,
): Promise<readonly TopicOutcome<number>[]> {
  const { catalogue, clock } = rooms
  if (catalogue.isShared) await catalogue.catchUp()
  const outcomes = new Map<string, number | Refusal>()
  /** By topic id. */
  const wanted = new Map<string, NewPartitionsRequest>()
  for (const [name, [request, ...others]] of Map.groupBy(requests, each => each.name)) {
    const topic = catalogue.current().topics.get(name)
    if (others.length > 0) outcomes.set(name, because(INVALID_REQUEST, 'Duplicate topic name.'))
    else if (topic === undefined) outcomes.set(name, UNKNOWN_TOPIC_OR_PARTITION)
    else {
      outcomes.set(name, check(rooms, request!, topic) ?? request!.count)
      if (!isRefusal(outcomes.get(name)!)) wanted.set(topic.id, request!)
    }
  }
  if (wanted.size > 0) {
    const decide = (topic: Topic) => {
      const request = wanted.get(topic.id)!
      return check(rooms, request, topic) ?? { partitions: request.count, ...placed(rooms, request, topic) }
    }
    const changed = await withinTime(clock, options.timeoutMs, catalogue.change([...wanted.keys()], decide, options))
    for (const [i, { name }] of [...wanted.values()].entries()) {
      const answer = changed === null ? late(options, 'The partitions may be created all the same.') : changed[i]!
      if (!isRefusal(answer)) continue
      // The topic was deleted meanwhile, so its id is unknown. The client sent the name of the topic, so it gets the
      // error for names.
      outcomes.set(name, answer.code === UNKNOWN_TOPIC_ID.code ? UNKNOWN_TOPIC_OR_PARTITION : answer)
    }
  }
  return Array.from(outcomes, ([name, result]) => ({ name, result }))
}

function placed(
  { cluster }: TopicRooms,
  { count, assignments }: NewPartitionsRequest,
  { partitions, placement }: Topic,
): Pick<Topic, 'placement'> {
  if (assignments === null) return { placement }
  const lists = Object.fromEntries(assignments.map((brokerIds, i) => [partitions + i, brokerIds]))
  return { placement: withAssigned(cluster, count, placement, lists) }
}

function check(
  { settings, cluster }: TopicRooms,
  { name, count, assignments, expected }: NewPartitionsRequest,
  topic: Topic,
): Refusal | null {
  const changed = checkExpected(topic, expected)
  if (changed !== null) return changed
  const { partitions, placement } = topic
  if (count === partitions) return because(INVALID_PARTITIONS, `Topic already has ${partitions} partition(s).`)
  if (count < partitions) {
    return because(
      INVALID_PARTITIONS,
      `The topic ${name} currently has ${partitions} partition(s); ${count} would not be an increase.`,
    )
  }
  const additional = count - partitions
  if (assignments !== null && assignments.length !== additional) {
    return because(
      INVALID_REPLICA_ASSIGNMENT,
      `Attempted to add ${additional} additional partition(s), but only ${assignments.length} assignment(s) were specified.`,
    )
  }
  for (const brokerIds of assignments ?? []) {
    const refusal = checkReplicas(cluster, brokerIds) ?? checkSize(brokerIds, factorOf(placement))
    if (refusal !== null) return refusal
  }
  return checkCount(name, count, settings)
}
