// The table of the agent tools, in the order in which clients see them.

import type { Tool } from '../tool.ts'
import { clusterTools } from './cluster.ts'
import { topicTools } from './topics.ts'

export const allTools: readonly Tool[] = [...clusterTools, ...topicTools]
