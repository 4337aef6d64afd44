// Produces records from the values of options, or from the lines of the standard input as text or JSON. The command
// sends each request after the one before is acknowledged. So if it fails, the records that are missing are the end
// of the input.

import type { NewMessages, Produced, ProducedMessages, RecordToProduce } from '../../api/messages.ts'
import { PRODUCE_BODY_VALUES, VALUES_OF_HEADER, VALUES_OF_RECORD } from '../../api/words.ts'
import { type Call, type Command, segment } from '../command.ts'
import { CommandFailed, EXIT, type ExitStatus } from '../exit-status.ts'
import { recordReader } from '../produced-lines.ts'
import { withProgressSignedIn } from '../progress.ts'
import { counted, table } from '../table.ts'

interface Sum {
  readonly partition: number
  records: number
  readonly firstOffset: number
  lastOffset: number
}

/** The most records in one request, as the API takes them, and the most bytes, of which the API takes twice as many. */
const MOST_AT_ONCE = 1_000
const MOST_BYTES = 1024 * 1024
const NEWLINE = 0x0a

export const produceCommands: readonly Command[] = [
  {
    name: 'produce',
    doc: 'Produces records: --value, or each line of the standard input.',
    args: [{ name: 'topic' }],
    options: {
      value: { value: 'text', doc: 'One record with this value, in place of the standard input.', isMany: true },
      key: { value: 'text', doc: 'The key of every record.' },
      'key-separator': { value: 'text', doc: 'The part of a line before this text is the key.' },
      header: { value: 'name=value', doc: 'A header of every record.', isMany: true },
      partition: {
        value: 'n',
        doc: 'The partition of every record; by default the one of its key, or any without a key.',
      },
      ndjson: {
        value: null,
        doc: 'Each line is a record as ketch export and ketch tail --json write it: partition, key, value, headers, timestamp.',
      },
      schema: {
        value: 'name',
        doc: 'Values are JSON, as --decode=registry shows them; the broker encodes them with this schema: a subject, subject:version, or an id.',
      },
      'key-schema': { value: 'name', doc: 'The same for keys.' },
      message: { value: 'name', doc: 'The Protobuf message of values; by default the first one of the schema.' },
      'key-message': { value: 'name', doc: 'The same for keys.' },
    },
    run: produce,
  },
]

async function produce(call: Call): Promise<ExitStatus> {
  const values = call.options('value')
  if (call.has('ndjson') && ['value', 'key', 'key-separator', 'header'].some(name => call.has(name)))
    throw new CommandFailed(EXIT.USAGE, '--ndjson has keys, values and headers in its lines')
  if (call.has('key-separator') && (call.has('key') || values.length > 0))
    throw new CommandFailed(EXIT.USAGE, '--key-separator is for lines, and --key gives every record the same key')
  if (call.option('key-separator') === '')
    throw new CommandFailed(EXIT.USAGE, '--key-separator: got "", takes at least one letter')
  const read = recordReader(call)
  const path = `/api/v1/topics/${segment(call.args[0]!)}/messages`
  const sums = new Map<number, Sum>()
  let count = 0
  const send = async (records: RecordToProduce[], last: number) => {
    const numbered = numberer(call, values.length > 0 ? 'value' : 'line', last - records.length + 1)
    const { messages: rows } = await call.api
      .post<ProducedMessages>(path, { messages: records } satisfies NewMessages)
      .catch(numbered)
    const good = rows.filter(({ error }) => error === null)
    for (const row of good) add(sums, row)
    count += good.length
    const error = rows.find(row => row.error !== null)?.error
    if (error)
      throw new CommandFailed(EXIT.REFUSED, `${error.detail} [${error.code}]${schemaHint(call, error.detail)}`, {
        problem: error,
      })
  }
  const work = async () => {
    // This request comes before the input is read, because it may ask for a password.
    if (values.length === 0) await call.api.get(`/api/v1/topics/${segment(call.args[0]!)}`)
    const lots = values.length > 0 ? [values.map(value => Buffer.from(value))] : linesOf(call.terminal.input())
    let at = 0
    for await (const lot of lots) {
      let records: RecordToProduce[] = []
      let bytes = 0
      let values = 0
      for (const line of lot) {
        const record = read(line, at + 1)
        const size = Buffer.byteLength(JSON.stringify(record))
        const itsValues = VALUES_OF_RECORD + VALUES_OF_HEADER * (record.headers?.length ?? 0)
        const isFull = bytes + size > MOST_BYTES || values + itsValues > PRODUCE_BODY_VALUES
        if (records.length === MOST_AT_ONCE || (records.length > 0 && isFull)) {
          await send(records, at)
          records = []
          bytes = 0
          values = 0
        }
        records.push(record)
        at++
        bytes += size
        values += itsValues
      }
      if (records.length > 0) await send(records, at)
    }
  }
  try {
    await withProgressSignedIn(call, () => `${counted(count, 'record')} produced`, work)
  } catch (error) {
    if (!(error instanceof CommandFailed) || count === 0) throw error
    const { status, message, problem } = error
    const before = `${counted(count, 'record')} of the input ${count === 1 ? 'was' : 'were'} produced before`
    const told = problem === null ? null : { ...problem, produced: count }
    throw new CommandFailed(status, `${message}\n  ${before}`, { problem: told, cause: error })
  }
  const partitions = [...sums.values()].sort((one, other) => one.partition - other.partition)
  call.show({ records: count, partitions }, () =>
    table(
      ['PARTITION', 'RECORDS', 'FIRST OFFSET', 'LAST OFFSET'],
      partitions.map(each => [each.partition, each.records, each.firstOffset, each.lastOffset]),
    ),
  )
  return EXIT.OK
}

/** Returns how to produce with a schema if a record was refused because it has none; else an empty text. */
function schemaHint(call: Call, detail: string): string {
  if (!detail.includes('no-schema-id')) return ''
  const [option, part] = /\bkey breaks the rule/.test(detail) ? ['key-schema', 'key'] : ['schema', 'value']
  if (call.option(option) !== undefined) return ''
  return `\n  --${option} encodes JSON, for example with --${option}=${call.args[0]}-${part}`
}

/** Returns what throws a refusal with the lines of the input in place of the records of the request, and a hint. */
function numberer(call: Call, what: string, first: number): (error: unknown) => never {
  return error => {
    if (!(error instanceof CommandFailed)) throw error
    const { status, message, problem } = error
    const named = message.replace(/\bmessages\.(\d+)\./g, (_, at) => `${what} ${first + Number(at)}: `)
    const told = `${named}${schemaHint(call, message)}`
    throw told === message ? error : new CommandFailed(status, told, { problem, cause: error })
  }
}

function add(sums: Map<number, Sum>, { partition, offset }: Produced): void {
  const sum = sums.get(partition)
  if (sum === undefined) sums.set(partition, { partition, records: 1, firstOffset: offset!, lastOffset: offset! })
  else {
    sum.records++
    sum.lastOffset = offset!
  }
}

/** Yields the complete lines after each chunk. The last line needs no line end. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Buffer[], void> {
  let parts: Buffer[] = []
  for await (const chunk of chunks) {
    const lines: Buffer[] = []
    let rest = Buffer.from(chunk)
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      lines.push(Buffer.concat([...parts, rest.subarray(0, end)]))
      parts = []
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) parts.push(rest)
    if (lines.length > 0) yield lines
  }
  if (parts.length > 0) yield [Buffer.concat(parts)]
}
