// Answers a list of schemas. A long one is written schema by schema, because its JSON as a whole would hold the event
// loop for a quarter of a second.

import { type Clock, takingTurns } from '../../../base/clock.ts'
import { type Answer, reply } from '../../route.ts'
import { REGISTRY_TYPES, registryTypeFor } from '../schema-registry-media.ts'

/** The most characters of schemas that are written at once. */
const MOST_AT_ONCE = 256 * 1024
/** In ms: a long list holds the event loop for this long, and for one more schema. */
const TURN_MS = 5

/** `headers` are those of the request. */
export function listOf(
  schemas: readonly { readonly schema: string }[],
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  clock: Clock,
): Answer {
  const length = schemas.reduce((sum, { schema }) => sum + schema.length, 0)
  if (length <= MOST_AT_ONCE) return reply(200, schemas)
  const accept = headers.accept?.toString()
  return {
    kind: 'streaming',
    contentType: registryTypeFor(accept) ?? REGISTRY_TYPES[0],
    chunks: written(schemas, takingTurns(clock, TURN_MS)),
    isFile: true,
  }
}

async function* written(schemas: readonly object[], turn: () => Promise<void> | undefined): AsyncGenerator<string> {
  let before = '['
  for (const schema of schemas) {
    await turn()
    yield before + JSON.stringify(schema)
    before = ','
  }
  yield ']'
}
