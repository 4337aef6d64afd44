// What the verbs on records take and answer, as shapes: the HTTP side checks and documents with them, and the types follow. No
// behaviour.

import { z } from 'zod'

export const shownValueShape = z
  .object({
    status: z.enum(['decoded', 'raw', 'schema-not-found', 'decode-error']),
    text: z.string().optional().meta({ description: 'The text as it was produced, where the status is decoded.' }),
    base64: z.string().optional().meta({ description: 'The bytes, where the status is another.' }),
    bytes: z.int().meta({ description: 'How long it is as a whole.' }),
    truncated: z.boolean().meta({ description: 'Only its beginning is here.' }),
    schema: z.object({ id: z.int() }).optional(),
    reason: z.string().optional().meta({ description: 'Why it was not decoded.' }),
  })
  .meta({ id: 'ShownValue' })

export type ShownValue = z.infer<typeof shownValueShape>

export const messageShape = z
  .object({
    partition: z.int(),
    offset: z.int(),
    timestamp: z.number().nullable().meta({
      description:
        'Milliseconds since 1970, below 0 before that, and beyond 2^53 the nearest number; null: the record has none.',
    }),
    timestampType: z.enum(['CreateTime', 'LogAppendTime']),
    key: shownValueShape.nullable(),
    value: shownValueShape.nullable().meta({ description: 'Null is a tombstone.' }),
    headers: z.array(z.object({ key: z.string(), value: shownValueShape.nullable() })),
    headerCount: z.int().meta({ description: 'How many headers the record has; a list shows the first 32.' }),
    undecodedHeaders: shownValueShape.optional().meta({
      description:
        'The bytes of the headers behind those that are shown, with the reason: one record has at most 1,000 decoded. Left out where none follow.',
    }),
  })
  .meta({ id: 'Message' })

export type Message = z.infer<typeof messageShape>

export const endShape = z.object({
  partition: z.int(),
  start: z.int().meta({ description: 'The first offset that may be read.' }),
  end: z.int().meta({ description: 'The offset after the last record.' }),
})

/** A partition that could not be read, and why. */
export const unavailableShape = z.object({ partition: z.int(), code: z.string(), detail: z.string() })

export const pageShape = z
  .object({
    messages: z.array(messageShape),
    nextCursor: z.string().nullable().meta({
      description: 'Where the next page begins; null after the last, and where only `unavailable` partitions are left.',
    }),
    tailCursor: z
      .string()
      .meta({ description: 'Where a live tail begins that misses nothing after `ends` as they are here.' }),
    ends: z.array(endShape),
    scanned: z.int().meta({ description: 'Records that were looked at for this page.' }),
    bytes: z.int().meta({ description: 'Bytes of batches that were read for this page.' }),
    isPartial: z.boolean().meta({
      description: 'The page ended before it was full, because it had read enough; the next one goes on.',
    }),
    unavailable: z.array(unavailableShape).meta({
      description: 'Partitions that could not be read. The next page tries them again, from where they were.',
    }),
  })
  .meta({ id: 'MessagePage' })

export type MessagePage = z.infer<typeof pageShape>

const contentShape = z
  .union(
    [z.strictObject({ text: z.string() }), z.strictObject({ base64: z.base64() })],
    'takes {"text": …} or {"base64": …}',
  )
  .meta({ id: 'Content', description: 'Bytes, as text or as base64.' })

export type Content = z.infer<typeof contentShape>

/** The largest of Kafka's partition numbers. */
const MAX_INT32 = 2 ** 31 - 1

export const newMessageShape = z
  .strictObject({
    partition: z.int().min(0).max(MAX_INT32).optional().meta({
      description: 'Left out: by the hash of the key, as Kafka does it, or any where there is no key.',
    }),
    key: contentShape.nullish(),
    value: contentShape.nullish().meta({ description: 'Null or left out: a tombstone.' }),
    headers: z.array(z.strictObject({ key: z.string(), value: contentShape.nullable() })).optional(),
    // Kafka writes -1 for none, and it would come back as null.
    timestamp: z
      .int()
      .refine(timestamp => timestamp !== -1, 'takes no -1, which stands for no time at all')
      .optional()
      .meta({ description: 'Milliseconds since 1970, below 0 before that, but not -1; left out: now.' }),
  })
  .meta({ id: 'NewMessage' })

export type NewMessage = z.infer<typeof newMessageShape>

export const producedShape = z
  .object({
    partition: z.int(),
    offset: z.int().nullable().meta({ description: 'Null where it was refused.' }),
    timestamp: z.number().nullable(),
    error: z.object({ code: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: 'ProducedMessage' })

export type Produced = z.infer<typeof producedShape>
