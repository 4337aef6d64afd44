// Table metadata as Iceberg's REST catalog shows it. A client may ask for only the snapshots of branches and tags
// (`snapshots=refs`), and asks for the others later if it needs them. All other members, and the digits of all
// integers, stay as they are.

import { type JsonObject, parseJson, writeJson } from '../iceberg/lossless-json.ts'

export type ShownSnapshots = 'all' | 'refs'

/** Metadata files may say so. In a catalog's answer it must be an integer, and DuckDB insists on that. */
const WITHOUT_CURRENT = /"current-snapshot-id"\s*:\s*null/

/**
 * Returns the JSON of table metadata for a client. `refs`: with only those snapshots that a ref or
 * `current-snapshot-id` names. Throws SyntaxError for a text that is no JSON.
 */
export function shownMetadata(text: string, snapshots: ShownSnapshots): string {
  if (snapshots === 'all' && !WITHOUT_CURRENT.test(text)) return text
  const metadata = parseJson(text) as JsonObject & {
    readonly snapshots?: readonly JsonObject[] | null
    readonly refs?: Readonly<Record<string, JsonObject>> | null
  }
  const current = metadata['current-snapshot-id'] ?? NO_SNAPSHOT
  const shown = { ...metadata, 'current-snapshot-id': current }
  if (snapshots === 'all') return writeJson(shown)
  const kept = new Set([current, ...Object.values(metadata.refs ?? {}).map(ref => ref['snapshot-id'])])
  const ofRefs = (metadata.snapshots ?? []).filter(snapshot => kept.has(snapshot['snapshot-id']))
  return writeJson({ ...shown, snapshots: ofRefs })
}

/** All readers take it for a table without a snapshot. */
const NO_SNAPSHOT = -1
