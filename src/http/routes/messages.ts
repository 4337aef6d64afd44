// Records: browse, export, show one, download one, produce, and watch them come. The rules are in admin/.

import { z } from 'zod'
import { exportMessages, LARGEST_DECODED_BYTES } from '../../admin/message-export.ts'
import { type TailEvent, tailMessages } from '../../admin/message-tail.ts'
import { produceMessages } from '../../admin/message-writes.ts'
import { browseMessages, findRecord, type Selection } from '../../admin/messages.ts'
import { messageShape, newMessageShape, pageShape, producedShape } from '../../admin/messages-contract.ts'
import type { Keeping } from '../../admin/record-reader.ts'
import { bytesOf, LARGEST_SHOWN_BYTES, whole } from '../../admin/shown-message.ts'
import { decodings } from '../../admin/shown-value.ts'
import { HEADER_LIMITS } from '../../log/unpacking.ts'
import { INVALID_REQUEST, isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../../protocol/errors.ts'
import { FILE_FORMATS, fileFormats, fileName, fileOf } from '../message-files.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { integer, SOUGHT_TIME } from '../query.ts'
import { type Answer, reply, route } from '../route.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1_000
const MOST_EXPORTED = 10_000_000
const PREVIEW_BYTES = 2_048
const MAX_PREVIEW_BYTES = 65_536
const MAX_INT32 = 2 ** 31 - 1
const MOST_PRODUCED = 1_000
/** A record of the largest default size as base64, with what is around it. */
const PRODUCE_BODY_BYTES = 2 * 1024 * 1024
/** A longer record is given out in pieces, and so is a longer part of one. */
const PIECE_BYTES = 1024 * 1024

const named = z.object({ topic: z.string() })
const place = z.object({ topic: z.string(), partition: integer(0, MAX_INT32), offset: integer(0) })

const decode = z.enum(decodings).meta({
  description: 'How values are read: raw (base64), utf8, json, or registry (by the schema that they name).',
})
const decoded = {
  decode: decode.default('utf8'),
  keyDecode: z.enum(decodings).default('utf8').meta({ description: 'The same for keys.' }),
}
const shown = {
  ...decoded,
  previewBytes: integer(0, MAX_PREVIEW_BYTES).default(PREVIEW_BYTES).meta({
    description: 'So much of each key, value and header is shown.',
  }),
}
const contains = z
  .string()
  .max(1_024)
  .optional()
  .meta({ description: 'Only records whose key or value has this text.' })
/** What a page or an export has in it. */
const selected = {
  partition: integer(0, MAX_INT32).optional().meta({ description: 'All of them where it is left out.' }),
  order: z.enum(['oldest', 'newest']).default('oldest').meta({
    description: 'Oldest first reads forwards from the place, newest first backwards.',
  }),
  from: z.enum(['earliest', 'latest']).optional(),
  offset: integer(0).optional().meta({ description: 'In every partition that is asked for.' }),
  timestamp: integer(0, Number.MAX_SAFE_INTEGER, SOUGHT_TIME)
    .optional()
    .meta({ description: 'Milliseconds since 1970; nothing before that can be looked for.' }),
  cursor: z.string().optional().meta({ description: '`nextCursor` of a page of the same question.' }),
  contains,
}
const problems = {
  400: 'INVALID_TOPIC_EXCEPTION',
  404: 'UNKNOWN_TOPIC_OR_PARTITION',
  503: 'LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, REQUEST_TIMED_OUT, BUSY',
}

const BUSY = problem('BUSY', 'As many pages of records are being made as one broker makes, and as many wait as may.')

const TOO_LARGE_NOW = problem('BUSY', 'There are as many large records under way as one broker gives at a time.')

export const messageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages',
    needs: 'viewer',
    verb: 'browse messages',
    tag: 'messages',
    doc:
      'A page of records of one partition or of all, in the order of their timestamps, within a partition in that of their offsets. It begins at ' +
      '`from`, `offset` or `timestamp` (one of them; otherwise at the earliest, or newest first at the latest), or goes on at `cursor`. ' +
      'What cannot be decoded is shown as base64 with the reason.',
    params: named,
    query: z.object({ ...selected, limit: integer(1, MAX_LIMIT).default(DEFAULT_LIMIT), ...shown }),
    answers: { 200: pageShape },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST' },
    async answer({ params, query, ended }, rooms) {
      const selection = selectionOf(query)
      if (isProblem(selection)) return selection
      const browsed = { ...query, ...selection }
      const page = await rooms.messageReaders.page(() => browseMessages(rooms, params.topic, browsed, ended))
      if (page === null) return BUSY
      return isRefusal(page) ? asProblem(page) : reply(200, page)
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/topics/:topic/messages',
    needs: 'admin',
    verb: 'produce messages',
    tag: 'messages',
    doc:
      'Appends records, as a producer with acks=all does. Those of one partition are written together or not at all; each row says what came of ' +
      'it. To ask again after REQUEST_TIMED_OUT may write them twice.',
    params: named,
    body: z.object({ messages: z.array(newMessageShape).min(1).max(MOST_PRODUCED) }),
    bodyLimit: PRODUCE_BODY_BYTES,
    // What records hold is nobody else's business.
    audited: [],
    answers: { 200: z.object({ messages: z.array(producedShape) }) },
    problems: {
      ...problems,
      400: 'INVALID_TOPIC_EXCEPTION, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD',
      503: `${problems[503]}, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND`,
    },
    async answer({ params, body }, rooms) {
      const produced = await produceMessages(rooms, params.topic, body.messages)
      return isRefusal(produced) ? produced : reply(200, { messages: produced })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages/export',
    needs: 'viewer',
    verb: 'export messages',
    tag: 'messages',
    doc:
      'The records that a page would have, as many as are asked for, as one file: NDJSON, where each line is a `Message`, whole; or CSV (RFC 4180), where the text of ' +
      'keys and values is quoted and what is no text is base64 in a column of its own. Text that a spreadsheet would take for a formula has an apostrophe in front, and so ' +
      `has text that begins with one. A record of more than ${LARGEST_DECODED_BYTES / 1024} KiB is base64 in any case; of a key or a value of more than ` +
      `${LARGEST_SHOWN_BYTES / 1024 / 1024} MiB only the beginning is there, as \`truncated\` says, and of a record its first ${HEADER_LIMITS.count} headers. It ends where the partitions ended when it was asked for; when something goes ` +
      'wrong before, the connection is cut, so that the answer is incomplete.',
    params: named,
    query: z.object({
      format: z.enum(FILE_FORMATS).default('ndjson'),
      ...selected,
      limit: integer(1, MOST_EXPORTED).default(MOST_EXPORTED),
      ...decoded,
    }),
    contentType: FILE_FORMATS.map(format => fileFormats[format].contentType),
    answers: { 200: z.string() },
    headers: { 200: ['Content-Disposition'] },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST', 403: 'EXPORT_DISABLED' },
    async answer({ params: { topic }, query, ended }, rooms) {
      if (!rooms.settings.get('admin.message-export-enabled')) return problem('EXPORT_DISABLED')
      const selection = selectionOf(query)
      if (isProblem(selection)) return selection
      const leave = rooms.messageReaders.enterExport()
      if (leave === null) return problem('BUSY', 'There are as many exports as one broker makes at a time.')
      return await holding(leave, ended, async () => {
        const messages = await exportMessages(rooms, topic, { ...query, ...selection }, ended)
        if (isRefusal(messages)) return asProblem(messages)
        const { format } = query
        const { contentType } = fileFormats[format]
        const headers = { 'content-disposition': `attachment; filename="${fileName(topic, format)}"` }
        const chunks = fileOf(fileFormats[format], messages, rooms.clock)
        return { kind: 'streaming', contentType, headers, chunks, isFile: true }
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages/tail',
    needs: 'viewer',
    verb: 'tail messages',
    tag: 'messages',
    doc:
      'Server-sent events of the records as they come: `begin`, then `messages` with a list, `dropped` with a count where the reader is too slow, ' +
      '`end` when the topic is gone. The id of an event is a cursor; Last-Event-ID or `cursor` goes on there. A comment comes every 15 seconds.',
    params: named,
    query: z.object({
      partition: integer(0, MAX_INT32).optional().meta({ description: 'All of them where it is left out.' }),
      cursor: z.string().optional().meta({ description: 'The id of an event, or `tailCursor` of a page.' }),
      ...shown,
      contains,
    }),
    contentType: 'text/event-stream',
    answers: { 200: z.string() },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST' },
    async answer({ params, query, headers, ended }, rooms) {
      const { partition, cursor, contains, ...request } = query
      const leave = rooms.messageReaders.enterTail()
      if (leave === null) return problem('BUSY', 'There are as many live tails as one broker gives.')
      return await holding(leave, ended, async () => {
        const lastId = headers['last-event-id']
        const events = await tailMessages(
          rooms,
          params.topic,
          {
            ...request,
            partition: partition ?? null,
            cursor: (typeof lastId === 'string' && lastId !== '' ? lastId : cursor) ?? null,
            contains: contains ?? null,
          },
          ended,
        )
        if (isRefusal(events)) return asProblem(events)
        return { kind: 'streaming', contentType: 'text/event-stream', chunks: written(events) }
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages/:partition/:offset',
    needs: 'viewer',
    verb: 'show message',
    tag: 'messages',
    doc: `One record as a whole: of a key or a value that is longer than ${LARGEST_SHOWN_BYTES / 1024 / 1024} MiB the beginning, and its first ${HEADER_LIMITS.count} headers.`,
    params: place,
    query: z.object({ decode: shown.decode, keyDecode: shown.keyDecode }),
    answers: { 200: messageShape },
    problems,
    async answer({ params, query, ended }, rooms) {
      const { topic, ...at } = params
      const keeping = whole(() => query)
      const record = await rooms.messageReaders.page(() => findRecord(rooms, topic, at, keeping, ended))
      if (record === null) return BUSY
      if (isRefusal(record)) return asMissing(record)
      const message = record.content
      if (bytesOf(message) <= PIECE_BYTES) return reply(200, message)
      // As text it can be six times as long.
      const leave = rooms.messageReaders.enterLarge()
      if (leave === null) return TOO_LARGE_NOW
      const chunks = fileOf(fileFormats.ndjson, only(message), rooms.clock)
      const contentType = 'application/json; charset=utf-8'
      return await holding(leave, ended, async () => ({ kind: 'streaming', contentType, chunks, isFile: true }))
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages/:partition/:offset/download',
    needs: 'viewer',
    verb: 'download message',
    tag: 'messages',
    doc: 'The bytes of one record, of its value or its key, as a file.',
    params: place,
    query: z.object({ part: z.enum(['value', 'key']).default('value') }),
    contentType: 'application/octet-stream',
    answers: { 200: z.string() },
    headers: { 200: ['Content-Disposition'] },
    problems,
    async answer({ params, query: { part }, ended }, rooms) {
      const { topic, ...at } = params
      const keeping = bytesOfPart(part)
      const record = await rooms.messageReaders.page(() => findRecord(rooms, topic, at, keeping, ended))
      if (record === null) return BUSY
      if (isRefusal(record)) return asMissing(record)
      const bytes = record.content
      if (bytes === null) return problem('NOT_FOUND', `The ${part} of this record is null.`)
      const contentType = 'application/octet-stream'
      // A name of a topic has nothing that would have to be quoted.
      const name = `${topic}-${at.partition}-${at.offset}-${part}.bin`
      const headers = { 'content-disposition': `attachment; filename="${name}"` }
      if (bytes.length <= PIECE_BYTES) return reply(200, bytes, { 'content-type': contentType, ...headers })
      const leave = rooms.messageReaders.enterLarge()
      if (leave === null) return TOO_LARGE_NOW
      const chunks = piecesOf(bytes)
      return await holding(leave, ended, async () => ({
        kind: 'streaming',
        contentType,
        headers,
        chunks,
        isFile: true,
      }))
    },
  }),
]

/** The bytes of one part, as they are; null where it is null. */
function bytesOfPart(part: 'key' | 'value'): Keeping<Buffer | null> {
  return {
    headers: { count: 0, bytes: 0 },
    keep(record) {
      const bytes = record[part]
      return bytes === null ? null : Buffer.from(bytes)
    },
    bytesOf: bytes => bytes?.length ?? 0,
  }
}

async function* only<T>(one: T): AsyncGenerator<T, void> {
  yield one
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

type Selected = z.output<z.ZodObject<typeof selected>> & { readonly limit: number }

/** Which records a query asks for. */
function selectionOf({ from, offset, timestamp, partition, cursor, contains, order, limit }: Selected) {
  const places = [from, offset, timestamp].filter(each => each !== undefined)
  if (places.length > 1) {
    const fields = { from: 'at most one of from, offset and timestamp may be given' }
    return problem('INVALID_REQUEST', 'At most one of from, offset and timestamp may be given.', { fields })
  }
  const selection: Selection = {
    order,
    limit,
    seek:
      offset !== undefined
        ? { offset }
        : timestamp !== undefined
          ? { timestamp }
          : { edge: from ?? (order === 'oldest' ? 'earliest' : 'latest') },
    partition: partition ?? null,
    cursor: cursor ?? null,
    contains: contains ?? null,
  }
  return selection
}

/** A stream that holds a place for as long as it lasts; the place is given back at once where none comes of it. */
async function holding(leave: () => void, ended: AbortSignal, begin: () => Promise<Answer>): Promise<Answer> {
  ended.addEventListener('abort', leave)
  let answer: Answer | null = null
  try {
    answer = await begin()
    return answer
  } finally {
    if (answer?.kind !== 'streaming' || ended.aborted) leave()
  }
}

/** A refusal of a question. Nothing but a cursor that does not fit makes it an invalid request. */
function asProblem(refusal: Refusal): Problem | Refusal {
  if (refusal.code !== INVALID_REQUEST.code) return refusal
  return problem('INVALID_REQUEST', `cursor: ${refusal.message}`, { fields: { cursor: refusal.message } })
}

/** An offset that has no record is a place that does not exist. */
function asMissing(refusal: Refusal): Problem | Refusal {
  return refusal.code === OFFSET_OUT_OF_RANGE.code ? problem('NOT_FOUND', refusal.message) : refusal
}

/** The events as the browser's EventSource reads them. JSON has no line breaks. */
async function* written(events: AsyncIterable<TailEvent>): AsyncGenerator<string, void> {
  for await (const event of events) yield textOf(event)
}

function textOf(event: TailEvent): string {
  switch (event.kind) {
    case 'begun':
      return `retry: 2000\nid: ${event.cursor}\nevent: begin\ndata: {}\n\n`
    case 'messages':
      return `id: ${event.cursor}\nevent: messages\ndata: ${JSON.stringify({ messages: event.messages })}\n\n`
    case 'dropped':
      return `id: ${event.cursor}\nevent: dropped\ndata: ${JSON.stringify({ count: event.count })}\n\n`
    case 'heartbeat':
      return ': heartbeat\n\n'
    case 'ended':
      return `event: end\ndata: ${JSON.stringify({ code: event.refusal.name, detail: event.refusal.message })}\n\n`
  }
}
