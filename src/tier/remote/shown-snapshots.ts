// Table metadata for clients that ask only for the snapshots of branches and tags (`snapshots=refs` of Iceberg's REST
// catalog). They ask for the others later, if they need them.

import { type JsonObject, parseJson, writeJson } from '../iceberg/lossless-json.ts'

/**
 * Returns the JSON of the metadata with only those snapshots that a ref or `current-snapshot-id` names. All other
 * members, and the digits of all integers, stay as they are. Throws SyntaxError for a text that is no JSON.
 */
export function snapshotsOfRefs(text: string): string {
  const metadata = parseJson(text) as JsonObject & {
    readonly snapshots?: readonly JsonObject[] | null
    readonly refs?: Readonly<Record<string, JsonObject>> | null
  }
  const kept = new Set([metadata['current-snapshot-id']])
  for (const ref of Object.values(metadata.refs ?? {})) kept.add(ref['snapshot-id'])
  const snapshots = (metadata.snapshots ?? []).filter(snapshot => kept.has(snapshot['snapshot-id']))
  return writeJson({ ...metadata, snapshots })
}
