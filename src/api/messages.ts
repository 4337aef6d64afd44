// The API schemas of a topic's records. The API calls records messages.

import { z } from 'zod'
import { troubleShape } from './problem.ts'
import { integer, SOUGHT_TIME } from './query.ts'
import { DECODINGS, EDGES, FILE_FORMATS, READING_ORDERS, SCHEMA_TYPES } from './words.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1_000
const MOST_EXPORTED = 10_000_000
const MOST_PRODUCED = 1_000
const PREVIEW_BYTES = 2_048
const MAX_PREVIEW_BYTES = 65_536
/** The largest partition number in Kafka. */
const MAX_INT32 = 2 ** 31 - 1

const schemaOfValueShape = z
  .object({
    id: z
      .int()
      .optional()
      .meta({ description: 'Left out if the value names its schema by a GUID that no schema has.' }),
    guid: z.string().optional().meta({ description: 'The GUID that no schema has.' }),
    subject: z.string().nullable().optional().meta({
      description:
        'The subject with the schema; if there are several, that of the topic. Null if no subject has it any more.',
    }),
    version: z.int().nullable().optional(),
    type: z.enum(SCHEMA_TYPES).optional(),
    message: z.string().optional().meta({ description: 'The full name of the Protobuf message.' }),
  })
  .meta({ id: 'SchemaOfValue' })

const shownValueShape = z
  .object({
    status: z.enum(['decoded', 'raw', 'schema-not-found', 'decode-error']),
    text: z.string().optional().meta({
      description:
        'If the status is decoded: the text as it was produced, or the JSON that the schema makes of the bytes. 64-bit integers have all their digits.',
    }),
    base64: z.string().optional().meta({ description: 'The bytes, if the status is not decoded.' }),
    bytes: z.int().meta({ description: 'The length of the whole value.' }),
    truncated: z.boolean().meta({ description: 'True if this is only the beginning of the value.' }),
    schema: schemaOfValueShape.optional().meta({
      description: 'The schema that the value names, as far as it is known. Only with the decoding registry.',
    }),
    reason: z.string().optional().meta({ description: 'The reason why it was not decoded.' }),
  })
  .meta({ id: 'ShownValue' })

export type ShownValue = z.infer<typeof shownValueShape>

export const messageShape = z
  .object({
    partition: z.int(),
    offset: z.int(),
    timestamp: z.number().nullable().meta({
      description:
        'Milliseconds since 1970; negative before 1970. Beyond 2^53 it is the nearest number. Null if the record has no timestamp.',
    }),
    timestampType: z.enum(['CreateTime', 'LogAppendTime']),
    key: shownValueShape.nullable(),
    value: shownValueShape.nullable().meta({ description: 'Null is a tombstone.' }),
    headers: z.array(z.object({ key: z.string(), value: shownValueShape.nullable() })),
    headerCount: z.int().meta({ description: 'How many headers the record has; a list shows the first 32.' }),
    undecodedHeaders: shownValueShape.optional().meta({
      description:
        'The bytes of the headers that the broker did not decode, with the reason. It decodes at most 1,000 headers of a record. Left out if there are no such headers.',
    }),
  })
  .meta({ id: 'Message' })

export type ShownRecord = z.infer<typeof messageShape>

const endShape = z.object({
  partition: z.int(),
  start: z.int().meta({ description: 'The first offset that may be read.' }),
  end: z.int().meta({ description: 'The offset after the last record.' }),
})

/** A partition that could not be read, and the reason. */
const unavailableShape = z.object({ partition: z.int(), ...troubleShape.shape })

export const messagePageShape = z
  .object({
    messages: z.array(messageShape),
    nextCursor: z.string().nullable().meta({
      description:
        'The cursor of the next page; null after the last page, and when only `unavailable` partitions are left.',
    }),
    tailCursor: z.string().meta({
      description: 'The cursor for a live tail after this page. The tail misses no record after these `ends`.',
    }),
    ends: z.array(endShape),
    scanned: z.int().meta({ description: 'The number of records that the broker looked at for this page.' }),
    bytes: z.int().meta({ description: 'The bytes of batches that the broker read for this page.' }),
    isPartial: z.boolean().meta({
      description:
        'True if the broker ended the page before it was full, because it had read enough. The next page continues there.',
    }),
    unavailable: z.array(unavailableShape).meta({
      description: 'Partitions that could not be read. The next page tries them again from the same position.',
    }),
  })
  .meta({ id: 'MessagePage' })

export type MessagePage = z.infer<typeof messagePageShape>

const contentShape = z
  .union(
    [
      z.strictObject({ text: z.string() }),
      z.strictObject({ base64: z.base64('takes base64 with its padding, as in RFC 4648, section 4') }),
    ],
    'takes {"text": …} or {"base64": …}',
  )
  .meta({ id: 'Content', description: 'Bytes, as text or as base64.' })

export type Content = z.infer<typeof contentShape>

const message = z.string().optional().meta({
  description: 'The full name of the Protobuf message; by default the first one of the schema.',
})

const schemaNameShape = z
  .union(
    [
      z.strictObject({
        subject: z.string(),
        version: z.int().min(1).max(MAX_INT32).optional().meta({ description: 'The latest one by default.' }),
        message,
      }),
      z.strictObject({ id: z.int().min(1).max(MAX_INT32), message }),
      z.strictObject({
        name: z.string().min(1).meta({
          description:
            'As people type it: 7 is an id, orders-value:3 and 7:latest are versions of a subject, and any other text is a subject.',
        }),
        message,
      }),
    ],
    'takes {"subject": …} with an optional version, {"id": …} or {"name": …}, and for Protobuf a message',
  )
  .meta({ id: 'SchemaName', description: 'A schema of the registry: a version of a subject, or an id.' })

export type SchemaName = z.infer<typeof schemaNameShape>

const keyOrValueShape = z
  .union(
    [
      z.strictObject({
        text: z.string(),
        schema: schemaNameShape.optional().meta({
          description:
            'The broker makes the bytes with this schema. The text is then JSON as the decoding registry shows it.',
        }),
      }),
      z.strictObject({ base64: z.base64('takes base64 with its padding, as in RFC 4648, section 4') }),
    ],
    {
      error: ({ input }) => {
        const { schema } = (typeof input === 'object' && input !== null ? input : {}) as { readonly schema?: unknown }
        const objection = schemaNameShape.safeParse(schema).error?.issues[0]?.message
        if (schema !== undefined && objection !== undefined) return objection.replace('takes', 'takes as schema')
        return 'takes {"text": …}, with an optional schema, or {"base64": …}'
      },
    },
  )
  .meta({ id: 'KeyOrValue', description: 'Bytes: as text, as JSON with a schema, or as base64.' })

export type KeyOrValue = z.infer<typeof keyOrValueShape>

const newMessageShape = z
  .strictObject({
    partition: z.int().min(0).max(MAX_INT32).optional().meta({
      description: 'By default the hash of the key decides, as in Kafka; without a key, any partition.',
    }),
    key: keyOrValueShape.nullish(),
    value: keyOrValueShape.nullish().meta({ description: 'A tombstone if it is null or left out.' }),
    headers: z.array(z.strictObject({ key: z.string(), value: contentShape.nullable() })).optional(),
    // In Kafka -1 means that a record has no timestamp, so a reader would get null.
    timestamp: z
      .int()
      .refine(timestamp => timestamp !== -1, 'takes no -1, which in Kafka means that a record has no time')
      .optional()
      .meta({ description: 'Milliseconds since 1970; negative before 1970, but not -1. The current time by default.' }),
  })
  .meta({ id: 'NewMessage' })

export type RecordToProduce = z.infer<typeof newMessageShape>

const producedShape = z
  .object({
    partition: z.int(),
    offset: z.int().nullable().meta({ description: 'Null if the record was refused.' }),
    timestamp: z.number().nullable(),
    error: troubleShape.nullable(),
  })
  .meta({ id: 'ProducedMessage' })

export type Produced = z.infer<typeof producedShape>

export const newMessagesShape = z.object({ messages: z.array(newMessageShape).min(1).max(MOST_PRODUCED) })

export type NewMessages = z.input<typeof newMessagesShape>

export const producedMessagesShape = z.object({ messages: z.array(producedShape) })

export type ProducedMessages = z.infer<typeof producedMessagesShape>

export const messageParams = z.object({ topic: z.string(), partition: integer(0, MAX_INT32), offset: integer(0) })

const decode = z.enum(DECODINGS).meta({
  description:
    'How the broker decodes values: raw (base64), utf8, json, or registry (with the schema that the value names, as JSON). The schema is named by an id in front of the value, or by a header.',
})
const decoded = {
  decode: decode.default('utf8'),
  keyDecode: z.enum(DECODINGS).default('utf8').meta({ description: 'How the broker decodes keys.' }),
}
const shown = {
  ...decoded,
  previewBytes: integer(0, MAX_PREVIEW_BYTES).default(PREVIEW_BYTES).meta({
    description: 'The number of bytes that are shown of each key, value and header.',
  }),
}
const contains = z
  .string()
  .max(1_024)
  .optional()
  .meta({ description: 'Only records whose key or value contains this text.' })

/** The query parameters that select the records of a page or an export. */
const selected = {
  partition: integer(0, MAX_INT32).optional().meta({ description: 'All partitions by default.' }),
  order: z.enum(READING_ORDERS).default('oldest').meta({
    description: 'With oldest the broker reads forwards from the start position, with newest it reads backwards.',
  }),
  from: z.enum(EDGES).optional(),
  offset: integer(0)
    .optional()
    .meta({ description: 'The start position as an offset, the same in every requested partition.' }),
  timestamp: integer(0, Number.MAX_SAFE_INTEGER, SOUGHT_TIME)
    .optional()
    .meta({ description: 'Milliseconds since 1970. A time before 1970 is not possible.' }),
  cursor: z.string().optional().meta({ description: 'The `nextCursor` of a page of the same query.' }),
  contains,
}

export type MessageSelection = z.output<z.ZodObject<typeof selected>> & { readonly limit: number }

export const messagePageQuery = z.object({
  ...selected,
  limit: integer(1, MAX_LIMIT).default(DEFAULT_LIMIT),
  ...shown,
})

export type MessagePageQuery = z.output<typeof messagePageQuery>

export const messageExportQuery = z.object({
  format: z.enum(FILE_FORMATS).default('ndjson'),
  ...selected,
  limit: integer(1, MOST_EXPORTED).default(MOST_EXPORTED),
  ...decoded,
})

export const messageTailQuery = z.object({
  partition: integer(0, MAX_INT32).optional().meta({ description: 'All partitions by default.' }),
  cursor: z.string().optional().meta({ description: 'The id of an event, or the `tailCursor` of a page.' }),
  ...shown,
  contains,
})

export const messageQuery = z.object(decoded)

export const messagePartQuery = z.object({ part: z.enum(['value', 'key']).default('value') })

/** The data of each event of a live tail, by the name of the event. */
export interface TailEventData {
  readonly messages: { readonly messages: readonly ShownRecord[] }
  /** Null in a topic whose offsets have gaps, because the broker cannot count the records that the reader missed. */
  readonly dropped: { readonly count: number | null }
  readonly end: z.infer<typeof troubleShape>
}
