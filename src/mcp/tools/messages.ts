// Tools that show records: a page, and one record, of which a long key or value is read in parts.

import { z } from 'zod'
import { declined, isDeclined } from '../../admin/declined.ts'
import { browseMessages, showMessage } from '../../admin/records/shown-messages.ts'
import type { ShownValue } from '../../api/messages.ts'
import { SOUGHT_TIME } from '../../api/query.ts'
import { EDGES, READING_ORDERS, RECORD_PARTS } from '../../api/words.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { decodeArguments, limitArgument, partitionArgument, topicArgument } from '../arguments.ts'
import { partOf } from '../long-text.ts'
import { maxBytesArgument, reading } from '../tool.ts'

const MOST_MESSAGES = 200
const offsetArgument = z.int().min(0).meta({ description: 'The offset of the record.' })

export const messageTools = [
  reading({
    name: 'read_messages',
    title: 'Read records',
    description:
      'Shows records of a topic, in the order of their times: from its start, its end, an offset or a time, forwards (oldest) or backwards (newest). ' +
      'With `contains` only those whose key or value has the text. A long value is cut: get_message reads it as a whole. To read consumes nothing.',
    input: z.strictObject({
      topic: topicArgument,
      partition: partitionArgument.optional().meta({ description: 'Only this partition; all of them by default.' }),
      order: z.enum(READING_ORDERS).default('oldest'),
      from: z
        .enum(EDGES)
        .optional()
        .meta({ description: 'By default earliest for the order oldest, and latest for newest.' }),
      offset: z.int().min(0).optional().meta({ description: 'Begin at this offset, in each partition.' }),
      timestamp: z.int().min(0, SOUGHT_TIME).optional().meta({
        description: 'Begin at this time, in milliseconds since 1970. Give at most one of from, offset and timestamp.',
      }),
      contains: z.string().min(1).max(1_024).optional(),
      ...decodeArguments,
      previewBytes: z
        .int()
        .min(0)
        .max(64 * 1024)
        .default(2_048)
        .meta({ description: 'The bytes that are shown of each key, value and header.' }),
      limit: limitArgument(20, MOST_MESSAGES),
      cursor: z
        .string()
        .max(256 * 1024)
        .optional()
        .meta({
          description: 'The cursor of the answer before, with the same topic, partition, order and contains.',
        }),
      maxBytes: maxBytesArgument,
    }),
    // A text to look for may be a content.
    audited: ['topic', 'partition', 'order', 'from', 'offset', 'timestamp', 'decode', 'keyDecode', 'limit'],
    showsRecords: true,
    async run({ topic, maxBytes, ...query }, rooms, { ended }) {
      const found = await browseMessages(rooms, topic, query, ended)
      if (isRefusal(found) || isDeclined(found)) return found
      const { nextCursor, tailCursor: _, ...body } = found.page
      if (nextCursor !== null && nextCursor.length > maxBytes / 2) return MANY_PARTITIONS
      return { body, rows: { member: 'messages', total: null, cursorAfter: kept => found.cursorAfter(kept) } }
    },
  }),

  reading({
    name: 'get_message',
    title: 'Show one record',
    description:
      'Shows one record with its headers. A long text in it is cut. With `part` it shows only the key or the value, from the character `from` on: ' +
      'go on at `next` until that is null.',
    input: z.strictObject({
      topic: topicArgument,
      partition: partitionArgument,
      offset: offsetArgument,
      ...decodeArguments,
      part: z.enum(RECORD_PARTS).optional(),
      from: z
        .int()
        .min(0)
        .default(0)
        .meta({ description: 'The first character of the part to show; of base64, the first character of that.' }),
      maxBytes: maxBytesArgument,
    }),
    audited: ['topic', 'partition', 'offset', 'decode', 'keyDecode', 'part', 'from'],
    showsRecords: true,
    async run({ part, from, maxBytes, ...asked }, rooms, { ended }) {
      const message = await showMessage(rooms, asked, asked, ended)
      if (isRefusal(message) || isDeclined(message)) return message
      if (part === undefined) return { body: message }
      const shown = message[part]
      if (shown === null) return declined('NOT_FOUND', `The ${part} of this record is null.`)
      const { partition, offset } = message
      return readPart(shown, { partition, offset, part }, from, maxBytes)
    },
  }),
]

function readPart({ text, base64, ...facts }: ShownValue, place: object, from: number, maxBytes: number) {
  const whole = text ?? base64 ?? ''
  const characters = whole.length
  if (from > characters) return declined('INVALID_ARGUMENTS', 'The part has no such character.', BEYOND)
  return partOf(whole, from, maxBytes, (shown, next) => ({
    ...place,
    ...facts,
    ...{ characters, from, next },
    ...(text === undefined ? { base64: shown } : { text: shown }),
  }))
}

/** A cursor has a place for each partition. */
const MANY_PARTITIONS = declined(
  'TOO_LARGE',
  'The topic has too many partitions for a cursor that fits. Name a partition, or ask for a larger answer.',
  { partition: 'is needed, or a larger maxBytes' },
)
const BEYOND = { from: 'is beyond the end' }
