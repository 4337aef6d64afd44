// Every API that the broker knows, in the order of Kafka's keys. ApiVersions, the dispatcher and docs/reference/apis.md
// follow from this list.

import type { Api } from '../schema.ts'
import { alterConfigs } from './alter-configs.ts'
import { apiVersions } from './api-versions.ts'
import { createTopics } from './create-topics.ts'
import { deleteTopics } from './delete-topics.ts'
import { describeConfigs } from './describe-configs.ts'
import { fetch } from './fetch.ts'
import { findCoordinator } from './find-coordinator.ts'
import { heartbeat } from './heartbeat.ts'
import { incrementalAlterConfigs } from './incremental-alter-configs.ts'
import { initProducerId } from './init-producer-id.ts'
import { joinGroup } from './join-group.ts'
import { leaveGroup } from './leave-group.ts'
import { listConfigResources } from './list-config-resources.ts'
import { listOffsets } from './list-offsets.ts'
import { metadata } from './metadata.ts'
import { offsetCommit } from './offset-commit.ts'
import { offsetFetch } from './offset-fetch.ts'
import { produce } from './produce.ts'
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
  apiVersions,
  createTopics,
  deleteTopics,
  initProducerId,
  describeConfigs,
  alterConfigs,
  incrementalAlterConfigs,
  listConfigResources,
])
