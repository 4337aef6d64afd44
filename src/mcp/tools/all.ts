// The table of the agent tools, in the order in which clients see them.

import type { Tool } from '../tool.ts'
import { clusterTools } from './cluster.ts'
import { groupChangeTools } from './group-changes.ts'
import { groupTools } from './groups.ts'
import { messageTools } from './messages.ts'
import { metricsTools } from './metrics.ts'
import { offloadChangeTools } from './offload-changes.ts'
import { schemaChangeTools } from './schema-changes.ts'
import { schemaTools } from './schemas.ts'
import { settingsTools } from './settings.ts'
import { storageTools } from './storage.ts'
import { topicChangeTools } from './topic-changes.ts'
import { topicTools } from './topics.ts'

export const allTools: readonly Tool[] = [
  ...clusterTools,
  ...topicTools,
  ...messageTools,
  ...groupTools,
  ...metricsTools,
  ...storageTools,
  ...schemaTools,
  ...settingsTools,
  ...topicChangeTools,
  ...groupChangeTools,
  ...schemaChangeTools,
  ...offloadChangeTools,
]
