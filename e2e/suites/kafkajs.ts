// Runs kafkajs's own test suite against a broker of ours: `npm run suite:kafkajs`. The npm package has no tests, so
// this clones the tag from GitHub into .cache/, or from the path or URL of `--from`. It runs the specs that open a
// connection, file after file. `--files consumer/,admin/d` runs only files whose path contains one of these words,
// and keeps the earlier results of the others.
//
// The suite is written for three brokers on localhost, each with a port for plain text, TLS and SASL over TLS. Ours
// is one broker on the first three ports. Relays replace the other ports, which are only bootstrap addresses.

import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adminClient } from '../../testing/admin-client.ts'
import { CACHE } from '../../testing/cache.ts'
import { makeCertificate } from '../../testing/certificate.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { reasonFor } from './kafkajs-reasons.ts'
import { earlierSlices, keepSlices, lineOf, type Outcome, tell } from './outcomes.ts'
import { runSlice, runStep, stopOnSignal } from './slice.ts'

const TAG = 'v2.2.4'
const source = join(CACHE, `kafkajs-${TAG}`)
const LONGEST_MS = 280_000

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'https://github.com/tulios/kafkajs.git' },
    files: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})

/** Does the work of the suite's script, which calls Kafka's tool in a container, with kafkajs itself. */
const ADD_PARTITIONS = `#!/bin/sh
exec node -e "
const { Kafka, logLevel } = require('./index')
const admin = new Kafka({ brokers: ['localhost:9092'], logLevel: logLevel.NOTHING }).admin()
admin
  .connect()
  .then(() => admin.createPartitions({ topicPartitions: [{ topic: process.env.TOPIC, count: Number(process.env.PARTITIONS) }] }))
  .then(() => admin.disconnect())
  .catch(error => { console.error(error.message); process.exit(1) })
"
`

function build(): void {
  if (!existsSync(join(source, 'package.json'))) {
    mkdirSync(CACHE, { recursive: true })
    runStep('git', ['clone', '--quiet', '--depth', '1', '--branch', TAG, values.from, source], CACHE)
  }
  if (!existsSync(join(source, 'node_modules', '.bin', 'jest')))
    runStep('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], source)
  writeFileSync(join(source, 'scripts', 'addPartitions.sh'), ADD_PARTITIONS, { mode: 0o755 })
}

/** Returns the specs that open a connection, by path below src/. */
function listFiles(): string[] {
  const opens =
    /create(Cluster|ConnectionPool|ConnectionBuilder|Topic)\b|connectionOpts|(plainText|ssl|sasl)Brokers|new Kafka\(/i
  return globSync('src/**/*.spec.js', { cwd: source })
    .filter(file => opens.test(readFileSync(join(source, file), 'utf8')))
    .map(file => file.slice('src/'.length))
    .sort()
}

/** The ports of the three brokers of the suite, by the security of the port. The first port of each is our broker's. */
const PORTS = { plaintext: [9092, 9095, 9098], tls: [9093, 9096, 9099], 'sasl-tls': [9094, 9097, 9100] } as const

/** The users of the suite. A user has one mechanism here. `bob` has a password that is too short for Ketch. */
const USERS = [
  { username: 'test', password: 'testtest', mechanism: 'PLAIN' },
  { username: 'alice', password: 'alicealice', mechanism: 'PLAIN' },
  { username: 'testscram', password: 'testtestscram=256', mechanism: 'SCRAM-SHA-256' },
] as const

/** Forwards every connection to a port to the broker. Resolves to the function that stops it. */
async function relay(port: number, to: number): Promise<() => Promise<void>> {
  const server = createServer(socket => {
    const onward = connect(to, '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
  })
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', resolve))
  return async () => void server.close()
}

interface JestReport {
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: 'passed' | 'failed' | 'pending' | 'todo'
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

async function runFile(file: string): Promise<Outcome[]> {
  const report = join(CACHE, 'kafkajs-report.json')
  rmSync(report, { force: true })
  const jest = ['node_modules/.bin/jest', '--ci', '--runInBand', '--forceExit', '--no-watchman', '--reporters=default']
  const startedAt = performance.now()
  const { output, how } = await runSlice(
    process.execPath,
    [...jest, '--json', `--outputFile=${report}`, '--runTestsByPath', join('src', file)],
    {
      cwd: source,
      env: { HOME: process.env.HOME, NODE_ENV: 'test', KAFKA_VERSION: '2.4', KAFKAJS_NO_PARTITIONER_WARNING: '1' },
      longestMs: LONGEST_MS,
      stop,
      verbose: values.verbose,
    },
  )
  const seconds = (performance.now() - startedAt) / 1000
  if (!existsSync(report)) return [{ name: file, result: 'failed', seconds, detail: how ?? output.slice(-500) }]
  const { testResults }: JestReport = JSON.parse(readFileSync(report, 'utf8'))
  return testResults.flatMap(({ message, assertionResults }) =>
    assertionResults.length === 0
      ? [{ name: file, result: 'failed' as const, seconds, detail: oneLine(message) }]
      : assertionResults.map(({ fullName, status, failureMessages }) => ({
          name: `${file}: ${fullName}`,
          result: status === 'passed' || status === 'failed' ? status : ('skipped' as const),
          // This version of jest reports the time of a file, not of a test.
          seconds: seconds / assertionResults.length,
          detail: oneLine(failureMessages.join(' ')),
        })),
  )
}

const oneLine = (text: string) => text.replace(COLOURS, '').replace(/\s+/g, ' ').slice(0, 600).trim()

const stop = stopOnSignal()
build()
const files = listFiles()
const slices = earlierSlices('kafkajs')
const ends: (() => Promise<void>)[] = []
const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
try {
  const { certificateFile, keyFile } = await makeCertificate(cleanUp)
  const [plaintext, ...secured] = Object.entries(PORTS)
  const listeners = secured.flatMap(([security, [port]], at) =>
    Object.entries({ name: security, port, security, 'advertised-host': 'localhost' }).map(([field, value]) => [
      `svc.broker.listeners[${at}].${field}`,
      String(value),
    ]),
  )
  const broker = await startBrokerProcess(cleanUp, {
    port: plaintext![1][0],
    settings: {
      'svc.admin.security-enabled': 'false',
      'svc.broker.advertised-host': 'localhost',
      'svc.broker.cert-file': certificateFile,
      'svc.broker.key-file': keyFile,
      'svc.broker.sasl.mechanisms': 'SCRAM-SHA-256,PLAIN',
      ...Object.fromEntries(listeners),
      'svc.broker.rebalance-delay': '0',
      'svc.topics[0].name': '*',
      'svc.topics[0].auto-create': 'true',
      'svc.topics[0].partitions': '2',
    },
  })
  for (const user of USERS) {
    const { status, body } = await adminClient(broker.url).ask('POST', '/api/v1/credentials', user)
    if (status !== 201) throw new Error(`the user ${user.username} was not created: ${JSON.stringify(body)}`)
  }
  for (const [first, ...others] of Object.values(PORTS)) for (const port of others) ends.push(await relay(port, first))
  const wanted = values.files.split(',')
  for (const file of files.filter(file => wanted.some(part => file.includes(part)))) {
    const outcomes = await runFile(file)
    if (stop.aborted) break
    slices[file] = outcomes
    for (const outcome of outcomes) if (outcome.result !== 'passed') console.log(lineOf(outcome))
    console.log(`${file}: ${outcomes.filter(({ result }) => result === 'passed').length} of ${outcomes.length} passed`)
    keepSlices('kafkajs', slices)
  }
} finally {
  for (const end of ends.reverse()) await end()
}

const missing = files.filter(file => slices[file] === undefined)
if (missing.length > 0) console.log(`${missing.length} files were not run yet: ${missing.join(' ')}`)
else
  tell(
    'kafkajs',
    files.flatMap(file => slices[file]!),
    reasonFor,
    {
      title: `kafkajs ${TAG.slice(1)}: its own test suite`,
      order: 51,
      command: 'npm run suite:kafkajs',
      text: [
        `The ${files.length} spec files of the tag \`${TAG}\` that open a connection, with \`KAFKA_VERSION=2.4\`, one file after the other, on one broker that creates any topic with 2 partitions and begins a rebalance at once, as in the suite's own set-up. The suite is written for three brokers. Here there is one broker, with the ports of the first one for plain text, TLS and SASL over TLS, and relays take the place of the other addresses. The suite's script that adds partitions uses Kafka's tool in a container; here it uses kafkajs.`,
      ],
    },
  )
