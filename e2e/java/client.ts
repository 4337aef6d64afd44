// Kafka's own console producer and consumer (Apache Kafka 4.2, from Maven Central) as a client of the matrix. They speak
// delimited text; the producer chooses partitions and stamps times by itself.

import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, CODECS, type Header, type Received, runsByCodec, type Sent } from '../client.ts'
import { hasProgram, runCommand } from '../command.ts'

const jars = fileURLToPath(new URL('../../.cache/java', import.meta.url))
const pom = fileURLToPath(new URL('pom.xml', import.meta.url))

/** Between the parts of a record, and at its end: strings that no record of the tests holds. */
const PART = '<|part|>'
const END = '<|end|>'
const NULL = '<|null|>'
const NO_HEADERS = 'NO_HEADERS'

/** Fetches Kafka's tools once, through Maven; says why not where that fails. */
function fetchJars(): string | null {
  if (globSync(join(jars, 'kafka-tools-*.jar')).length > 0) return null
  if (!hasProgram('mvn')) return 'SKIPPED e2e/java: apt-get install maven'
  const args = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`]
  const { status, stdout, stderr } = spawnSync('mvn', args, { encoding: 'utf8', timeout: 300_000 })
  if (status === 0 && existsSync(jars)) return null
  const why = `${stdout}${stderr}`.split('\n').find(line => line.includes('ERROR')) ?? `status ${status}`
  return `SKIPPED e2e/java: Maven Central must be reachable for Kafka's tools (${why.slice(0, 200)})`
}

/** Runs one of Kafka's programs by class. */
export function runJava(mainClass: string, args: readonly string[], input?: string | Buffer): Promise<Buffer> {
  const heap = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dfile.encoding=UTF-8']
  return runCommand('java', [...heap, '-cp', join(jars, '*'), mainClass, ...args], input === undefined ? {} : { input })
}

const properties = (flag: string, pairs: Readonly<Record<string, string>>) =>
  Object.entries(pairs).flatMap(([name, value]) => [flag, `${name}=${value}`])

export const javaConsole: Client = {
  name: 'java-console',
  absence: () => (hasProgram('java') ? fetchJars() : 'SKIPPED e2e/java: apt-get install default-jre-headless maven'),
  codecs: CODECS,
  async produce(address, topic, records) {
    const sent = records.map(expressible)
    for (const run of runsByCodec(sent)) {
      const lines = run.map(({ headers, key, value }) => {
        const headerText = headers.map(header => `${header.name}:${header.value ?? NULL}`).join(',')
        return [headers.length === 0 ? NULL : headerText, key ?? NULL, value ?? NULL].join(PART)
      })
      await runJava(
        'org.apache.kafka.tools.ConsoleProducer',
        [
          ...['--bootstrap-server', address, '--topic', topic, '--compression-codec', run[0]!.codec],
          ...properties('--command-property', { acks: 'all', 'linger.ms': '5' }),
          ...properties('--reader-property', {
            'parse.key': 'true',
            'parse.headers': 'true',
            'key.separator': PART,
            'headers.delimiter': PART,
            'null.marker': NULL,
          }),
        ],
        `${lines.join('\n')}\n`,
      )
    }
    return sent
  },
  async consume(address, topic, group, count) {
    const output = await runJava('org.apache.kafka.tools.consumer.ConsoleConsumer', [
      ...['--bootstrap-server', address, '--topic', topic, '--group', group, '--from-beginning'],
      ...['--max-messages', String(count)],
      ...properties('--command-property', { 'heartbeat.interval.ms': '500' }),
      ...properties('--formatter-property', {
        'print.partition': 'true',
        'print.offset': 'true',
        'print.timestamp': 'true',
        'print.headers': 'true',
        'print.key': 'true',
        'print.value': 'true',
        'key.separator': PART,
        'line.separator': END,
        'headers.separator': ',',
        'null.literal': NULL,
      }),
    ])
    return split(output, END).map(parseRecord)
  },
}

/** What the console producer can say: text without a line break, no partition, no timestamp. */
function expressible(record: Sent): Sent {
  const isText = record.value?.equals(Buffer.from(record.value.toString())) !== false
  const value = isText ? record.value : Buffer.from(`${record.id}:no text`)
  return { ...record, value, partition: null, timestamp: null }
}

function split(bytes: Buffer, mark: string): Buffer[] {
  const parts: Buffer[] = []
  let from = 0
  for (;;) {
    const at = bytes.indexOf(mark, from)
    if (at < 0) return parts
    parts.push(bytes.subarray(from, at))
    from = at + mark.length
  }
}

function parseRecord(line: Buffer): Received {
  // CreateTime:1600000000000 | Partition:0 | Offset:17 | headers | key | value
  const [timestamp, partition, offset, headers, key, value] = split(Buffer.concat([line, Buffer.from(PART)]), PART)
  const orNull = (bytes: Buffer) => (bytes.equals(Buffer.from(NULL)) ? null : bytes)
  const number = (bytes: Buffer) => Number(bytes.toString().split(':')[1])
  return {
    timestamp: number(timestamp!),
    partition: number(partition!),
    offset: number(offset!),
    headers: parseHeaders(headers!.toString()),
    key: orNull(key!),
    value: orNull(value!),
  }
}

function parseHeaders(text: string): Header[] {
  if (text === NO_HEADERS) return []
  return text.split(',').map(pair => {
    const [name = '', value = ''] = pair.split(':')
    return { name, value: value === NULL ? null : Buffer.from(value) }
  })
}
