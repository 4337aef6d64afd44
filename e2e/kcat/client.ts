// kcat (librdkafka) as a client of the matrix. It reads messages as delimited text and cannot set timestamps. Its
// headers apply to a whole invocation, so there is one invocation for each partition, codec and set of headers.

import { hasProgram, outputOf } from '../../testing/programs.ts'
import { type Client, CODECS, type Header, type Received, type Sent } from '../client.ts'
import { runCommand } from '../command.ts'
import { librdkafkaEnvironment, librdkafkaSettings } from '../security/librdkafka.ts'
import { type ClientSecurity, NO_SECURITY } from '../security/security.ts'

/** The marks between messages, and between key and value. No text contains these bytes. */
const END = '\x1e'
const KEY_END = '\x1f'

export const kcat: Client = {
  name: 'kcat',
  from: 'Debian',
  version: () => {
    const [, own, library] = /Version (\S+) .*?librdkafka (\S+)/.exec(outputOf('kcat', ['-V'])) ?? []
    return `${own} (librdkafka ${library})`
  },
  absence: () => (hasProgram('kcat') ? null : 'SKIPPED e2e/kcat: apt-get install kcat'),
  codecs: CODECS,
  cannotSend: 'timestamps, empty values',
  lacks: {
    OAUTHBEARER: 'Debian builds librdkafka without libcurl, and kcat cannot be given a token',
  },
  refused: /authentication/i,
  async produce(address, topic, records, security = NO_SECURITY) {
    const sent = records.map(expressible)
    const runs = Map.groupBy(sent, record => JSON.stringify([record.codec, record.partition, headerArguments(record)]))
    for (const run of runs.values()) {
      const { codec, partition } = run[0]!
      const lines = run.map(({ key, value }) => {
        const withKey = key === null ? '' : `${key}${KEY_END}`
        return `${withKey}${value ?? ''}`
      })
      await runKcat(
        security,
        [
          ...['-P', '-b', address, '-t', topic, '-p', String(partition), '-z', codec, '-Z', '-D', END, '-K', KEY_END],
          ...['-X', 'acks=all', '-X', 'linger.ms=5', ...headerArguments(run[0]!)],
        ],
        lines.join(END),
      )
    }
    return [...runs.values()].flat()
  },
  async consume(address, topic, group, count, security = NO_SECURITY) {
    const output = await runKcat(security, [
      ...['-G', group, '-b', address, '-c', String(count), '-q', '-X', 'auto.offset.reset=earliest'],
      ...['-X', 'heartbeat.interval.ms=500', '-f', `%p %o %T %K %S %h${END}%k%s`, topic],
    ])
    return parseMessages(output)
  },
}

function runKcat(security: ClientSecurity, args: readonly string[], input = ''): Promise<Buffer> {
  const settings = Object.entries(librdkafkaSettings(security)).flatMap(([name, value]) => ['-X', `${name}=${value}`])
  return runCommand('kcat', [...settings, ...args], { input, env: librdkafkaEnvironment(security) })
}

/** Returns the record that kcat can send instead: text, one constant header, null for an empty value, no timestamp. */
function expressible(record: Sent): Sent {
  const isText = record.value?.equals(Buffer.from(record.value.toString())) !== false
  const value = isText ? record.value : Buffer.from(`${record.id}:no text`)
  return {
    ...record,
    value: value === null || value.length === 0 ? null : value,
    headers: record.headers.length > 0 ? [{ name: 'trace', value: Buffer.from('größe') }] : [],
    timestamp: null,
  }
}

function headerArguments(record: Sent): string[] {
  return record.headers.flatMap(({ name, value }) => ['-H', value === null ? name : `${name}=${value}`])
}

/** Parses the output of the format above; lengths of -1 mean null. */
function parseMessages(output: Buffer): Received[] {
  const received: Received[] = []
  for (let at = 0; at < output.length; ) {
    const headEnd = output.indexOf(END, at)
    const [partition, offset, timestamp, keyBytes, valueBytes, ...rest] = output
      .subarray(at, headEnd)
      .toString()
      .split(' ')
    const keyFrom = headEnd + 1
    const valueFrom = keyFrom + Math.max(0, Number(keyBytes))
    at = valueFrom + Math.max(0, Number(valueBytes))
    received.push({
      partition: Number(partition),
      offset: Number(offset),
      timestamp: Number(timestamp),
      key: Number(keyBytes) < 0 ? null : output.subarray(keyFrom, valueFrom),
      value: Number(valueBytes) < 0 ? null : output.subarray(valueFrom, at),
      headers: parseHeaders(rest.join(' ')),
    })
  }
  return received
}

function parseHeaders(text: string): Header[] {
  if (text === '') return []
  return text.split(',').map(pair => {
    const [name = '', value = ''] = pair.split('=')
    return { name, value: value === 'NULL' ? null : Buffer.from(value) }
  })
}
