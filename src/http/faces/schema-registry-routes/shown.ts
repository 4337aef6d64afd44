// Schemas as clients of the registry see them. Older clients refuse an answer with a member that they do not know, so
// the members of Confluent 8 are only for clients that ask for them.

import type { Registry } from '../../../registry/registry.ts'
import type { Schema, SchemaOfSubject } from '../../../registry/verbs/rooms.ts'

interface Form {
  readonly isWide: boolean
  /** Of the query. */
  readonly format?: string | undefined
}

/** Resolves with the body for a schema, without its subject. */
export async function showSchema(registry: Registry, schema: Schema, { isWide, format }: Form) {
  const { guid, type, references, metadata, ruleSet } = schema
  return {
    ...(isWide ? { guid } : {}),
    ...(isWide || type !== 'AVRO' ? { schemaType: type } : {}),
    ...(references.length > 0 ? { references } : {}),
    ...(metadata === null ? {} : { metadata }),
    ...(ruleSet === null ? {} : { ruleSet }),
    schema: format ? await registry.formatted(schema, format) : schema.schema,
  }
}

/** Resolves with the body for a version of a subject. */
export async function showVersion(registry: Registry, schema: SchemaOfSubject, form: Form) {
  const { subject, version, id, atMs, isDeleted } = schema
  return {
    subject,
    version,
    id,
    ...(await showSchema(registry, schema, form)),
    ...(form.isWide ? { ts: atMs, deleted: isDeleted } : {}),
  }
}
