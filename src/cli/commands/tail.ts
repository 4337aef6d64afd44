// The command that shows the records of a topic as they arrive. With --json each record is one line of JSON.

import type { MessagePage, ShownRecord, ShownValue, TailEventData } from '../../api/messages.ts'
import { DECODINGS } from '../../api/words.ts'
import { sleep } from '../../base/clock.ts'
import { printable } from '../../base/printable.ts'
import type { Query } from '../api.ts'
import { type Call, type Command, integerOption, segment, wordOption } from '../command.ts'
import { CommandFailed, EXIT, type ExitStatus } from '../exit-status.ts'
import { withProgressSignedIn } from '../progress.ts'
import { time } from '../table.ts'

/** The most records that the API returns in one page. */
const PAGE_RECORDS = 1_000
const PAUSE_MS = 1_000
/** The command gives up after this many failures in a row. */
const MOST_FAILURES = 10

function said(shown: ShownValue | null): string {
  if (shown === null) return 'null'
  const text = shown.text === undefined ? `base64:${shown.base64 ?? ''}` : printable(shown.text)
  return `${text}${shown.truncated ? '…' : ''}${schemaOf(shown)}`
}

/** Returns the schema that the value names, or why it is not decoded with one; empty if it was not to be decoded so. */
function schemaOf({ status, schema, reason }: ShownValue): string {
  if (schema === undefined && (status !== 'raw' || reason === undefined)) return ''
  if (schema === undefined || status !== 'decoded') return ` [${status}: ${printable(reason ?? '')}]`
  const { id, subject, version, type, message } = schema
  const named = subject == null ? [] : [`${printable(subject)} ${version}`]
  return ` [${[...named, `id ${id}`, type, ...(message === undefined ? [] : [message])].join(', ')}]`
}

/** Returns whether the bytes of a value begin with zero, as the prefix of a schema id does. */
function beginsWithZero(shown: ShownValue | null): boolean {
  return shown?.text?.startsWith('\0') === true || shown?.base64?.startsWith('AA') === true
}

function line({ partition, offset, timestamp, key, value, headers }: ShownRecord): string {
  const marks = headers.map(header => ` ${printable(header.key)}=${said(header.value)}`).join('')
  return `${time(timestamp) ?? '-'}  ${partition}@${offset}  ${said(key)}  ${said(value)}${marks}\n`
}

export const tailCommands: readonly Command[] = [
  {
    name: 'tail',
    doc: 'Shows the records of a topic as they arrive, until Ctrl-C. A line has the time, partition@offset, the key and the value; with --decode=registry also the subject, version, id and type of the schema.',
    args: [{ name: 'topic' }],
    options: {
      partition: { value: 'n', doc: 'Only this partition.' },
      last: { value: 'n', doc: 'Begins with this many of the newest existing records.' },
      count: { value: 'n', doc: 'Ends after this many records.' },
      decode: { value: 'as', doc: `How the broker decodes values: ${DECODINGS.join(', ')}; utf8 by default.` },
      'key-decode': { value: 'as', doc: 'The same for keys.' },
      contains: { value: 'text', doc: 'Only records whose key or value has this text.' },
    },
    run: tail,
  },
]

async function tail(call: Call): Promise<ExitStatus> {
  const { api, terminal, clock } = call
  const path = `/api/v1/topics/${segment(call.args[0]!)}/messages`
  const partition = integerOption(call, 'partition', 0)
  const contains = call.option('contains')
  const last = integerOption(call, 'last', 1)
  const query = {
    ...(partition === undefined ? {} : { partition }),
    ...(contains === undefined ? {} : { contains }),
    decode: wordOption(call, 'decode', DECODINGS, 'utf8'),
    keyDecode: wordOption(call, 'key-decode', DECODINGS, 'utf8'),
  }
  let left = integerOption(call, 'count', 1) ?? Number.POSITIVE_INFINITY
  let isHinted = call.isJson || call.option('decode') !== undefined
  const print = (records: readonly ShownRecord[]) => {
    if (!isHinted && records.slice(0, left).some(({ value }) => beginsWithZero(value))) {
      isHinted = true
      terminal.err('ketch: values begin as those with a schema do; --decode=registry shows these as JSON\n')
    }
    for (const record of records.slice(0, left)) {
      terminal.out(call.isJson ? `${JSON.stringify(record)}\n` : line(record))
      left--
    }
  }
  let cursor: string | null = null
  if (last !== undefined) {
    const newest = await readNewest(call, path, query, last)
    print(newest.records.reverse())
    cursor = newest.tailCursor
  }
  for (let failures = 0; left > 0; ) {
    try {
      const begin = cursor === null ? query : { ...query, cursor }
      for await (const { type, data, id } of api.events(`${path}/tail`, begin, cursor)) {
        failures = 0
        cursor = id ?? cursor
        if (type === 'messages') print(dataOf('messages', data).messages)
        if (type === 'dropped') {
          // The count is null if the offsets of the topic have gaps: then the number is unknown.
          const { count } = dataOf('dropped', data)
          terminal.err(`ketch: ${count ?? 'some'} records came faster than they were read\n`)
        }
        if (type === 'end') throw new CommandFailed(EXIT.REFUSED, dataOf('end', data).detail)
        if (left <= 0) return EXIT.OK
      }
    } catch (error) {
      // Ctrl-C is the usual end of this command.
      if (terminal.interrupted.aborted) return EXIT.OK
      const isPassing = !(error instanceof CommandFailed) || error.status === EXIT.UNAVAILABLE
      if (!isPassing || ++failures >= MOST_FAILURES) throw error
      terminal.err(`ketch: ${error instanceof CommandFailed ? error.message : 'the connection broke'}; trying again\n`)
    }
    if (terminal.interrupted.aborted) return EXIT.OK
    if (left > 0) await sleep(clock, PAUSE_MS)
  }
  return EXIT.OK
}

function dataOf<N extends keyof TailEventData>(_name: N, data: string): TailEventData[N] {
  return JSON.parse(data)
}

/**
 * Reads at most this many of the newest records, newest first. Returns them and a cursor: a tail from this cursor
 * misses no later record.
 */
async function readNewest(call: Call, path: string, query: Query, most: number) {
  const records: ShownRecord[] = []
  /** The partitions that could not be read. Each page tries those of the page before again. */
  let unavailable: MessagePage['unavailable'] = []
  const readPage = async (cursor?: string): Promise<MessagePage> => {
    const limit = Math.min(most - records.length, PAGE_RECORDS)
    const page = await call.api.get<MessagePage>(path, { ...query, order: 'newest', limit, cursor })
    records.push(...page.messages)
    unavailable = page.unavailable
    return page
  }
  const read = async (): Promise<string> => {
    const { nextCursor, tailCursor } = await readPage()
    for (let next = nextCursor; next !== null && records.length < most; ) next = (await readPage(next)).nextCursor
    // A record that arrives while further pages are read lies after the end that the first page saw, and so after
    // this cursor.
    return tailCursor
  }
  const said = () => `${records.length} of ${most} records`
  const tailCursor = await withProgressSignedIn(call, said, read)
  for (const { partition, detail } of unavailable)
    call.terminal.err(`ketch: partition ${partition} cannot be read: ${detail}\n`)
  return { tailCursor, records }
}
