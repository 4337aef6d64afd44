// The shapes of the routes of the schema registry that several of them share.

import { z } from 'zod'
import { flag, numberParameter } from '../schema-registry-route.ts'

const object = z.record(z.string(), z.unknown())
const reference = z.object({ name: z.string(), subject: z.string(), version: z.int() })

export const subjectParams = z.object({ subject: z.string() })
export const versionParams = z.object({
  subject: z.string(),
  version: z.string().meta({ examples: ['latest'] }),
})

/** The first value counts if a parameter comes several times. */
export const text = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform(sent => (sent === undefined ? undefined : [sent].flat()[0]))

export const pageQuery = { offset: numberParameter(0), limit: numberParameter(-1) }
export const deletedQuery = { deleted: flag }

/** Versions and ids are often numbers of a language that has no null: 0 and -1 stand for none. */
const count = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1)
  .nullish()

/** A schema in a body. A schema may be empty if metadata or rules are sent (Confluent). */
export const schemaBody = z.object({
  schema: z
    .string()
    .nullish()
    .meta({ examples: ['"string"'] }),
  schemaType: z
    .string()
    .nullish()
    .meta({ examples: ['AVRO'] }),
  references: z
    .array(reference)
    .nullish()
    .meta({ examples: [[]] }),
  metadata: object.nullish().meta({ examples: [null] }),
  ruleSet: object.nullish().meta({ examples: [null] }),
})

export const registerBody = schemaBody.extend({
  id: count.meta({ examples: [-1] }),
  version: count.meta({ examples: [0] }),
})

export const shownSchema = z.object({
  subject: z.string().optional(),
  version: z.int().optional(),
  id: z.int().optional(),
  guid: z.string().optional(),
  schemaType: z.string().optional(),
  references: z.array(reference).optional(),
  metadata: object.optional(),
  ruleSet: object.optional(),
  schema: z.string().optional(),
  ts: z.int().optional(),
  deleted: z.boolean().optional(),
  maxId: z.int().optional(),
  subjects: z.array(z.string()).optional(),
})

export const names = z.array(z.string())
export const numbers = z.array(z.int())

/** A bare text has the type of the registry's JSON, as in Confluent's server. */
export const bareText = z.string()
