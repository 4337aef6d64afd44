// Runs the verbs against Ketch and against Apache Kafka, and compares their output line by line.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startApacheKafka } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { freePort, startBrokerProcess } from '../../testing/process.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { openKafka } from '../kafkajs/client.ts'
import { type Difference, differences } from './differences.ts'
import { type Printed, startTools, type Tool, type Tools } from './tools.ts'
import { FILES, type Verb, verbs } from './verbs.ts'

export interface Comparison {
  readonly tool: Tool
  /** The command as a user types it, without the address. */
  readonly command: string
  /** The known differences (differences.ts) that the output shows. */
  readonly known: readonly Difference[]
  /** Lines that only one of the two prints, without a known reason: `ketch: …`, `kafka: …`. */
  readonly unexplained: readonly string[]
}

const GROUP = 'live'

/** Tools that take the address only before their verb. */
const SERVER_FIRST: ReadonlySet<Tool> = new Set(['kafka-metadata-quorum', 'kafka-transactions'])

/** Compares every verb, in order, and yields each comparison when it is made. */
export async function* compareTools(cleanUp: CleanUp): AsyncGenerator<Comparison> {
  const folder = await temporaryFolder(cleanUp, 'ketch-tools-')
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text)
  // Both serve rules only with ACLs. The only client may do everything, on a listener without SASL.
  const port = await freePort()
  const broker = await startBrokerProcess(cleanUp, {
    settings: {
      'svc.broker.id': '1',
      'svc.broker.rebalance-delay': '0ms',
      'svc.broker.sasl.enabled': 'true',
      'svc.broker.acl.enabled': 'true',
      'svc.broker.acl.super-users': 'ANONYMOUS',
      'svc.broker.listeners[0].name': 'OPEN',
      'svc.broker.listeners[0].port': String(port),
      'svc.broker.listeners[0].security': 'plaintext',
    },
  })
  const ketch = { ...broker, port, address: `127.0.0.1:${port}` }
  const kafka = await startApacheKafka(cleanUp, {
    properties: {
      'group.initial.rebalance.delay.ms': '0',
      'offsets.topic.num.partitions': '1',
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  })
  const tools = startTools(cleanUp)
  let live: (() => Promise<void>) | null = null
  for (const verb of verbs) {
    if (verb.isLive && live === null) {
      const consumers = [await startConsumer(ketch.address), await startConsumer(kafka.address)]
      live = async () => void (await Promise.all(consumers.map(stop => stop())))
      cleanUp.after(async () => void (await live?.()))
    } else if (!verb.isLive && live !== null) {
      await live()
      live = null
    }
    const here = await run(tools, verb, ketch.address, folder)
    const there = await run(tools, verb, kafka.address, folder)
    const command = `${verb.tool} ${verb.args.join(' ')}`.trim()
    yield { tool: verb.tool, command, ...explain(command, here, there, verb.isUnordered === true) }
  }
}

/** Hides each known difference in turn. A difference counts as shown if fewer lines differ without it. */
function explain(
  command: string,
  here: string,
  there: string,
  isUnordered: boolean,
): Pick<Comparison, 'known' | 'unexplained'> {
  const known: Difference[] = []
  const linesOf = (text: string) => {
    const lines = text.split('\n').filter(line => line.trim() !== '')
    return isUnordered ? lines.sort() : lines
  }
  let unexplained = differ(linesOf(here), linesOf(there))
  for (const difference of differences) {
    if (unexplained.length === 0) break
    if (!difference.commands.test(command)) continue
    const hide = (text: string) => difference.hides.reduce((hidden, [pattern, by]) => hidden.replace(pattern, by), text)
    here = hide(here)
    there = hide(there)
    const left = differ(linesOf(here), linesOf(there))
    if (left.length < unexplained.length) known.push(difference)
    unexplained = left
  }
  return { known, unexplained }
}

async function run(tools: Tools, verb: Verb, address: string, folder: string): Promise<string> {
  const args = verb.args.map(arg => arg.replace('{folder}', folder))
  const server = ['--bootstrap-server', address]
  const isFirst = SERVER_FIRST.has(verb.tool)
  const printed = await tools.run(verb.tool, isFirst ? [...server, ...args] : [...args, ...server], verb.input)
  return textOf(printed, verb, address)
}

/** Starts a consumer. When it has read all of `events`, resolves to the function that stops it. */
async function startConsumer(address: string): Promise<() => Promise<void>> {
  const consumer = openKafka(address).consumer({ groupId: GROUP })
  const joined = new Promise<void>(resolve => void consumer.on('consumer.group_join', () => resolve()))
  const { promise: all, resolve } = Promise.withResolvers<void>()
  let count = 0
  await consumer.connect()
  await consumer.subscribe({ topic: 'events', fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async () => {
      if (++count === 6) resolve()
    },
  })
  await joined
  await all
  await consumer.commitOffsets([
    { topic: 'events', partition: 0, offset: '1' },
    { topic: 'events', partition: 1, offset: '2' },
  ])
  return () => consumer.disconnect()
}

/** Text that belongs to one run: addresses, ids, times, folders, and columns as wide as their content. */
const OF_A_RUN: readonly (readonly [RegExp, string])[] = [
  [/TopicId: [\w-]{22}/g, 'TopicId: <id>'],
  [/Cluster ID: [\w-]{22}/g, 'Cluster ID: <id>'],
  [/(e2e|console-consumer|consumer-[\w-]+?)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '$1-<id>'],
  [/console-consumer-\d+/g, 'console-consumer-<id>'],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[:,.]\d{3}/g, '<time>'],
  [/(timestamp"?:|CreateTime:)\d{13}/g, '$1<time>'],
  [/"logDir":"[^"]*"/g, '"logDir":"<folder>"'],
  [/"log_dirs":\["\/[^"]*"\]/g, '"log_dirs":["<folder>"]'],
  // The stack traces of Java.
  [/^\s+(at |\.\.\. \d+ more).*\n/gm, ''],
  [/ {2,}/g, ' '],
  [/\s+$/gm, ''],
]

function textOf({ status, out, err }: Printed, verb: Verb, address: string): string {
  const [host, port] = address.split(':')
  const ending = status === null ? 'did not end' : `exit status ${status}`
  let text = `${out}\n${err}\n${ending}`.replaceAll(address, '<address>').replaceAll(`${host} ${port}`, '<address>')
  for (const [pattern, replacement] of [...OF_A_RUN, ...(verb.hidden ?? [])]) text = text.replace(pattern, replacement)
  return text
}

/** Returns the lines that are not in the longest common subsequence, each with its origin. */
function differ(here: readonly string[], there: readonly string[]): string[] {
  // common[i][j] is the length of the longest common subsequence of here from i on and there from j on.
  const common = Array.from({ length: here.length + 1 }, () => new Array<number>(there.length + 1).fill(0))
  for (let i = here.length - 1; i >= 0; i--) {
    for (let j = there.length - 1; j >= 0; j--) {
      common[i]![j] =
        here[i] === there[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
    }
  }
  const lines: string[] = []
  for (let i = 0, j = 0; i < here.length || j < there.length; ) {
    if (i < here.length && j < there.length && here[i] === there[j]) {
      i++
      j++
    } else if (j === there.length || (i < here.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push(`ketch: ${here[i++]}`)
    } else lines.push(`kafka: ${there[j++]}`)
  }
  return lines
}
