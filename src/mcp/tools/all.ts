// The table of the agent tools, in the order in which clients see them.

import type { Tool } from '../tool.ts'
import { clusterTools } from './cluster.ts'
import { groupTools } from './groups.ts'
import { messageTools } from './messages.ts'
import { metricsTools } from './metrics.ts'
import { schemaTools } from './schemas.ts'
import { settingsTools } from './settings.ts'
import { storageTools } from './storage.ts'
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
]
