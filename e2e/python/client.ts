// Debian's two Python clients as clients of the matrix: kafka-python (its own protocol code, old versions of every
// API) and confluent-kafka (librdkafka). The scripts beside this file read and write records as lines of JSON with
// base64.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { outputOf } from '../../testing/programs.ts'
import { type Client, CODECS, type Codec, type Received, type Sent, withoutNullHeaders } from '../client.ts'
import { type Running, runCommand, startCommand } from '../command.ts'

/** Debian's own interpreter: no other one finds its packages. */
export const PYTHON = '/usr/bin/python3'

/** Returns the path of one of the scripts. */
export const scriptPath = (name: 'kafka_python.py' | 'confluent.py') => fileURLToPath(new URL(name, import.meta.url))

function absence(module: string, debianPackage: string): string | null {
  const found = existsSync(PYTHON) && spawnSync(PYTHON, ['-c', `import ${module}`]).status === 0
  return found ? null : `SKIPPED e2e/python ${debianPackage}: apt-get install ${debianPackage}`
}

const ask = (program: string) => outputOf(PYTHON, ['-c', program]).trim()

/** Returns the codecs of kafka-python, which depend on the installed Python modules. */
function kafkaPythonCodecs(): readonly Codec[] {
  const ask =
    'from kafka import codec as c; print(*[n for n in ("gzip","snappy","lz4","zstd") if getattr(c,"has_"+n)()])'
  const { status, stdout } = spawnSync(PYTHON, ['-c', ask], { encoding: 'utf8' })
  const has = status === 0 ? stdout.trim().split(' ') : []
  return CODECS.filter(codec => codec === 'none' || has.includes(codec))
}

/** Starts one of the scripts. The head of each script describes its verbs. */
export function startPython(script: 'kafka_python.py' | 'confluent.py', args: readonly string[], input = ''): Running {
  return startCommand(PYTHON, [scriptPath(script), ...args], { input, keepOpen: input === '' })
}

function clientOf(
  script: 'kafka_python.py' | 'confluent.py',
  expressible: (record: Sent) => Sent,
): Pick<Client, 'produce' | 'consume'> {
  return {
    async produce(address, topic, records) {
      const sent = records.map(expressible)
      const input = sent.map(record => `${JSON.stringify(toLine(record))}\n`).join('')
      await runCommand(PYTHON, [scriptPath(script), 'produce', address, topic], { input })
      return sent
    },
    async consume(address, topic, group, count) {
      const output = await runCommand(PYTHON, [scriptPath(script), 'consume', address, topic, group, String(count)])
      return output.toString().trimEnd().split('\n').map(fromLine)
    },
  }
}

function toLine(record: Sent): unknown {
  return {
    ...record,
    key: record.key?.toString('base64') ?? null,
    value: record.value?.toString('base64') ?? null,
    headers: record.headers.map(({ name, value }) => [name, value?.toString('base64') ?? null]),
  }
}

function fromLine(line: string): Received {
  const parsed = JSON.parse(line)
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text, 'base64'))
  return {
    ...parsed,
    key: bytes(parsed.key),
    value: bytes(parsed.value),
    headers: parsed.headers.map(([name, value]: [string, string | null]) => ({ name, value: bytes(value) })),
  }
}

export const kafkaPython: Client = {
  name: 'kafka-python',
  from: 'Debian',
  version: () => ask('import kafka; print(kafka.__version__)'),
  absence: () => absence('kafka', 'python3-kafka'),
  codecs: kafkaPythonCodecs(),
  cannotSend: 'null header values',
  ...clientOf('kafka_python.py', withoutNullHeaders),
}

export const confluentPython: Client = {
  name: 'confluent-kafka-python',
  from: 'Debian',
  version: () => ask('import confluent_kafka as c; print(f"{c.version()[0]} (librdkafka {c.libversion()[0]})")'),
  absence: () => absence('confluent_kafka', 'python3-confluent-kafka'),
  codecs: CODECS,
  cannotSend: null,
  ...clientOf('confluent.py', record => record),
}
