// Every route of the admin API, of the actuator and of the console. Other paths are answered 404.

import type { AnyRoute } from '../route.ts'
import { aclRoutes } from './acls.ts'
import { actuatorRoutes } from './actuator.ts'
import { agentToolRoutes } from './agent-tools.ts'
import { authRoutes } from './auth.ts'
import { brokerRoutes } from './brokers.ts'
import { capabilityRoutes } from './capabilities.ts'
import { consoleRoutes, homeRoutes } from './console.ts'
import { credentialRoutes } from './credentials.ts'
import { groupRoutes } from './groups.ts'
import { healthRoutes } from './health.ts'
import { loggerRoutes } from './loggers.ts'
import { messageRoutes } from './messages.ts'
import { metricsRoutes } from './metrics.ts'
import { offloadJobRoutes } from './offload-jobs.ts'
import { oidcRoutes } from './oidc.ts'
import { producerRoutes } from './producers.ts'
import { referenceRoutes } from './reference.ts'
import { remoteStorageRoutes } from './remote-storage.ts'
import { schemaRoutes } from './schemas.ts'
import { schemaChangeRoutes } from './schemas-changes.ts'
import { schemaSettingRoutes } from './schemas-settings.ts'
import { schemaTopicRoutes } from './schemas-topics.ts'
import { settingRoutes } from './settings.ts'
import { storageRoutes } from './storage.ts'
import { topicRoutes } from './topics.ts'
import { userRoutes } from './users.ts'

const operations: readonly AnyRoute[] = [
  ...aclRoutes,
  ...actuatorRoutes,
  ...agentToolRoutes,
  ...authRoutes,
  ...brokerRoutes,
  ...capabilityRoutes,
  ...credentialRoutes,
  ...groupRoutes,
  ...healthRoutes,
  ...homeRoutes,
  ...loggerRoutes,
  ...messageRoutes,
  ...metricsRoutes,
  ...offloadJobRoutes,
  ...oidcRoutes,
  ...producerRoutes,
  ...remoteStorageRoutes,
  ...schemaChangeRoutes,
  ...schemaRoutes,
  ...schemaSettingRoutes,
  ...schemaTopicRoutes,
  ...settingRoutes,
  ...storageRoutes,
  ...topicRoutes,
  ...userRoutes,
]

export const allRoutes: readonly AnyRoute[] = [...operations, ...referenceRoutes(operations), ...consoleRoutes]
