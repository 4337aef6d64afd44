// A schema as it is stored, and the identity that decides whether two schemas are the same, as in Confluent's
// registry: type, text, references, metadata and rules. It knows no subjects' versions and no store.

import { createHash } from 'node:crypto'
import type { SchemaType } from '../format.ts'

export interface Reference {
  /** As the text calls it: the full name of an Avro type, the URI of a `$ref`, the path of an import. */
  readonly name: string
  readonly subject: string
  /** In requests -1 stands for the latest version. */
  readonly version: number
}

/** A reference that was resolved: it goes on naming the same schema if the subject is deleted for good. */
export interface StoredReference extends Reference {
  readonly guid: string
}

/** An object as clients send it: metadata, a set of rules, a configuration. */
export type JsonObject = Readonly<Record<string, unknown>>

export interface Content {
  readonly type: SchemaType
  /** The canonical text, which goes back to clients. */
  readonly schema: string
  readonly references: readonly StoredReference[]
  readonly metadata: JsonObject | null
  readonly ruleSet: JsonObject | null
}

export interface StoredContent extends Content {
  /** The identity, in the form of a UUID. It names the document. */
  readonly guid: string
  /** The first id of the schema. An import may have given it more. */
  readonly id: number
}

/**
 * Returns the identity of a schema: the first 128 bits of a SHA-256 in the form of a UUID. The order of members of
 * metadata and rules does not count. A reference counts with the schema that it names.
 */
export function guidOf({ type, schema, references, metadata, ruleSet }: Content): string {
  const named = references.map(({ name, subject, version, guid }) => [name, subject, version, guid])
  const text = JSON.stringify([type, schema, named, sorted(metadata), sorted(ruleSet)])
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/** Returns the value with the members of its objects in the order of their names. The depth of the value is bounded. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, each]) => [name, sorted(each)]))
}

/** Returns about how many bytes of memory the schema takes. */
export function contentBytes({ schema, references, metadata, ruleSet }: Content): number {
  const named = references.reduce((sum, { name, subject }) => sum + 200 + 2 * (name.length + subject.length), 0)
  const rest = metadata === null && ruleSet === null ? 0 : 4 * JSON.stringify([metadata, ruleSet]).length
  return 300 + 2 * schema.length + named + rest
}
