// ElectLeaders 0-2: elects the leaders of partitions: the preferred replica, or any living one. The rules are in
// admin/elections.ts.
//
// Null partitions ask for all partitions. As in Kafka, the answer then leaves out the partitions that need no
// election.
//
// Versions: from 1 on, a request names the election type, and the answer has an error of the whole request (KIP-460).

import { type Election, electLeaders as elect } from '../../admin/elections.ts'
import { because, INVALID_REQUEST, NONE, type Refusal } from '../../protocol/errors.ts'
import { electLeaders } from '../../protocol/messages/elect-leaders.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

type Body = RequestOf<typeof electLeaders>
type Answer = ResponseInput<typeof electLeaders>

/** The elections, by Kafka's ElectionType. */
const ELECTIONS: readonly Election[] = Object.freeze(['preferred', 'unclean'])

export const electLeadersHandler = handler(electLeaders, rooms => ({
  needs: () => [onCluster('ALTER')],
  audit: ({ body }) => ({
    verb: 'elect leaders',
    what: body.topicPartitions?.map(({ topic }) => topic) ?? 'all topics',
  }),
  async answer({ body }) {
    const election = ELECTIONS[body.electionType]
    if (election === undefined) {
      return refuse(body, because(INVALID_REQUEST, `Unknown election type ${body.electionType}`))
    }
    const topics = await elect(rooms, body.topicPartitions, election)
    return {
      errorCode: NONE,
      replicaElectionResults: topics.map(({ topic, partitions }) => ({
        topic,
        partitionResult: partitions.map(({ partition, outcome }) => rowOf(partition, outcome)),
      })),
    }
  },
  refused: ({ body }, refusal) => refuse(body, refusal),
}))

function rowOf(partitionId: number, { code, message }: Refusal) {
  return { partitionId, errorCode: code, errorMessage: message }
}

function refuse({ topicPartitions }: Body, refusal: Refusal): Answer {
  return {
    errorCode: refusal.code,
    replicaElectionResults: (topicPartitions ?? []).map(({ topic, partitions }) => ({
      topic,
      partitionResult: partitions.map(partition => rowOf(partition, refusal)),
    })),
  }
}
