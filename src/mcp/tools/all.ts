// The table of the agent tools, in the order in which clients see them.

import type { Tool } from '../tool.ts'
import { clusterTools } from './cluster.ts'
import { groupChangeTools } from './group-changes.ts'
import { offloadChangeTools } from './offload-changes.ts'
import { schemaChangeTools } from './schema-changes.ts'
import { topicChangeTools } from './topic-changes.ts'
import { topicTools } from './topics.ts'

export const allTools: readonly Tool[] = [
  ...clusterTools,
  ...topicTools,
  ...topicChangeTools,
  ...groupChangeTools,
  ...schemaChangeTools,
  ...offloadChangeTools,
]
