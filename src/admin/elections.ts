// Answers requests to elect leaders of partitions. No request changes a leader, because the living brokers choose the
// leaders at once themselves (cluster/). The answers are those of Apache Kafka's ReplicationControlManager.

import { cut } from '../base/cut.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Catalogue, type CatalogueKeeper, unreadableTopic } from '../log/catalogue.ts'
import {
  because,
  ELECTION_NOT_NEEDED,
  ELIGIBLE_LEADERS_NOT_AVAILABLE,
  PREFERRED_LEADER_NOT_AVAILABLE,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { PartitionsOfTopic } from './contract.ts'

/**
 * `preferred` asks for the first replica of a partition, `unclean` for any living replica, even if it lacks records.
 */
export type Election = 'preferred' | 'unclean'

export interface ElectionRooms {
  readonly catalogue: CatalogueKeeper
  readonly cluster: Pick<Cluster, 'leaderOf'>
}

export interface TopicElections {
  readonly topic: string
  readonly partitions: readonly { readonly partition: number; readonly outcome: Refusal }[]
}

/**
 * Resolves to one outcome for each partition, in order; ELECTION_NOT_NEEDED if a broker leads it. If `wanted` is
 * null, resolves to the outcomes of all partitions that have no leader. Throws what the store throws.
 */
export async function electLeaders(
  { catalogue, cluster }: ElectionRooms,
  wanted: readonly PartitionsOfTopic[] | null,
  election: Election,
): Promise<readonly TopicElections[]> {
  if (catalogue.isShared) await catalogue.catchUp()
  const current = catalogue.current()
  return (wanted ?? allOf(current)).map(({ topic, partitions }) => {
    const outcomes = partitions.map(partition => ({ partition, outcome: elect(topic, partition) }))
    return { topic, partitions: wanted === null ? outcomes.filter(isNeeded) : outcomes }
  })

  function elect(name: string, partition: number): Refusal {
    const topic = current.topics.get(name)
    if (topic === undefined) {
      if (current.unreadable.has(name)) return unreadableTopic(name)
      return because(UNKNOWN_TOPIC_OR_PARTITION, `No such topic as ${cut(name)}`)
    }
    if (partition < 0 || partition >= topic.partitions) {
      return because(UNKNOWN_TOPIC_OR_PARTITION, `No such partition as ${name}-${partition}`)
    }
    if (cluster.leaderOf(topic.id, partition) >= 0) return ELECTION_NOT_NEEDED
    return election === 'preferred' ? PREFERRED_LEADER_NOT_AVAILABLE : ELIGIBLE_LEADERS_NOT_AVAILABLE
  }
}

function allOf({ topics }: Catalogue): readonly PartitionsOfTopic[] {
  return Array.from(topics.values(), ({ name, partitions }) => ({
    topic: name,
    partitions: Array.from({ length: partitions }, (_, partition) => partition),
  }))
}

function isNeeded({ outcome }: { readonly outcome: Refusal }): boolean {
  return outcome !== ELECTION_NOT_NEEDED
}
