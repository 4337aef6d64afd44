// Records as a file: NDJSON, where a line is a record as the API shows it, whole; and CSV (RFC 4180) for spreadsheets. What is
// written out of it goes in chunks, and nobody waits for it longer than a few milliseconds at a time.

import type { Message, ShownValue } from '../admin/messages-contract.ts'
import { type Clock, takingTurns } from '../base/clock.ts'

export const FILE_FORMATS = ['ndjson', 'csv'] as const

interface FileFormat {
  readonly contentType: string
  readonly head: string
  /** One record, in pieces that are short enough to be worked on at once. */
  line(message: Message): Iterable<string>
}

const CSV_COLUMNS = [
  ...['partition', 'offset', 'timestamp', 'time', 'timestampType'],
  ...['key', 'keyBase64', 'keyStatus'],
  ...['value', 'valueBase64', 'valueStatus'],
  'headers',
]

export const fileFormats: Readonly<Record<(typeof FILE_FORMATS)[number], FileFormat>> = {
  ndjson: {
    contentType: 'application/x-ndjson',
    head: '',
    *line(message) {
      if (bytesOf(message) > PIECE_CHARACTERS) yield* jsonOf(message)
      else yield JSON.stringify(message)
      yield '\n'
    },
  },
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    head: `${CSV_COLUMNS.join()}\r\n`,
    *line({ partition, offset, timestamp, timestampType, key, value, headers, undecodedHeaders }) {
      yield `${partition},${offset},${timestamp ?? ''},${timeOf(timestamp)},${timestampType},`
      yield* csvOf(key)
      yield ','
      yield* csvOf(value)
      const shown: object[] = headers.map(({ key, value }) => {
        return value?.base64 === undefined ? { key, value: value?.text ?? null } : { key, base64: value.base64 }
      })
      if (undecodedHeaders !== undefined) shown.push({ undecodedBytes: undecodedHeaders.bytes })
      yield ','
      yield* quoted(JSON.stringify(shown))
      yield '\r\n'
    },
  },
}

const CHUNK_CHARACTERS = 64 * 1024
const PIECE_CHARACTERS = 64 * 1024
const TURN_MS = 5

/** The text of the file. Throws what the messages throw. */
export async function* fileOf(
  { head, line }: FileFormat,
  messages: AsyncIterable<Message>,
  clock: Clock,
): AsyncGenerator<string, void> {
  let chunk = head
  const turn = takingTurns(clock, TURN_MS)
  for await (const message of messages) {
    for (const piece of line(message)) {
      chunk += piece
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield chunk
        chunk = ''
      }
      const others = turn()
      if (others !== undefined) await others
    }
  }
  if (chunk !== '') yield chunk
}

/** A name that every system takes: no device of Windows, no hidden file, not too long. A topic's has nothing that must be quoted. */
export function fileName(topic: string, format: keyof typeof fileFormats): string {
  return `messages-${topic.slice(0, 200)}.${format}`
}

function bytesOf({ key, value, headers }: Message): number {
  return [key, value, ...headers.map(header => header.value)].reduce((sum, shown) => sum + (shown?.bytes ?? 0), 0)
}

/** What JSON.stringify says of it, long text in pieces. */
function* jsonOf(value: unknown): Generator<string, void> {
  if (typeof value === 'string' && value.length > PIECE_CHARACTERS) {
    yield '"'
    // Half a character at the end of a piece is written as an escape, and so is its other half.
    for (const piece of piecesOf(value)) yield JSON.stringify(piece).slice(1, -1)
    yield '"'
  } else if (typeof value !== 'object' || value === null) yield JSON.stringify(value)
  else {
    const isArray = Array.isArray(value)
    yield isArray ? '[' : '{'
    let before = ''
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue
      yield isArray ? before : `${before}${JSON.stringify(name)}:`
      yield* jsonOf(member)
      before = ','
    }
    yield isArray ? ']' : '}'
  }
}

function* piecesOf(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) yield text.slice(at, at + PIECE_CHARACTERS)
}

/**
 * Text, base64, status: all three are empty for null, and text is quoted, so that an empty one differs from none. Of one that is too long
 * to be written the beginning is there, and its status says so.
 */
function* csvOf(shown: ShownValue | null): Generator<string, void> {
  if (shown?.text !== undefined) yield* quoted(harmless(shown.text))
  yield ','
  yield* piecesOf(shown?.base64 ?? '')
  yield `,${shown?.truncated ? 'truncated' : (shown?.status ?? '')}`
}

function* quoted(text: string): Generator<string, void> {
  yield '"'
  for (const piece of piecesOf(text)) yield piece.replace(/"/g, '""')
  yield '"'
}

/** Spreadsheets work out what begins like this, wherever it comes from. A number is no formula. */
const FORMULA = /^(?:[=@\t\r\n＝＋－＠']|[+-](?!\d+(?:\.\d+)?$))/

/** An apostrophe in front says that it is text. So that it can be taken off again, text with one in front gets another. */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

const LARGEST_TIME_MS = 8.64e15

/** ISO 8601 in UTC, where it has a year. */
function timeOf(timestamp: number | null): string {
  return timestamp === null || Math.abs(timestamp) > LARGEST_TIME_MS ? '' : new Date(timestamp).toISOString()
}
