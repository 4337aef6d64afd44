// Writes records as a file: NDJSON, in which a line is a whole record in the form of the API, or CSV (RFC 4180) for
// spreadsheets. The file is written in chunks, and other work waits for a few milliseconds at most.

import type { ShownRecord, ShownValue } from '../api/messages.ts'
import type { FILE_FORMATS } from '../api/words.ts'
import { type Clock, takingTurns } from '../base/clock.ts'

interface FileFormat {
  readonly contentType: string
  readonly head: string
  /** Yields one record, in pieces that are short enough to be written without a pause. */
  line(record: ShownRecord): Iterable<string>
}

const CSV_COLUMNS = [
  ...['partition', 'offset', 'timestamp', 'time', 'timestampType'],
  ...['key', 'keyBase64', 'keyStatus'],
  ...['value', 'valueBase64', 'valueStatus'],
  'headers',
  // Behind all others, so that programs that read the columns by their place go on working.
  ...['keySchema', 'valueSchema'],
]

export const fileFormats: Readonly<Record<(typeof FILE_FORMATS)[number], FileFormat>> = {
  ndjson: {
    contentType: 'application/x-ndjson',
    head: '',
    *line(record) {
      if (bytesOf(record) > PIECE_CHARACTERS) yield* jsonOf(record)
      else yield JSON.stringify(record)
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
      yield `,${schemaOf(key)},${schemaOf(value)}\r\n`
    },
  },
}

const CHUNK_CHARACTERS = 64 * 1024
const PIECE_CHARACTERS = 64 * 1024
const TURN_MS = 5

/** Yields the text of the file. Throws what `records` throws. */
export async function* fileOf(
  { head, line }: FileFormat,
  records: AsyncIterable<ShownRecord>,
  clock: Clock,
): AsyncGenerator<string, void> {
  let chunk = head
  const turn = takingTurns(clock, TURN_MS)
  for await (const record of records) {
    for (const piece of line(record)) {
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

/**
 * Returns a file name that every system takes: no device of Windows, no hidden file, not too long. A topic's name has
 * no character that must be quoted.
 */
export function fileName(topic: string, format: keyof typeof fileFormats): string {
  return `messages-${topic.slice(0, 200)}.${format}`
}

function bytesOf({ key, value, headers }: ShownRecord): number {
  return [key, value, ...headers.map(header => header.value)].reduce((sum, shown) => sum + (shown?.bytes ?? 0), 0)
}

/** Yields the value as JSON.stringify writes it, long text in pieces. */
function* jsonOf(value: unknown): Generator<string, void> {
  if (typeof value === 'string' && value.length > PIECE_CHARACTERS) {
    yield '"'
    // If a piece ends within a surrogate pair, both halves are written as escapes.
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
 * Yields three cells: text, base64, status. All three are empty for null. Text is quoted, so that an empty text
 * differs from null. If the value is too long to be written, the cell has its beginning, and the status says so.
 */
function* csvOf(shown: ShownValue | null): Generator<string, void> {
  if (shown?.text !== undefined) yield* quoted(harmless(shown.text))
  yield ','
  yield* piecesOf(shown?.base64 ?? '')
  yield `,${shown?.truncated ? 'truncated' : (shown?.status ?? '')}`
}

/** Returns the schema that the value names, as a cell of JSON. */
function schemaOf(shown: ShownValue | null): string {
  return shown?.schema === undefined ? '' : [...quoted(JSON.stringify(shown.schema))].join('')
}

function* quoted(text: string): Generator<string, void> {
  yield '"'
  for (const piece of piecesOf(text)) yield piece.replace(/"/g, '""')
  yield '"'
}

/** Matches the beginning of text that a spreadsheet would compute, whatever its source. A number is not a formula. */
const FORMULA = /^(?:[=@\t\r\n＝＋－＠']|[+-](?!\d+(?:\.\d+)?$))/

/**
 * Returns text that no spreadsheet computes: an apostrophe in front marks it as text. Text that already begins with
 * one gets another, so that a reader can remove the first one.
 */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

const LARGEST_TIME_MS = 8.64e15

/** Returns the timestamp as ISO 8601 in UTC; an empty text if it is beyond every date. */
function timeOf(timestamp: number | null): string {
  return timestamp === null || Math.abs(timestamp) > LARGEST_TIME_MS ? '' : new Date(timestamp).toISOString()
}
