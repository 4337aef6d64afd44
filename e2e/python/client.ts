// Debian's two Python clients as clients of the matrix: kafka-python (its own protocol code, old versions of every
// API) and confluent-kafka (librdkafka). The scripts beside this file read and write records as lines of JSON with
// base64.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { outputOf } from '../../testing/programs.ts'
import { type Client, CODECS, type Codec, type Received, type Sent, withoutNullHeaders } from '../client.ts'
import { type Running, runCommand, startCommand } from '../command.ts'
import { librdkafkaEnvironment, librdkafkaSettings } from '../security/librdkafka.ts'
import { type ClientSecurity, NO_SECURITY, protocolOf } from '../security/security.ts'

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
  settingsOf: (security: ClientSecurity) => Readonly<Record<string, string>>,
): Pick<Client, 'produce' | 'consume'> {
  const run = (args: readonly string[], security: ClientSecurity, input = '') => {
    const pairs = Object.entries(settingsOf(security)).map(pair => pair.join('='))
    const env = librdkafkaEnvironment(security)
    return runCommand(PYTHON, [scriptPath(script), ...args, ...pairs], { input, env })
  }
  return {
    async produce(address, topic, records, security = NO_SECURITY) {
      const sent = records.map(expressible)
      const input = sent.map(record => `${JSON.stringify(toLine(record))}\n`).join('')
      await run(['produce', address, topic], security, input)
      return sent
    },
    async consume(address, topic, group, count, security = NO_SECURITY) {
      const output = await run(['consume', address, topic, group, String(count)], security)
      return output.toString().trimEnd().split('\n').map(fromLine)
    },
  }
}

/** The security of a client in the arguments of kafka-python. */
function kafkaPythonSettings(security: ClientSecurity): Readonly<Record<string, string>> {
  const { tls, sasl } = security
  return {
    security_protocol: protocolOf(security),
    ...(tls !== null && { ssl_cafile: tls.caFile }),
    ...(tls?.own && { ssl_certfile: tls.own.certificateFile, ssl_keyfile: tls.own.keyFile }),
    ...(sasl !== null && { sasl_mechanism: sasl.mechanism }),
    ...(sasl !== null &&
      'password' in sasl && { sasl_plain_username: sasl.username, sasl_plain_password: sasl.password }),
    ...(sasl?.mechanism === 'OAUTHBEARER' && {
      token_endpoint: sasl.tokenEndpoint,
      client_id: sasl.clientId,
      client_secret: sasl.clientSecret,
      scope: sasl.scope,
    }),
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
  lacks: { GSSAPI: 'it sends the tokens without SaslAuthenticate, which the specification excludes for GSSAPI' },
  // The broker closes the connection, because the client sends the tokens without SaslAuthenticate.
  refused: /NoBrokersAvailable|AuthenticationFailedError/,
  ...clientOf('kafka_python.py', withoutNullHeaders, kafkaPythonSettings),
}

export const confluentPython: Client = {
  name: 'confluent-kafka-python',
  from: 'Debian',
  version: () => ask('import confluent_kafka as c; print(f"{c.version()[0]} (librdkafka {c.libversion()[0]})")'),
  absence: () => absence('confluent_kafka', 'python3-confluent-kafka'),
  codecs: CODECS,
  cannotSend: null,
  lacks: {},
  refused: /authentication/i,
  ...clientOf('confluent.py', record => record, librdkafkaSettings),
}
