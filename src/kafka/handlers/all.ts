// Every handler. protocol/messages/all.ts lists the APIs that are advertised; each of them has one here.

import { alterConfigsHandler } from './alter-configs.ts'
import { apiVersionsHandler } from './api-versions.ts'
import { createTopicsHandler } from './create-topics.ts'
import { deleteTopicsHandler } from './delete-topics.ts'
import { describeConfigsHandler } from './describe-configs.ts'
import { fetchHandler } from './fetch.ts'
import { findCoordinatorHandler } from './find-coordinator.ts'
import type { Handler } from './handler.ts'
import { heartbeatHandler } from './heartbeat.ts'
import { incrementalAlterConfigsHandler } from './incremental-alter-configs.ts'
import { initProducerIdHandler } from './init-producer-id.ts'
import { joinGroupHandler } from './join-group.ts'
import { leaveGroupHandler } from './leave-group.ts'
import { listConfigResourcesHandler } from './list-config-resources.ts'
import { listOffsetsHandler } from './list-offsets.ts'
import { metadataHandler } from './metadata.ts'
import { offsetCommitHandler } from './offset-commit.ts'
import { offsetFetchHandler } from './offset-fetch.ts'
import { produceHandler } from './produce.ts'
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
  apiVersionsHandler,
  createTopicsHandler,
  deleteTopicsHandler,
  initProducerIdHandler,
  describeConfigsHandler,
  alterConfigsHandler,
  incrementalAlterConfigsHandler,
  listConfigResourcesHandler,
])
