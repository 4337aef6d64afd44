// Records of a topic as they come. For programs each is one line of JSON.

import { sleep } from '../../base/clock.ts'
import { printable } from '../../base/printable.ts'
import type { Query } from '../api.ts'
import { type Call, type Command, integerOption, segment, wordOption } from '../command.ts'
import { CommandFailed, EXIT, type ExitStatus } from '../exit-status.ts'
import { withProgress } from '../progress.ts'
import { time } from '../table.ts'

interface Shown {
  readonly status: string
  readonly text?: string
  readonly base64?: string
  readonly truncated: boolean
}

interface Message {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number | null
  readonly key: Shown | null
  readonly value: Shown | null
  readonly headers: readonly { readonly key: string; readonly value: Shown | null }[]
}

interface Page {
  readonly messages: readonly Message[]
  /** Null after the last page. One that is not full need not be the last. */
  readonly nextCursor: string | null
  readonly tailCursor: string
  readonly unavailable: readonly { readonly partition: number; readonly detail: string }[]
}

export const DECODINGS = ['json', 'utf8', 'raw', 'registry'] as const
/** As many as the API gives at once. */
const PAGE_MESSAGES = 1_000
const PAUSE_MS = 1_000
/** So often in a row nobody answered before it is given up. */
const MOST_FAILURES = 10

function said(shown: Shown | null): string {
  if (shown === null) return 'null'
  const text = shown.text === undefined ? `base64:${shown.base64 ?? ''}` : printable(shown.text)
  return shown.truncated ? `${text}…` : text
}

function line({ partition, offset, timestamp, key, value, headers }: Message): string {
  const marks = headers.map(header => ` ${printable(header.key)}=${said(header.value)}`).join('')
  return `${time(timestamp) ?? '-'}  ${partition}@${offset}  ${said(key)}  ${said(value)}${marks}\n`
}

export const tailCommands: readonly Command[] = [
  {
    name: 'tail',
    doc: 'The records of a topic as they come, until Ctrl-C. A line has the time, partition@offset, the key and the value.',
    args: [{ name: 'topic' }],
    options: {
      partition: { value: 'n', doc: 'Only this partition.' },
      last: { value: 'n', doc: 'Begins with so many records that are there already.' },
      count: { value: 'n', doc: 'Ends after so many records.' },
      decode: { value: 'as', doc: `How values are read: ${DECODINGS.join(', ')}; utf8 where it is not said.` },
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
  }
  let left = integerOption(call, 'count', 1) ?? Number.POSITIVE_INFINITY
  const print = (messages: readonly Message[]) => {
    for (const message of messages.slice(0, left)) {
      terminal.out(call.isJson ? `${JSON.stringify(message)}\n` : line(message))
      left--
    }
  }
  let cursor: string | null = null
  if (last !== undefined) {
    const newest = await readNewest(call, path, query, last)
    print(newest.messages.reverse())
    cursor = newest.tailCursor
  }
  for (let failures = 0; left > 0; ) {
    try {
      const begin = cursor === null ? query : { ...query, cursor }
      for await (const { type, data, id } of api.events(`${path}/tail`, begin, cursor)) {
        failures = 0
        cursor = id ?? cursor
        if (type === 'messages') print((JSON.parse(data) as { messages: readonly Message[] }).messages)
        if (type === 'dropped') {
          // Null: in a topic whose offsets have gaps nobody has counted them.
          const { count } = JSON.parse(data) as { count: number | null }
          terminal.err(`ketch: ${count ?? 'some'} records came faster than they were read\n`)
        }
        if (type === 'end') throw new CommandFailed(EXIT.REFUSED, (JSON.parse(data) as { detail: string }).detail)
        if (left <= 0) return EXIT.OK
      }
    } catch (error) {
      // Ctrl-C is how this ends.
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

/** So many of the newest records, or all that there are, newest first, and where a tail begins that misses none after them. */
async function readNewest(call: Call, path: string, query: Query, most: number) {
  const messages: Message[] = []
  /** A page tries again what the one before could not read. */
  let unavailable: Page['unavailable'] = []
  const readPage = async (cursor?: string): Promise<Page> => {
    const limit = Math.min(most - messages.length, PAGE_MESSAGES)
    const page = await call.api.get<Page>(path, { ...query, order: 'newest', limit, cursor })
    messages.push(...page.messages)
    unavailable = page.unavailable
    return page
  }
  const read = async (): Promise<string> => {
    const { nextCursor, tailCursor } = await readPage()
    for (let next = nextCursor; next !== null && messages.length < most; ) next = (await readPage(next)).nextCursor
    // What comes while further pages are read is above where the first page saw the end.
    return tailCursor
  }
  const said = () => `${messages.length} of ${most} records`
  const tailCursor = await withProgress(call, said, read())
  for (const { partition, detail } of unavailable)
    call.terminal.err(`ketch: partition ${partition} cannot be read: ${detail}\n`)
  return { tailCursor, messages }
}
