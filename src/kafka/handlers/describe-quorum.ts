// DescribeQuorum 0-2 (KIP-595): returns the nodes that keep the metadata of the cluster, in the form of Kafka's
// quorum of controllers. In this cluster the store keeps the metadata, and every living broker reads and writes it.
// So each broker is a voter that has all of it.
//
//   leader           the broker that clients get as the controller
//   leader epoch     1, because there are no elections
//   offsets          the version of the topic catalogue that this broker has read
//   times            the time of the answer, because every voter is a living broker
//   directory        the zero id, because no voter has a directory of its own
//
// Versions: 1 has the times (KIP-836). 2 has error messages, directories and the voters' endpoints (KIP-853).

import { NONE, type Refusal, UNKNOWN_TOPIC_OR_PARTITION } from '../../protocol/errors.ts'
import { describeQuorum } from '../../protocol/messages/describe-quorum.ts'
import { type RequestOf, type ResponseInput, ZERO_UUID } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'
import { controllerOf, nodesOf } from '../nodes.ts'

type Body = RequestOf<typeof describeQuorum>
type Answer = ResponseInput<typeof describeQuorum>

const TOPIC = '__cluster_metadata'
const PARTITION = 0

const LEADER_EPOCH = 1

export const describeQuorumHandler = handler(describeQuorum, rooms => ({
  needs: () => [onCluster('DESCRIBE')],
  answer({ body, connection }) {
    if (!isOfMetadata(body)) return answerNothing(body)
    const { cluster, catalogue, clock } = rooms
    const leaderId = controllerOf(cluster)
    const { version } = catalogue.current()
    const now = clock.now()
    const currentVoters = cluster.brokers().map(({ id }) => ({
      replicaId: id,
      replicaDirectoryId: ZERO_UUID,
      logEndOffset: version,
      lastFetchTimestamp: now,
      lastCaughtUpTimestamp: now,
    }))
    const { listener } = connection
    const partition = {
      partitionIndex: PARTITION,
      errorCode: NONE,
      leaderId,
      leaderEpoch: LEADER_EPOCH,
      highWatermark: version,
      currentVoters,
      observers: [],
    }
    return {
      errorCode: NONE,
      topics: [{ topicName: TOPIC, partitions: [partition] }],
      nodes: nodesOf(cluster, listener).map(({ id, host, port }) => ({
        nodeId: id,
        listeners: [{ name: listener.name, host, port }],
      })),
    }
  },
  refused: (_request, { code, message }) => ({ errorCode: code, errorMessage: message, topics: [] }),
}))

/** Returns true if the request names only the one partition of the metadata. Only then Kafka returns the quorum. */
function isOfMetadata({ topics: [topic, ...others] }: Body): boolean {
  if (topic === undefined || others.length > 0 || topic.topicName !== TOPIC) return false
  const { partitions } = topic
  return partitions.length === 1 && partitions[0]!.partitionIndex === PARTITION
}

function answerNothing({ topics }: Body): Answer {
  return {
    errorCode: NONE,
    topics: topics.map(({ topicName, partitions }) => ({
      topicName,
      partitions: partitions.map(({ partitionIndex }) => unknown(partitionIndex, UNKNOWN_TOPIC_OR_PARTITION)),
    })),
  }
}

function unknown(partitionIndex: number, { code, message }: Refusal) {
  return {
    partitionIndex,
    errorCode: code,
    errorMessage: message,
    leaderId: 0,
    leaderEpoch: 0,
    highWatermark: 0,
    currentVoters: [],
    observers: [],
  }
}
