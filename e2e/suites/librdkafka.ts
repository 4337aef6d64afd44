// Runs librdkafka's own test suite from its npm package against brokers of ours: `npm run suite:librdkafka`. It
// builds the suite once under .cache/ (needs gcc, g++, make, libssl-dev, zlib1g-dev and rapidjson-dev) and runs every
// test that needs a broker, one number after the other; with Java and Maven also the tests that call kafka-topics.sh.
// `--store redis` or `redis-cluster` runs it on that store, with separate results. `--tests 0011,0020-0030` runs only
// these, and keeps the earlier results of the others. Tests without a broker are not run. With `--sasl` the tests log
// in by SCRAM-SHA-256 over TLS, with separate results.

import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adminClient } from '../../testing/admin-client.ts'
import { CACHE } from '../../testing/cache.ts'
import { makeCertificate } from '../../testing/certificate.ts'
import { chosenStore, nameOnChosenStore, onChosenStore } from '../../testing/chosen-store.ts'
import { freePort, startBrokerProcess } from '../../testing/process.ts'
import { fetchJars, JAVA_ARGUMENTS } from '../java/jars.ts'
import { librdkafkaSettings } from '../security/librdkafka.ts'
import { reasons, reasonsWithSasl } from './librdkafka-reasons.ts'
import { earlierSlices, keepSlices, lineOf, type Outcome, tell } from './outcomes.ts'
import { type Ended, runSlice, runStep, stopOnSignal } from './slice.ts'

const PACKAGE = '@confluentinc/kafka-javascript@1.10.1'
const VERSION = '2.15.1'
/** Each version is built in a folder of its own. */
const home = join(CACHE, `librdkafka-${VERSION}`)
const source = join(home, 'source')
const tests = join(source, 'tests')
const runner = join(tests, 'test-runner')
/** The limit in ms for a test that no longer checks its own timeout, which it can prolong while it runs. */
const LONGEST_MS = 900_000
/** The limit in ms for a test that waits, part after part, for share groups, which do not exist here. */
const SHARE_GROUPS_MS = 30_000

const { values } = parseArgs({
  options: {
    tests: { type: 'string' },
    store: { type: 'string' },
    sasl: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
if (values.store !== undefined) process.env.KETCH_STORE = values.store
const suite = nameOnChosenStore(values.sasl ? 'librdkafka-sasl' : 'librdkafka')

function build(): void {
  if (existsSync(runner)) return
  mkdirSync(source, { recursive: true })
  runStep('npm', ['pack', '--silent', '--pack-destination', '..', PACKAGE], source)
  const [tarball] = globSync(join(source, '..', '*.tgz'))
  if (tarball === undefined) throw new Error(`npm pack ${PACKAGE} left no tarball`)
  runStep('tar', ['xzf', tarball, '--strip-components=3', 'package/deps/librdkafka'], source)
  runStep('./configure', ['--disable-curl', '--disable-gssapi'], source)
  const jobs = `-j${availableParallelism()}`
  runStep('make', [jobs, 'libs'], source)
  runStep('make', [jobs, '-C', 'tests', 'build'], source)
}

/**
 * Makes a folder like that of Kafka's distribution, with the tool that some tests call. Returns null without Java and
 * its jars.
 */
function makeKafkaPath(): string | null {
  const absence = fetchJars()
  if (absence !== null) {
    console.log(`without kafka-topics.sh: ${absence}`)
    return null
  }
  const folder = join(home, 'kafka')
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const command = ['java', ...JAVA_ARGUMENTS, 'org.apache.kafka.tools.TopicCommand'].map(word => `'${word}'`).join(' ')
  writeFileSync(join(folder, 'bin', 'kafka-topics.sh'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  return folder
}

type Scenario = 'default' | 'noautocreate'

interface Entry {
  readonly name: string
  readonly number: string
  readonly scenario: Scenario
}

/** Returns the tests of the runner's own table that need a broker. */
function listTests(): Entry[] {
  const table = readFileSync(join(tests, 'test.c'), 'utf8').split('struct test tests[] = {')[1]!.split('\n};')[0]!
  return table
    .split(/^ +_TEST\(/m)
    .slice(1)
    .filter(entry => !/TEST_F_LOCAL|TEST_F_MANUAL/.test(entry))
    .map(entry => {
      const [name] = /^\w+/.exec(entry)!
      const scenario = entry.includes('.scenario = "noautocreate"') ? 'noautocreate' : 'default'
      return { name, number: name.slice(0, 4), scenario }
    })
}

/** Returns whether --tests names this number. */
function isWanted(number: string): boolean {
  if (values.tests === undefined) return true
  return values.tests.split(',').some(range => {
    const [from, to = from] = range.split('-')
    return number >= from! && number <= to!
  })
}

interface Report {
  readonly tests: Record<string, { readonly state: string; readonly duration: number }>
}

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

interface Broker {
  readonly address: string
  /** The listener without security, for Kafka's tool; the same address without `--sasl`. */
  readonly plaintext: string
  /** More lines of the suite's test.conf. */
  readonly settings: Readonly<Record<string, string>>
  output(): string
}

/** Starts a broker for the suite; with `--sasl` its first listener has TLS and SASL. */
async function start(settings: Readonly<Record<string, string>>): Promise<Broker> {
  if (!values.sasl) {
    const broker = await startBrokerProcess(cleanUp, { settings })
    const { address, output } = broker
    return { address, plaintext: address, settings: {}, output }
  }
  const { certificateFile, keyFile } = await makeCertificate(cleanUp)
  const port = await freePort()
  const { address, url, output } = await startBrokerProcess(cleanUp, {
    settings: {
      'svc.admin.security-enabled': 'false',
      'svc.broker.tls': 'true',
      'svc.broker.cert-file': certificateFile,
      'svc.broker.key-file': keyFile,
      'svc.broker.sasl.enabled': 'true',
      'svc.broker.listeners[0].name': 'TOOLS',
      'svc.broker.listeners[0].port': String(port),
      'svc.broker.listeners[0].security': 'plaintext',
      ...settings,
    },
  })
  const login = { username: 'librdkafka', password: 'the password of librdkafka' }
  const { status, body } = await adminClient(url).ask('POST', '/api/v1/credentials', login)
  if (status !== 201) throw new Error(`the user was not created: ${JSON.stringify(body)}`)
  const sasl = { mechanism: 'SCRAM-SHA-256', ...login } as const
  const security = { tls: { caFile: certificateFile, own: null }, sasl }
  return { address, plaintext: `127.0.0.1:${port}`, settings: librdkafkaSettings(security), output }
}

/** Runs the tests of one number in one scenario. There is no report if the runner crashed. */
async function run({ number, scenario, name }: Entry, broker: Broker): Promise<Ended & { report: Report | null }> {
  const config = join(home, 'test.conf')
  const lines = Object.entries({ 'bootstrap.servers': broker.address, ...broker.settings })
  writeFileSync(config, lines.map(([key, value]) => `${key}=${value}\n`).join(''))
  const reportFile = join(home, 'report.json')
  rmSync(reportFile, { force: true })
  const env = {
    LD_LIBRARY_PATH: '../src:../src-cpp',
    RDKAFKA_TEST_CONF: config,
    TEST_KAFKA_VERSION: '4.2.0',
    TEST_REPORT: reportFile,
    TESTS: number,
    ...(kafkaPath === null ? {} : { KAFKA_PATH: kafkaPath, BROKERS: broker.plaintext }),
  }
  const options = {
    cwd: tests,
    env,
    longestMs: reasons[name]?.fault === 'needs share groups' ? SHARE_GROUPS_MS : LONGEST_MS,
    stop,
    verbose: values.verbose,
  }
  const { output, how } = await runSlice(runner, ['-p1', '-L', '-s', scenario], options)
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : null
  return { output: output.replace(COLOURS, ''), how, report }
}

/** Returns the runner's report on a test with the failure that it printed; without a report, how the runner ended. */
function outcomeOf(name: string, { output, how, report }: Awaited<ReturnType<typeof run>>, seconds: number): Outcome {
  const found = report?.tests[name]
  const failure = new RegExp(`### Test "${name}\\b.*\\n(.*)`).exec(output)
  const skip = new RegExp(`\\[${name} .*SKIPPING TEST: (.*)`).exec(output)
  if (found === undefined) {
    const last = output.trimEnd().split('\n').slice(-3).join(' / ')
    return { name, result: 'failed', seconds, detail: `${how ?? 'no report'}: ${failure?.[0] ?? last}` }
  }
  const result = found.state === 'PASSED' ? 'passed' : found.state === 'SKIPPED' ? 'skipped' : 'failed'
  const detail = result === 'passed' ? '' : (failure?.[0] ?? skip?.[1] ?? found.state)
  return { name, result, seconds: found.duration, detail: detail.replace(/\s+/g, ' ').trim() }
}

const flags = [...(values.sasl ? ['--sasl'] : []), ...(chosenStore() === 'embedded' ? [] : ['--store', chosenStore()])]
build()
const kafkaPath = makeKafkaPath()
const stop = stopOnSignal()
const entries = listTests()
const slices = earlierSlices(suite)
const ends: (() => Promise<void>)[] = []
const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
try {
  const settings = (autoCreate: boolean) => ({
    'svc.topics[0].name': '*',
    'svc.topics[0].auto-create': String(autoCreate),
    'svc.topics[0].partitions': '4',
    // 0077 waits for seconds until a topic is cleaned.
    'svc.storage.worker.tick-interval': '1s',
  })
  const brokers = { default: await start(settings(true)), noautocreate: await start(settings(false)) }
  const groups = Map.groupBy(entries, ({ number, scenario }) => `${number} ${scenario}`)
  for (const [slice, group] of groups) {
    const { number, scenario } = group[0]!
    if (!isWanted(number) || stop.aborted) continue
    const startedAt = performance.now()
    const ended = await run(group[0]!, brokers[scenario])
    if (stop.aborted) break
    const seconds = (performance.now() - startedAt) / 1000
    writeFileSync(join(home, `${slice.replace(' ', '-')}.log`), ended.output)
    slices[slice] = group.map(({ name }) => outcomeOf(name, ended, seconds))
    for (const outcome of slices[slice]) console.log(lineOf(outcome))
    keepSlices(suite, slices)
  }
  for (const [scenario, broker] of Object.entries(brokers))
    writeFileSync(join(home, `broker-${scenario}.log`), broker.output())
} finally {
  for (const end of ends.reverse()) await end()
}

const outcomes = Object.keys(slices)
  .sort()
  .flatMap(slice => slices[slice]!)
const missing = entries.filter(({ name }) => !outcomes.some(outcome => outcome.name === name))
if (missing.length > 0)
  console.log(`${missing.length} tests were not run yet: ${missing.map(({ name }) => name.slice(0, 4)).join(' ')}`)
else
  tell(suite, outcomes, ({ name }) => (values.sasl ? reasonsWithSasl : reasons)[name] ?? null, {
    title: `librdkafka ${VERSION}: its own test suite${values.sasl ? ' over TLS with SCRAM' : ''}${onChosenStore()}`,
    order: 50,
    command: ['npm run suite:librdkafka', ...(flags.length === 0 ? [] : ['--', ...flags])].join(' '),
    text: [
      `The tests that need a broker, from the sources in \`${PACKAGE}\` (npm), in full (not the suite's quick mode, which leaves most of their parts out), one at a time, with \`TEST_KAFKA_VERSION=4.2.0\` and only the address${values.sasl ? ', the certificate and the login by SCRAM-SHA-256' : ''} in \`test.conf\`. One broker creates any topic with 4 partitions; a second one creates none, for the scenario \`noautocreate\`. Their storage worker ticks every second.`,
    ],
  })
