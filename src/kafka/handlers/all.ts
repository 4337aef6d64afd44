// Lists every handler: one for each API in protocol/messages/all.ts.

import type { Handler } from '../handler.ts'
import { alterClientQuotasHandler } from './alter-client-quotas.ts'
import { alterConfigsHandler } from './alter-configs.ts'
import { alterPartitionReassignmentsHandler } from './alter-partition-reassignments.ts'
import { alterReplicaLogDirsHandler } from './alter-replica-log-dirs.ts'
import { alterUserScramCredentialsHandler } from './alter-user-scram-credentials.ts'
import { apiVersionsHandler } from './api-versions.ts'
import { createAclsHandler } from './create-acls.ts'
import { createPartitionsHandler } from './create-partitions.ts'
import { createTopicsHandler } from './create-topics.ts'
import { deleteAclsHandler } from './delete-acls.ts'
import { deleteGroupsHandler } from './delete-groups.ts'
import { deleteRecordsHandler } from './delete-records.ts'
import { deleteTopicsHandler } from './delete-topics.ts'
import { describeAclsHandler } from './describe-acls.ts'
import { describeBrokerMetricsHandler } from './describe-broker-metrics.ts'
import { describeClientQuotasHandler } from './describe-client-quotas.ts'
import { describeClusterHandler } from './describe-cluster.ts'
import { describeConfigsHandler } from './describe-configs.ts'
import { describeDeliveriesHandler } from './describe-deliveries.ts'
import { describeGroupsHandler } from './describe-groups.ts'
import { describeLogDirsHandler } from './describe-log-dirs.ts'
import { describeProducersHandler } from './describe-producers.ts'
import { describeQuorumHandler } from './describe-quorum.ts'
import { describeSegmentsHandler } from './describe-segments.ts'
import { describeStorageWorkerHandler } from './describe-storage-worker.ts'
import { describeTopicMetricsHandler } from './describe-topic-metrics.ts'
import { describeTopicPartitionsHandler } from './describe-topic-partitions.ts'
import { describeUserScramCredentialsHandler } from './describe-user-scram-credentials.ts'
import { electLeadersHandler } from './elect-leaders.ts'
import { fetchHandler } from './fetch.ts'
import { findCoordinatorHandler } from './find-coordinator.ts'
import { heartbeatHandler } from './heartbeat.ts'
import { incrementalAlterConfigsHandler } from './incremental-alter-configs.ts'
import { initProducerIdHandler } from './init-producer-id.ts'
import { joinGroupHandler } from './join-group.ts'
import { leaveGroupHandler } from './leave-group.ts'
import { listConfigResourcesHandler } from './list-config-resources.ts'
import { listGroupsHandler } from './list-groups.ts'
import { listOffsetsHandler } from './list-offsets.ts'
import { listPartitionReassignmentsHandler } from './list-partition-reassignments.ts'
import { metadataHandler } from './metadata.ts'
import { offsetCommitHandler } from './offset-commit.ts'
import { offsetDeleteHandler } from './offset-delete.ts'
import { offsetFetchHandler } from './offset-fetch.ts'
import { offsetForLeaderEpochHandler } from './offset-for-leader-epoch.ts'
import { produceHandler } from './produce.ts'
import { runStorageRoundHandler } from './run-storage-round.ts'
import { saslAuthenticateHandler } from './sasl-authenticate.ts'
import { saslHandshakeHandler } from './sasl-handshake.ts'
import { syncGroupHandler } from './sync-group.ts'

export const handlers: readonly Handler[] = Object.freeze([
  produceHandler,
  fetchHandler,
  listOffsetsHandler,
  metadataHandler,
  offsetCommitHandler,
  offsetFetchHandler,
  findCoordinatorHandler,
  joinGroupHandler,
  heartbeatHandler,
  leaveGroupHandler,
  syncGroupHandler,
  describeGroupsHandler,
  listGroupsHandler,
  saslHandshakeHandler,
  apiVersionsHandler,
  createTopicsHandler,
  deleteTopicsHandler,
  deleteRecordsHandler,
  initProducerIdHandler,
  offsetForLeaderEpochHandler,
  describeAclsHandler,
  createAclsHandler,
  deleteAclsHandler,
  describeConfigsHandler,
  alterConfigsHandler,
  alterReplicaLogDirsHandler,
  describeLogDirsHandler,
  saslAuthenticateHandler,
  createPartitionsHandler,
  deleteGroupsHandler,
  electLeadersHandler,
  incrementalAlterConfigsHandler,
  alterPartitionReassignmentsHandler,
  listPartitionReassignmentsHandler,
  offsetDeleteHandler,
  describeClientQuotasHandler,
  alterClientQuotasHandler,
  describeUserScramCredentialsHandler,
  alterUserScramCredentialsHandler,
  describeQuorumHandler,
  describeClusterHandler,
  describeProducersHandler,
  listConfigResourcesHandler,
  describeTopicPartitionsHandler,
  describeDeliveriesHandler,
  describeBrokerMetricsHandler,
  describeTopicMetricsHandler,
  runStorageRoundHandler,
  describeStorageWorkerHandler,
  describeSegmentsHandler,
])
