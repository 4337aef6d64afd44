// The routes of the schema registry: Confluent's REST API without contexts, tags, exporters and encryption keys. The
// paths are below the base of the face.

import type { AnyRoute } from '../../route.ts'
import { compatibilityRoutes } from './compatibility.ts'
import { configRoutes } from './config.ts'
import { metadataRoutes } from './metadata.ts'
import { modeRoutes } from './mode.ts'
import { schemaRoutes } from './schemas.ts'
import { subjectRoutes } from './subjects.ts'
import { versionRoutes } from './versions.ts'

export const registryRoutes: readonly AnyRoute[] = [
  ...metadataRoutes,
  ...schemaRoutes,
  ...subjectRoutes,
  ...versionRoutes,
  ...compatibilityRoutes,
  ...configRoutes,
  ...modeRoutes,
]
