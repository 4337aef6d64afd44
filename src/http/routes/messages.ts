// The routes for records: browse, export, show one, download one, produce, and follow them live. The rules are in
// admin/.

import { z } from 'zod'
import { isDeclined } from '../../admin/declined.ts'
import { exportRecords, LARGEST_DECODED_BYTES } from '../../admin/records/export.ts'
import { produceRecords } from '../../admin/records/produce.ts'
import {
  blamingCursor,
  browseMessages,
  readPart,
  selectionOf,
  showMessage,
} from '../../admin/records/shown-messages.ts'
import { bytesOf, LARGEST_SHOWN_BYTES } from '../../admin/records/shown-record.ts'
import { type TailEvent, tailRecords } from '../../admin/records/tail.ts'
import {
  messageExportQuery,
  messagePageQuery,
  messagePageShape,
  messageParams,
  messagePartQuery,
  messageQuery,
  messageShape,
  messageTailQuery,
  newMessagesShape,
  producedMessagesShape,
  type TailEventData,
} from '../../api/messages.ts'
import { topicParams } from '../../api/topics.ts'
import { FILE_FORMATS, PRODUCE_BODY_BYTES, PRODUCE_BODY_VALUES } from '../../api/words.ts'
import { HEADER_LIMITS } from '../../log/unpacking.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { problem } from '../problems.ts'
import { fileFormats, fileName, fileOf } from '../record-files.ts'
import { type Answer, found, reply, route } from '../route.ts'

/** The size in bytes above which a record, or a part of one, is sent in pieces. */
const PIECE_BYTES = 1024 * 1024

const problems = {
  400: 'INVALID_TOPIC_EXCEPTION',
  404: 'UNKNOWN_TOPIC_OR_PARTITION',
  500: 'KAFKA_STORAGE_ERROR',
  503: 'LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, REQUEST_TIMED_OUT, BUSY',
}

const TOO_LARGE_NOW = problem('BUSY', 'The broker is at its limit of large records at one time.')

export const messageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages',
    needs: 'viewer',
    verb: 'browse messages',
    tag: 'messages',
    doc:
      'A page of records of one partition or of all, in the order of their timestamps, and within a partition in the order of their offsets. It begins at ' +
      '`from`, `offset` or `timestamp` (at most one of them; by default at the earliest, or with newest first at the latest), or continues at `cursor`. ' +
      'A value that cannot be decoded is shown as base64 with the reason.',
    params: topicParams,
    query: messagePageQuery,
    answers: { 200: messagePageShape },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST' },
    async answer({ params: { topic }, query, ended }, rooms) {
      const browsed = await browseMessages(rooms, topic, query, ended)
      return found('page' in browsed ? browsed.page : browsed)
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/topics/:topic/messages',
    needs: 'admin',
    verb: 'produce messages',
    tag: 'messages',
    doc:
      'Appends records, as a producer with acks=all does. The records of one partition are written together or not at all. Each row has the result of ' +
      'one record. A second request after REQUEST_TIMED_OUT may write them twice. A key or a value with a `schema` is JSON, from which the broker makes ' +
      'the bytes, with the id of the schema in front; a header that names a schema for it is left out. If one of them does not fit its schema, no record is written, and `fields` has the path and the reason.',
    params: topicParams,
    body: newMessagesShape,
    bodyLimit: PRODUCE_BODY_BYTES,
    mostValues: PRODUCE_BODY_VALUES,
    // The content of records stays out of the log.
    audited: [],
    answers: { 200: producedMessagesShape },
    problems: {
      ...problems,
      400: 'INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD',
      503: `${problems[503]}, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND`,
    },
    async answer({ params: { topic }, body: { messages } }, rooms) {
      return found(await produceRecords(rooms, topic, messages))
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/messages/export',
    needs: 'viewer',
    verb: 'export messages',
    tag: 'messages',
    doc:
      'The records of a page, up to `limit`, as one file: NDJSON, where each line is a whole `Message`; or CSV (RFC 4180), where the text of ' +
      'keys and values is quoted, and other bytes are base64 in their own column. Text that a spreadsheet would take for a formula gets an apostrophe in front, and so ' +
      `does text that begins with an apostrophe. A record of more than ${LARGEST_DECODED_BYTES / 1024} KiB is always base64. If a key or a value has more than ` +
      `${LARGEST_SHOWN_BYTES / 1024 / 1024} MiB, the file has only its beginning and marks it as \`truncated\`. The file has at most the first ${HEADER_LIMITS.count} headers of each record. It has no records that were appended after the request. If the broker ` +
      'cannot finish the file, it closes the connection in the middle of the answer, so that the client notices the error.',
    params: topicParams,
    query: messageExportQuery,
    contentType: FILE_FORMATS.map(format => fileFormats[format].contentType),
    answers: { 200: z.string() },
    headers: { 200: ['Content-Disposition'] },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST', 403: 'EXPORT_DISABLED' },
    async answer({ params: { topic }, query, ended }, rooms) {
      if (!rooms.settings.get('admin.message-export-enabled')) return problem('EXPORT_DISABLED')
      const selection = selectionOf(query)
      if (isDeclined(selection)) return selection
      const leave = rooms.recordReaders.enterExport()
      if (leave === null) return problem('BUSY', 'The broker is at its limit of exports at one time.')
      return await holding(leave, ended, async () => {
        const messages = await exportRecords(rooms, topic, { ...query, ...selection }, ended)
        if (isRefusal(messages)) return blamingCursor(messages)
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
      'Server-sent events of the records as they come: `begin`, then `messages` with a list, `dropped` with a count if the reader is too slow, ' +
      '`end` when the topic is gone. The id of an event is a cursor; Last-Event-ID or `cursor` continues there. A comment comes every 15 seconds.',
    params: topicParams,
    query: messageTailQuery,
    contentType: 'text/event-stream',
    answers: { 200: z.string() },
    problems: { ...problems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_REQUEST' },
    async answer({ params, query, headers, ended }, rooms) {
      const { partition, cursor, contains, ...request } = query
      const leave = rooms.recordReaders.enterTail()
      if (leave === null) return problem('BUSY', 'The broker is at its limit of live tails.')
      return await holding(leave, ended, async () => {
        const lastId = headers['last-event-id']
        const events = await tailRecords(
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
        if (isRefusal(events)) return blamingCursor(events)
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
    doc: `One record as a whole, with its first ${HEADER_LIMITS.count} headers. Of a key or a value of more than ${LARGEST_SHOWN_BYTES / 1024 / 1024} MiB it has the beginning.`,
    params: messageParams,
    query: messageQuery,
    answers: { 200: messageShape },
    problems,
    async answer({ params, query, ended }, rooms) {
      const message = await showMessage(rooms, params, query, ended)
      if (isRefusal(message) || isDeclined(message)) return message
      if (bytesOf(message) <= PIECE_BYTES) return reply(200, message)
      // The text of a record can be six times as long as its bytes.
      const leave = rooms.recordReaders.enterLarge()
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
    doc: 'The bytes of the value or the key of one record, as a file.',
    params: messageParams,
    query: messagePartQuery,
    contentType: 'application/octet-stream',
    answers: { 200: z.string() },
    headers: { 200: ['Content-Disposition'] },
    problems,
    async answer({ params, query: { part }, ended }, rooms) {
      const bytes = await readPart(rooms, params, part, ended)
      if (isRefusal(bytes) || isDeclined(bytes)) return bytes
      const contentType = 'application/octet-stream'
      // The name of a topic needs no quotes.
      const name = `${params.topic}-${params.partition}-${params.offset}-${part}.bin`
      const headers = { 'content-disposition': `attachment; filename="${name}"` }
      if (bytes.length <= PIECE_BYTES) return reply(200, bytes, { 'content-type': contentType, ...headers })
      const leave = rooms.recordReaders.enterLarge()
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

async function* only<T>(one: T): AsyncGenerator<T, void> {
  yield one
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

/** Keeps a place as long as the stream lasts. If no stream begins, frees the place at once. */
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

/** Yields the events in the form of the browser's EventSource. JSON has no line breaks. */
async function* written(events: AsyncIterable<TailEvent>): AsyncGenerator<string, void> {
  for await (const event of events) yield textOf(event)
}

function textOf(event: TailEvent): string {
  switch (event.kind) {
    case 'begun':
      return `retry: 2000\nid: ${event.cursor}\nevent: begin\ndata: {}\n\n`
    case 'records':
      return `id: ${event.cursor}\n${eventOf('messages', { messages: event.records })}`
    case 'dropped':
      return `id: ${event.cursor}\n${eventOf('dropped', { count: event.count })}`
    case 'heartbeat':
      return ': heartbeat\n\n'
    case 'ended':
      return eventOf('end', { code: event.refusal.name, detail: event.refusal.message })
  }
}

function eventOf<N extends keyof TailEventData>(name: N, data: TailEventData[N]): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
