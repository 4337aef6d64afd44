// Reads which parts of the records of a topic have schemas.

import { useEffect, useState } from 'react'
import type { SchemaPartRule } from '../../src/api/judged-topics.ts'
import { pause } from '../api/client.ts'
import type { Problem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { NO_SCHEMAS, type PartSchema, type SchemaParts } from './schema-parts.ts'

/** Records that are shown twice are better than records that wait for long, in ms. */
const MOST_WAIT_MS = 1_000

interface ReadSchemaParts {
  /** Undefined until the registry answered, for a moment at most. Without its answer no part has a schema. */
  readonly parts: SchemaParts | undefined
  /** Why the parts are not known; null also for a topic that does not exist, because its page says so. */
  readonly problem: Problem | null
  readonly retry: () => void
}

export function useSchemaParts(topic: string, isWanted = true): ReadSchemaParts {
  const capabilities = useRead('show capabilities', {})
  const registry = capabilities.data?.capabilities.find(({ id }) => id === 'schema-registry')
  const isAsked = isWanted && registry?.state === 'on'
  const read = useRead('show judged topic', { params: { topic } }, { everyMs: 0, isWanted: isAsked })
  const isLate = useIsLate(topic)
  const isWaiting = capabilities.isFirst || (isAsked && (read.isFirst || read.isOld))
  const data = isAsked && !isWaiting ? read.data : undefined
  const known = data === undefined ? NO_SCHEMAS : { key: schemaOf(data.key), value: schemaOf(data.value) }
  return {
    parts: isWaiting && !isLate ? undefined : known,
    problem: isAsked && read.data === undefined && read.problem?.status !== 404 ? read.problem : null,
    retry: read.retry,
  }
}

function schemaOf({ subject, live }: SchemaPartRule): PartSchema | null {
  return subject === null || live ? { subject } : null
}

/** Returns whether the topic has been shown for a moment. */
function useIsLate(topic: string): boolean {
  const [late, setLate] = useState<string | null>(null)
  useEffect(() => {
    const left = new AbortController()
    pause(MOST_WAIT_MS, left.signal).then(
      () => setLate(topic),
      () => {
        // Another topic is shown.
      },
    )
    return () => left.abort()
  }, [topic])
  return late === topic
}
