// Every API of Kafka that the broker knows, in the order of Kafka's keys. ApiVersions, the dispatcher and
// docs/reference/apis.md are derived from this list. `betweenBrokers` has our own APIs, which only brokers request
// from each other and which ApiVersions does not name.

import type { Api } from '../schema.ts'
import { alterClientQuotas } from './alter-client-quotas.ts'
import { alterConfigs } from './alter-configs.ts'
import { alterPartitionReassignments } from './alter-partition-reassignments.ts'
import { alterReplicaLogDirs } from './alter-replica-log-dirs.ts'
import { alterUserScramCredentials } from './alter-user-scram-credentials.ts'
import { apiVersions } from './api-versions.ts'
import { createAcls } from './create-acls.ts'
import { createPartitions } from './create-partitions.ts'
import { createTopics } from './create-topics.ts'
import { deleteAcls } from './delete-acls.ts'
import { deleteGroups } from './delete-groups.ts'
import { deleteRecords } from './delete-records.ts'
import { deleteTopics } from './delete-topics.ts'
import { describeAcls } from './describe-acls.ts'
import { describeBrokerMetrics } from './describe-broker-metrics.ts'
import { describeClientQuotas } from './describe-client-quotas.ts'
import { describeCluster } from './describe-cluster.ts'
import { describeConfigs } from './describe-configs.ts'
import { describeDeliveries } from './describe-deliveries.ts'
import { describeGroups } from './describe-groups.ts'
import { describeLogDirs } from './describe-log-dirs.ts'
import { describeProducers } from './describe-producers.ts'
import { describeQuorum } from './describe-quorum.ts'
import { describeSegments } from './describe-segments.ts'
import { describeStorageWorker } from './describe-storage-worker.ts'
import { describeTopicMetrics } from './describe-topic-metrics.ts'
import { describeTopicPartitions } from './describe-topic-partitions.ts'
import { describeUserScramCredentials } from './describe-user-scram-credentials.ts'
import { electLeaders } from './elect-leaders.ts'
import { fetch } from './fetch.ts'
import { findCoordinator } from './find-coordinator.ts'
import { heartbeat } from './heartbeat.ts'
import { incrementalAlterConfigs } from './incremental-alter-configs.ts'
import { initProducerId } from './init-producer-id.ts'
import { joinGroup } from './join-group.ts'
import { leaveGroup } from './leave-group.ts'
import { listConfigResources } from './list-config-resources.ts'
import { listGroups } from './list-groups.ts'
import { listOffsets } from './list-offsets.ts'
import { listPartitionReassignments } from './list-partition-reassignments.ts'
import { metadata } from './metadata.ts'
import { offsetCommit } from './offset-commit.ts'
import { offsetDelete } from './offset-delete.ts'
import { offsetFetch } from './offset-fetch.ts'
import { offsetForLeaderEpoch } from './offset-for-leader-epoch.ts'
import { produce } from './produce.ts'
import { runStorageRound } from './run-storage-round.ts'
import { saslAuthenticate } from './sasl-authenticate.ts'
import { saslHandshake } from './sasl-handshake.ts'
import { syncGroup } from './sync-group.ts'

export const messages: readonly Api[] = Object.freeze([
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  saslHandshake,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  describeAcls,
  createAcls,
  deleteAcls,
  describeConfigs,
  alterConfigs,
  alterReplicaLogDirs,
  describeLogDirs,
  saslAuthenticate,
  createPartitions,
  deleteGroups,
  electLeaders,
  incrementalAlterConfigs,
  alterPartitionReassignments,
  listPartitionReassignments,
  offsetDelete,
  describeClientQuotas,
  alterClientQuotas,
  describeUserScramCredentials,
  alterUserScramCredentials,
  describeQuorum,
  describeCluster,
  describeProducers,
  listConfigResources,
  describeTopicPartitions,
])

export const betweenBrokers: readonly Api[] = Object.freeze([
  describeDeliveries,
  describeBrokerMetrics,
  describeTopicMetrics,
  runStorageRound,
  describeStorageWorker,
  describeSegments,
])
