// Produces records from the command line: one that is spelled out, or one for each line that comes in, as text or as JSON. They are
// sent as they come, and each lot is acknowledged before the next is sent, so that what was not produced is the end of the input.

import { isUtf8 } from 'node:buffer'
import { type Call, type Command, integerOption, pairsOption, segment } from '../command.ts'
import { CommandFailed, EXIT, type ExitStatus } from '../exit-status.ts'
import { withProgress } from '../progress.ts'
import { counted, table } from '../table.ts'

type Content = { readonly text: string } | { readonly base64: string }

interface NewMessage {
  readonly partition?: number | undefined
  readonly key?: Content | null
  readonly value?: Content | null
  readonly headers?: readonly { readonly key: string; readonly value: Content | null }[]
  readonly timestamp?: number | undefined
}

interface Produced {
  readonly partition: number
  readonly offset: number | null
  readonly error: { readonly code: string; readonly detail: string } | null
}

interface Sum {
  readonly partition: number
  records: number
  readonly firstOffset: number
  lastOffset: number
}

/** As many as the API takes in one request, and half of what it takes in bytes. */
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
      'key-separator': { value: 'text', doc: 'What is before it in a line is the key.' },
      header: { value: 'name=value', doc: 'A header of every record.', isMany: true },
      partition: { value: 'n', doc: 'The partition of every record; else that of its key, or any.' },
      ndjson: {
        value: null,
        doc: 'Each line is a record as ketch export and ketch tail --json write it: partition, key, value, headers, timestamp.',
      },
    },
    run: produce,
  },
]

async function produce(call: Call): Promise<ExitStatus> {
  const values = call.options('value')
  if (call.has('ndjson') && ['value', 'key', 'key-separator', 'header'].some(name => call.has(name)))
    throw new CommandFailed(EXIT.USAGE, '--ndjson has keys, values and headers in its lines')
  if (call.has('key-separator') && (call.has('key') || values.length > 0))
    throw new CommandFailed(EXIT.USAGE, '--key-separator is of lines without --key')
  if (call.option('key-separator') === '')
    throw new CommandFailed(EXIT.USAGE, '--key-separator: got "", takes at least one letter')
  const read = reader(call)
  const path = `/api/v1/topics/${segment(call.args[0]!)}/messages`
  const sums = new Map<number, Sum>()
  let count = 0
  const send = async (messages: readonly NewMessage[]) => {
    const { messages: rows } = await call.api.post<{ messages: readonly Produced[] }>(path, { messages })
    const good = rows.filter(({ error }) => error === null)
    for (const row of good) add(sums, row)
    count += good.length
    const error = rows.find(row => row.error !== null)?.error
    if (error) throw new CommandFailed(EXIT.REFUSED, `${error.detail} [${error.code}]`, { problem: error })
  }
  const work = async () => {
    // Before anything is read: it may ask for a password.
    if (values.length === 0) await call.api.get(`/api/v1/topics/${segment(call.args[0]!)}`)
    const lots = values.length > 0 ? [values.map(value => Buffer.from(value))] : linesOf(call.terminal.input())
    let at = 0
    for await (const lot of lots) {
      let messages: NewMessage[] = []
      let bytes = 0
      for (const line of lot) {
        const message = read(line, ++at)
        const size = Buffer.byteLength(JSON.stringify(message))
        if (messages.length === MOST_AT_ONCE || (messages.length > 0 && bytes + size > MOST_BYTES)) {
          await send(messages)
          messages = []
          bytes = 0
        }
        messages.push(message)
        bytes += size
      }
      if (messages.length > 0) await send(messages)
    }
  }
  try {
    await withProgress(call, () => `${counted(count, 'record')} produced`, work())
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

function add(sums: Map<number, Sum>, { partition, offset }: Produced): void {
  const sum = sums.get(partition)
  if (sum === undefined) sums.set(partition, { partition, records: 1, firstOffset: offset!, lastOffset: offset! })
  else {
    sum.records++
    sum.lastOffset = offset!
  }
}

/** The lines that are complete whenever something has come in; the last needs no end. */
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

/** What a line is as a record, as the options say. */
function reader(call: Call): (line: Buffer, at: number) => NewMessage {
  const partition = integerOption(call, 'partition', 0)
  if (call.has('ndjson'))
    return (line, at) => ({ ...readJson(line, at), ...(partition === undefined ? {} : { partition }) })
  const headers = pairsOption(call, 'header').map(([key, text]) => ({ key, value: { text } }))
  const given = call.option('key')
  const key = given === undefined ? null : { text: given }
  const separator = call.option('key-separator')
  return (line, at) => {
    if (separator === undefined) return { partition, key, value: contentOf(line), headers }
    const end = line.indexOf(separator)
    if (end < 0) throw new CommandFailed(EXIT.USAGE, `line ${at}: has no key before ${JSON.stringify(separator)}`)
    const value = line.subarray(end + Buffer.byteLength(separator))
    return { partition, key: contentOf(line.subarray(0, end)), value: contentOf(value), headers }
  }
}

function contentOf(bytes: Buffer): Content {
  return isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') }
}

/** What a record of an export says of itself, and another need not have. */
const PASSED_OVER = ['offset', 'timestampType', 'headerCount', 'undecodedHeaders']

function readJson(line: Buffer, at: number): NewMessage {
  const fail = (why: string): never => {
    throw new CommandFailed(EXIT.USAGE, `line ${at}: ${why}`)
  }
  let read: unknown
  try {
    read = JSON.parse(line.toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return fail(`is no JSON: ${error.message}`)
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return fail('is no JSON object')
  const { partition, key, value, headers = [], timestamp, ...more } = read as Record<string, unknown>
  const strange = Object.keys(more).find(name => !PASSED_OVER.includes(name))
  if (strange !== undefined) return fail(`a record has no ${JSON.stringify(strange)}`)
  const content = (shown: unknown, what: string): Content | null => {
    if (shown === undefined || shown === null) return null
    if (typeof shown === 'string') return { text: shown }
    const { text, base64, truncated } = shown as { text?: unknown; base64?: unknown; truncated?: unknown }
    if (truncated === true) return fail(`only the beginning of the ${what} is there`)
    if (typeof text === 'string') return { text }
    if (typeof base64 === 'string') return { base64 }
    return fail(`the ${what} takes a text, {"text": …}, {"base64": …} or null`)
  }
  if (!Array.isArray(headers)) return fail('headers takes a list')
  if (typeof more.headerCount === 'number' && more.headerCount > headers.length)
    return fail(`only ${headers.length} of ${more.headerCount} headers are there`)
  return {
    partition: partition as number | undefined,
    key: content(key, 'key'),
    value: content(value, 'value'),
    headers: headers.map((header: { key?: unknown; value?: unknown } | null) => {
      if (typeof header?.key !== 'string') return fail('a header takes a key')
      return { key: header.key, value: content(header.value, `header ${header.key}`) }
    }),
    // Null: it has none. The others are the API's to judge.
    timestamp: (timestamp ?? undefined) as number | undefined,
  }
}
