// Reads which parts of the records of a topic have schemas.

import type { SchemaPartRule } from '../../src/api/judged-topics.ts'
import { useRead } from '../api/queries.ts'
import { NO_SCHEMAS, type PartSchema, type SchemaParts } from './schema-parts.ts'

/**
 * Returns the parts with a schema; undefined until that is known. If the registry does not answer, no part has one.
 */
export function useSchemaParts(topic: string, isWanted = true): SchemaParts | undefined {
  const capabilities = useRead('show capabilities', {})
  const registry = capabilities.data?.capabilities.find(({ id }) => id === 'schema-registry')
  const isAsked = isWanted && registry?.state === 'on'
  const { data, isFirst, isOld } = useRead(
    'show judged topic',
    { params: { topic } },
    { everyMs: 0, isWanted: isAsked },
  )
  if (capabilities.isFirst) return undefined
  if (!isAsked) return NO_SCHEMAS
  if (isFirst || isOld) return undefined
  return data === undefined ? NO_SCHEMAS : { key: schemaOf(data.key), value: schemaOf(data.value) }
}

function schemaOf({ subject, live }: SchemaPartRule): PartSchema | null {
  return subject === null || live ? { subject } : null
}
