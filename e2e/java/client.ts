// Kafka's own console producer and consumer (Apache Kafka 4.2, from Maven Central) as a client of the matrix. They
// speak delimited text; the producer chooses partitions and stamps times by itself.

import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import { type Client, CODECS, type Header, type Received, runsByCodec, type Sent } from '../client.ts'
import { runCommand, startCommand } from '../command.ts'
import { type ClientSecurity, NO_SECURITY } from '../security/security.ts'
import { fetchJars, JAVA_ARGUMENTS } from './jars.ts'
import { securityFlags, withPropertiesFile } from './security.ts'

/** The marks between the parts of a record and at its end. No record of the tests contains them. */
const PART = '<|part|>'
const END = '<|end|>'
const NULL = '<|null|>'
const NO_HEADERS = 'NO_HEADERS'

/** Runs one of Kafka's programs by its class. */
export function runJava(mainClass: string, args: readonly string[], input?: string | Buffer): Promise<Buffer> {
  return runCommand('java', [...JAVA_ARGUMENTS, mainClass, ...args], input === undefined ? {} : { input })
}

/** Runs one of the console programs. They end with status 0 after an error, which they only log. */
function runConsole(mainClass: string, security: ClientSecurity, args: readonly string[], input = ''): Promise<Buffer> {
  return withPropertiesFile(security, async file => {
    const flags = [...securityFlags(security), ...JAVA_ARGUMENTS, mainClass, '--command-config', file]
    const running = startCommand('java', [...flags, ...args], { input })
    const output = await running.done
    if (running.complaints().includes('ERROR')) throw new Error(`${mainClass} logged: ${running.complaints()}`)
    return output
  })
}

const properties = (flag: string, pairs: Readonly<Record<string, string>>) =>
  Object.entries(pairs).flatMap(([name, value]) => [flag, `${name}=${value}`])

export const javaConsole: Client = {
  name: 'java-console',
  from: 'Maven Central',
  version: () => KAFKA_VERSION,
  absence: fetchJars,
  codecs: CODECS,
  cannotSend: 'partitions, timestamps, values that are not text',
  lacks: {},
  refused: /SaslAuthenticationException/,
  async produce(address, topic, records, security = NO_SECURITY) {
    const sent = records.map(expressible)
    for (const run of runsByCodec(sent)) {
      const lines = run.map(({ headers, key, value }) => {
        const headerText = headers.map(header => `${header.name}:${header.value ?? NULL}`).join(',')
        return [headers.length === 0 ? NULL : headerText, key ?? NULL, value ?? NULL].join(PART)
      })
      await runConsole(
        'org.apache.kafka.tools.ConsoleProducer',
        security,
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
  async consume(address, topic, group, count, security = NO_SECURITY) {
    const output = await runConsole('org.apache.kafka.tools.consumer.ConsoleConsumer', security, [
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

/** Returns the record that the console producer can send instead: text, without partition and timestamp. */
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
