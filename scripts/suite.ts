// Runs the stages named on the command line and ends with one count and with the name of everything it skipped.
//
//   check    types, format, lint, licences, house rules, unused code, stale reference pages (side by side)
//   clients  installs the Debian packages that longer and e2e want, where that can be done
//   unit     src, testing and scripts, in one process
//   inner    check and unit side by side: the inner loop
//   longer   the rest of src and testing, in one process: with Redis servers, whole clusters, 200 simulated seeds, brokers beside
//            their model, the HTTP side, passwords, dictionaries
//   e2e      real clients against a broker of its own
//   stores   the clients again, with the broker on Redis and then on a Redis Cluster
//   chaos    three minutes of brokers on Redis while something breaks
//
// With KETCH_NO_SKIP=1 (CI) a skipped test is a failure.

import { spawn, spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { NODE_FLAGS } from './node24.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const node = [process.execPath, ...NODE_FLAGS]

const CHECKS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['types', [bin('tsc'), '--noEmit', '-p', '.']],
  ['format and lint', [bin('biome'), 'check', '--error-on-warnings', '.']],
  ['floating promises', [bin('oxlint'), '--type-aware', '--deny-warnings']],
  ['packages', [...node, 'scripts/packages.ts']],
  ['house rules', [...node, 'scripts/tidy.ts']],
  ['unused code', [process.execPath, bin('knip'), '--no-progress']],
  ['reference pages', [...node, 'scripts/docs.ts', '--check']],
]

/** Debian packages that tests want, with the file that shows one is there. */
const DEBIAN_PACKAGES: readonly (readonly [file: string, name: string])[] = [
  ['/usr/bin/redis-server', 'redis-server'],
  ['/usr/bin/kcat', 'kcat'],
  ['/usr/bin/chromium', 'chromium'],
  ['/usr/lib/python3/dist-packages/kafka/__init__.py', 'python3-kafka'],
  ['/usr/lib/python3/dist-packages/confluent_kafka/__init__.py', 'python3-confluent-kafka'],
]

/**
 * They wait for servers, replicas, expiries and fail-overs, start a broker with everything for each test, hash passwords, train
 * dictionaries, or count for seconds: too long for the inner loop.
 */
const LONGER = [
  ...['src/store/redis/**/*.test.ts', 'testing/redis*.test.ts', 'src/cluster/{cluster,replicas}.test.ts'],
  ...['testing/sim/simulation.test.ts', 'testing/model/model.test.ts', 'src/http/**/*.test.ts', 'src/cli/run.test.ts'],
  ...['src/auth/{accounts,password-hash}.test.ts', 'src/log/{compression,retention}.test.ts'],
  ...['src/store/embedded/{damage,faults,kill}.test.ts', 'src/kafka/{throttle,connection}.test.ts'],
  ...['src/store/unreadable.test.ts', 'src/kafka/connection/*.test.ts'],
]

const REDIS_CHAOS = ['e2e/chaos/redis/**/*.test.ts']

/** A stage whose tests take longer than this is ended; the longest takes half of it. */
const LONGEST_MS = 25 * 60_000

const totals = { passed: 0, failed: 0 }
const skipped: string[] = []

function execute(command: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise(resolve => {
    const child = spawn(command[0]!, command.slice(1), { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', chunk => (output += chunk))
    child.stderr.on('data', chunk => (output += chunk))
    child.on('error', error => resolve({ status: null, output: `${output}${error.message}\n` }))
    child.on('close', status => resolve({ status, output }))
  })
}

async function check(): Promise<void> {
  const results = CHECKS.map(async ([name, command]) => ({ name, ...(await execute(command)) }))
  for (const { name, status, output } of await Promise.all(results)) {
    console.log(`${status === 0 ? '✔' : '✖'} ${name}`)
    if (status !== 0) console.log(output)
    totals[status === 0 ? 'passed' : 'failed']++
  }
}

/** `atOnce`: files beside each other, each in a process of its own. */
async function test(
  patterns: readonly string[],
  isolation: 'none' | 'process',
  { except = [], atOnce = 1 }: { readonly except?: readonly string[]; readonly atOnce?: number } = {},
): Promise<void> {
  const files = globSync([...patterns], { cwd: root, exclude: [...except] }).map(file => join(root, file))
  if (files.length === 0) return
  const stream = run({
    files: files.sort(),
    isolation,
    concurrency: atOnce,
    // A test that hangs is a failure with a name, not a run without an end.
    timeout: isolation === 'none' ? 60_000 : 300_000,
    execArgv: isolation === 'process' ? [...node.slice(1), '--import=./testing/file-limit.ts'] : [],
  })
  // The time limit is per test: what a test leaves to be cleaned up has none, and would hold up this process without end.
  let last = 'none'
  const limit = setTimeout(() => {
    console.error(
      `${patterns[0]} and the files with it: not over after ${LONGEST_MS / 60_000} minutes; the last test that ended: ${last}`,
    )
    process.exit(1)
  }, LONGEST_MS)
  // The runner ends in this process when nothing else is left to be done.
  limit.unref()
  stream.on('test:complete', event => {
    last = `${event.name} (${event.file ?? 'no file'})`
  })
  stream.on('test:pass', event => {
    if (event.details.type === 'suite') return
    if (event.skip === undefined) totals.passed++
    else skipped.push(`${event.name}: ${event.skip}`)
  })
  stream.on('test:fail', event => {
    if (event.details.type !== 'suite') totals.failed++
  })
  const finished = new Promise(resolve => stream.on('end', resolve))
  stream.compose(new spec()).pipe(process.stdout, { end: false })
  await finished
  clearTimeout(limit)
}

/** As root on Debian, installs the missing client packages; elsewhere the tests that need them skip by name. */
function installClients(): void {
  const exists = (file: string) => globSync(file).length > 0
  const missing = DEBIAN_PACKAGES.filter(([file]) => !exists(file)).map(([, name]) => name)
  if (missing.length === 0) return
  if (process.getuid?.() !== 0 || !exists('/usr/bin/apt-get')) return
  console.log(`installing ${missing.join(', ')} for the tests with real parts ...`)
  // In runlevel 1 Debian starts no service of what it installs: the tests start their own Redis.
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env: environment })
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: environment,
  })
}

/** End-to-end tests whose brokers take whatever store there is. */
const ON_ANY_STORE = ['e2e/matrix.test.ts', 'e2e/{kcat,kafkajs,python}/*.test.ts', 'e2e/java/{java,configs}.test.ts']

/** testing/chosen-store.ts reads the variable, in the processes of the tests. */
async function testOnStores(): Promise<void> {
  for (const store of ['redis', 'redis-cluster']) {
    process.env.KETCH_STORE = store
    await test(ON_ANY_STORE, 'process', { atOnce: 2 })
  }
  delete process.env.KETCH_STORE
}

const unit = () =>
  test(['src/**/*.test.ts', 'testing/**/*.test.ts', 'scripts/**/*.test.ts'], 'none', { except: LONGER })

const STAGES: Readonly<Record<string, () => unknown>> = {
  check,
  unit,
  inner: () => Promise.all([check(), unit()]),
  longer: () => test(LONGER, 'none'),
  clients: installClients,
  // Clients wait more than they compute.
  e2e: () => test(['e2e/**/*.test.ts'], 'process', { except: REDIS_CHAOS, atOnce: 2 }),
  chaos: () => test(REDIS_CHAOS, 'process'),
  stores: testOnStores,
}

const stages = process.argv.slice(2)
for (const name of stages) {
  const stage = STAGES[name]
  if (stage === undefined) {
    console.error(`no stage "${name}"; there are ${Object.keys(STAGES).join(', ')}`)
    process.exit(2)
  }
  const startedAt = performance.now()
  await stage()
  console.log(`— ${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`)
}
if (skipped.length > 0) {
  console.log('SKIPPED, each with what enables it:')
  for (const line of skipped) console.log(`  ${line}`)
}
const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
console.log(`ketch ${version} on Node ${process.versions.node}`)
console.log(`${totals.passed} passed, ${totals.failed} failed, ${skipped.length} skipped`)
process.exit(totals.failed > 0 || (skipped.length > 0 && process.env.KETCH_NO_SKIP === '1') ? 1 : 0)
