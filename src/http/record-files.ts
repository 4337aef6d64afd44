// Records as a file: NDJSON, in which a line is a whole record as the API shows it; and CSV (RFC 4180) for
// spreadsheets. The file is written in chunks, and other work waits for it a few milliseconds at a time at most.

import type { ShownRecord, ShownValue } from '../api/messages.ts'
import type { FILE_FORMATS } from '../api/words.ts'
import { type Clock, takingTurns } from '../base/clock.ts'

interface FileFormat {
  readonly contentType: string
  readonly head: string
  /** One record, in pieces that are short enough to be written without a pause. */
  line(record: ShownRecord): Iterable<string>
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
      yield '\r\n'
    },
  },
}

const CHUNK_CHARACTERS = 64 * 1024
const PIECE_CHARACTERS = 64 * 1024
const TURN_MS = 5

/** The text of the file. Throws what the records throw. */
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
 * A name that every system takes: no device of Windows, no hidden file, not too long. A topic's has nothing that must
 * be quoted.
 */
export function fileName(topic: string, format: keyof typeof fileFormats): string {
  return `messages-${topic.slice(0, 200)}.${format}`
}

function bytesOf({ key, value, headers }: ShownRecord): number {
  return [key, value, ...headers.map(header => header.value)].reduce((sum, shown) => sum + (shown?.bytes ?? 0), 0)
}

/** The value as JSON.stringify writes it, long text in pieces. */
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
 * Text, base64, status: all three are empty for null, and text is quoted, so that an empty text differs from null. If
 * the value is too long to be written, the cell has its beginning, and its status says so.
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

/** A spreadsheet computes cells that begin like this, whatever their source. A number is not a formula. */
const FORMULA = /^(?:[=@\t\r\n＝＋－＠']|[+-](?!\d+(?:\.\d+)?$))/

/**
 * An apostrophe in front marks text. Text that already begins with one gets another, so that it can be removed again.
 */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

const LARGEST_TIME_MS = 8.64e15

/** ISO 8601 in UTC, if it has a year. */
function timeOf(timestamp: number | null): string {
  return timestamp === null || Math.abs(timestamp) > LARGEST_TIME_MS ? '' : new Date(timestamp).toISOString()
}
