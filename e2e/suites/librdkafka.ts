// librdkafka's own test suite, as its npm package carries it, against a broker of ours: `npm run suite:librdkafka`.
// It is built once under .cache/, needs gcc, g++, make, libssl-dev and zlib1g-dev, and runs every test that wants a
// broker, one number after the other. `--tests 0011,0012` or `--tests 0011-0030` runs some and leaves what earlier runs
// found of the others; `--group-protocol` and the broker-less tests are not run.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBrokerProcess } from '../../testing/process.ts'
import { reasons } from './librdkafka-reasons.ts'
import { CACHE, earlierSlices, keepSlices, lineOf, type Outcome, tell } from './outcomes.ts'

const PACKAGE = '@confluentinc/kafka-javascript@1.10.1'
const VERSION = '2.15.1'
const source = join(CACHE, 'librdkafka', 'source')
const tests = join(source, 'tests')
const runner = join(tests, 'test-runner')
/** A test has a time-out of its own, which it prolongs as it goes; this one is for a test that no longer looks at it. */
const LONGEST_MS = 300_000
/** What ends this run early: the test that runs is ended, and the brokers. */
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

const { values } = parseArgs({ options: { tests: { type: 'string' }, verbose: { type: 'boolean', default: false } } })

function must(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} in ${cwd} ended with ${error?.message ?? status}`)
}

function build(): void {
  if (existsSync(runner)) return
  mkdirSync(source, { recursive: true })
  must('npm', ['pack', '--silent', '--pack-destination', '..', PACKAGE], source)
  const [tarball] = globSync(join(source, '..', '*.tgz'))
  if (tarball === undefined) throw new Error(`npm pack ${PACKAGE} left no tarball`)
  must('tar', ['xzf', tarball, '--strip-components=3', 'package/deps/librdkafka'], source)
  must('./configure', ['--disable-curl', '--disable-gssapi'], source)
  const jobs = `-j${availableParallelism()}`
  must('make', [jobs, 'libs'], source)
  must('make', [jobs, '-C', 'tests', 'build'], source)
}

interface Entry {
  readonly name: string
  readonly number: string
  readonly scenario: 'default' | 'noautocreate'
}

/** The tests of the runner's own table that want a broker. */
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

/** Whether --tests names this number. */
function isWanted(number: string): boolean {
  if (values.tests === undefined) return true
  return values.tests.split(',').some(range => {
    const [from, to = from] = range.split('-')
    return number >= from! && number <= to!
  })
}

interface Ended {
  readonly output: string
  readonly report: { readonly tests: Record<string, { readonly state: string; readonly duration: number }> } | null
  /** Null where it ended by itself. */
  readonly how: string | null
}

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

function run(number: string, scenario: Entry['scenario'], address: string): Promise<Ended> {
  const config = join(CACHE, 'librdkafka', 'test.conf')
  writeFileSync(config, `bootstrap.servers=${address}\n`)
  const reportFile = join(CACHE, 'librdkafka', 'report.json')
  rmSync(reportFile, { force: true })
  const child = spawn(runner, ['-p1', '-L', '-s', scenario], {
    cwd: tests,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: stop.signal,
    killSignal: 'SIGKILL',
    env: {
      PATH: process.env.PATH,
      LD_LIBRARY_PATH: '../src:../src-cpp',
      RDKAFKA_TEST_CONF: config,
      TEST_KAFKA_VERSION: '4.2.0',
      TEST_REPORT: reportFile,
      TESTS: number,
    },
  })
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk
    if (values.verbose) process.stdout.write(chunk)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise((resolve, reject) => {
    let late = false
    const end = setTimeout(() => {
      late = true
      child.kill('SIGKILL')
    }, LONGEST_MS)
    child.on('error', error => (stop.signal.aborted ? undefined : reject(error)))
    child.on('close', (_, signal) => {
      clearTimeout(end)
      const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : null
      resolve({
        output: output.replace(COLOURS, ''),
        report,
        how: late ? `still running after ${LONGEST_MS / 1000} s` : signal,
      })
    })
  })
}

/** What the runner's report says of a test, with the failure that it printed; without a report, how the runner ended. */
function outcomeOf(name: string, { output, how, report }: Ended, seconds: number): Outcome {
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

build()
const entries = listTests()
const slices = earlierSlices('librdkafka')
const ends: (() => Promise<void>)[] = []
try {
  const settings = (autoCreate: boolean) => ({
    'svc.topics[0].name': '*',
    'svc.topics[0].auto-create': String(autoCreate),
    'svc.topics[0].partitions': '4',
  })
  const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
  const brokers = {
    default: await startBrokerProcess(cleanUp, { settings: settings(true) }),
    noautocreate: await startBrokerProcess(cleanUp, { settings: settings(false) }),
  }
  const groups = Map.groupBy(entries, ({ number, scenario }) => `${number} ${scenario}`)
  for (const [slice, group] of groups) {
    const { number, scenario } = group[0]!
    if (!isWanted(number) || stop.signal.aborted) continue
    const startedAt = performance.now()
    const ended = await run(number, scenario, brokers[scenario].address)
    if (stop.signal.aborted) break
    const seconds = (performance.now() - startedAt) / 1000
    writeFileSync(join(CACHE, 'librdkafka', `${slice.replace(' ', '-')}.log`), ended.output)
    slices[slice] = group.map(({ name }) => outcomeOf(name, ended, seconds))
    for (const outcome of slices[slice]) console.log(lineOf(outcome))
    keepSlices('librdkafka', slices)
  }
  for (const [scenario, broker] of Object.entries(brokers))
    writeFileSync(join(CACHE, 'librdkafka', `broker-${scenario}.log`), broker.output())
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
  tell('librdkafka', outcomes, ({ name }) => reasons[name] ?? null, {
    title: `librdkafka ${VERSION}: its own test suite`,
    order: 50,
    command: 'npm run suite:librdkafka',
    text: [
      `The tests that want a broker, of the sources in \`${PACKAGE}\` (npm), in full (not the suite's quick mode, which leaves most of their parts out), one at a time, with \`TEST_KAFKA_VERSION=4.2.0\` and nothing in \`test.conf\` but the address. One broker creates any topic with 4 partitions; a second one creates none, for the scenario \`noautocreate\`.`,
    ],
  })
