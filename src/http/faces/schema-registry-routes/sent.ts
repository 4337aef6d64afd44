// Reads a schema that a client sends to the registry, and the rights that its references need.

import type { z } from 'zod'
import type { SchemaRequest } from '../../../registry/verbs/rooms.ts'
import type { Problem } from '../../problems.ts'
import type { RegistryCaller } from '../schema-registry-access.ts'
import { registryProblem } from '../schema-registry-errors.ts'
import type { schemaBody } from './shapes.ts'

/**
 * Returns the schema, or why it is refused: it is missing, or the caller may not read a subject that it refers to. Only
 * a registration may send an empty text.
 */
export function schemaIn(
  body: z.output<typeof schemaBody>,
  { rights }: RegistryCaller,
  { mayBeEmpty = false } = {},
): SchemaRequest | Problem {
  const { schema, schemaType, references, metadata, ruleSet } = body
  if (schema == null && metadata == null && ruleSet == null)
    return registryProblem('INVALID_BODY', 'schema: is missing; takes a text')
  if (!mayBeEmpty && !schema) return registryProblem('INVALID_SCHEMA', 'Empty schema')
  for (const { subject } of references ?? []) {
    const refused = rights.refusalOf('read', subject)
    if (refused !== null) return refused
  }
  return { type: schemaType ?? undefined, schema: schema ?? '', references: references ?? [], metadata, ruleSet }
}
