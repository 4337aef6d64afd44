// Schemas as clients of the registry see them. Older clients refuse an answer with a member that they do not know, so
// the members of Confluent 8 are only for clients that ask for them.

import { isRefusal, type RegistryRefusal } from '../../../registry/refusals.ts'
import type { Registry } from '../../../registry/registry.ts'
import type { Schema, SchemaOfSubject } from '../../../registry/verbs/rooms.ts'
import { type Answer, reply } from '../../route.ts'

interface Form {
  readonly isWide: boolean
  /** Of the query. */
  readonly format?: string | undefined
}

/** Returns the answer with a body or a text, or the refusal. */
export function shown(body: object | string | RegistryRefusal): Answer | RegistryRefusal {
  return isRefusal(body) ? body : reply(200, body)
}

/** Resolves with the body for a schema, without its subject. */
export async function showSchema(registry: Registry, schema: Schema, { isWide, format }: Form) {
  const text = format ? await registry.formatted(schema, format) : schema.schema
  return isRefusal(text) ? text : schemaBodyOf(schema, text, isWide)
}

/** Resolves with the body for a version of a subject. */
export async function showVersion(registry: Registry, schema: SchemaOfSubject, { isWide, format }: Form) {
  const text = format ? await registry.formatted(schema, format) : schema.schema
  return isRefusal(text) ? text : versionBodyOf(schema, text, isWide)
}

/** Returns the body for a version of a subject, with its text as it is. */
export function showAsStored(schema: SchemaOfSubject, isWide: boolean) {
  return versionBodyOf(schema, schema.schema, isWide)
}

function versionBodyOf(schema: SchemaOfSubject, text: string, isWide: boolean) {
  const { subject, version, id, atMs, isDeleted } = schema
  return {
    subject,
    version,
    id,
    ...schemaBodyOf(schema, text, isWide),
    ...(isWide ? { ts: atMs, deleted: isDeleted } : {}),
  }
}

function schemaBodyOf({ guid, type, references, metadata, ruleSet }: Schema, text: string, isWide: boolean) {
  return {
    ...(isWide ? { guid } : {}),
    ...(isWide || type !== 'AVRO' ? { schemaType: type } : {}),
    ...(references.length > 0 ? { references } : {}),
    ...(metadata === null ? {} : { metadata }),
    ...(ruleSet === null ? {} : { ruleSet }),
    schema: text,
  }
}
