// `npm test` and `npm run check`: runs the tests that the arguments name. At the end it prints the slowest files, a
// line for each thing that this machine lacks, with the way to enable it, then the failures and the counts.
// test-files.ts decides which file runs when. With KETCH_NO_SKIP=1 (CI) a skipped test is a failure.

import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { runChecks } from './checks.ts'
import { NODE_FLAGS, root } from './node24.mjs'
import { jobsOf, keepTimings, listTestFiles, nameOf, plan, readTimings, type Timings } from './test-files.ts'
import { count, newTally, runJobs } from './test-jobs.ts'

const USAGE = `npm test [-- options] [words]

Runs the checks and every short test that this machine can run. With words: only the test files whose path contains one of them.

  --all       the long tests too: every store, every client with every other, chaos, and a fresh seed
  --seed N    the seed of the random values; the variable KETCH_SEED sets it too
  --record    saves the time of each file in scripts/test-timings.json; later runs use it to order the files
  --inner     only the checks and the unit tests (npm run check)
`

/** Debian packages that tests need, each with a file that exists if the package is installed. */
const DEBIAN_PACKAGES: readonly (readonly [file: string, name: string])[] = [
  ['/usr/bin/redis-server', 'redis-server'],
  ['/usr/bin/kcat', 'kcat'],
  ['/usr/bin/chromium', 'chromium'],
  ['/usr/sbin/krb5kdc', 'krb5-kdc'],
  ['/usr/sbin/kadmin.local', 'krb5-admin-server'],
  ['/usr/bin/kinit', 'krb5-user'],
  ['/usr/lib/*/sasl2/libgssapiv2.so', 'libsasl2-modules-gssapi-mit'],
  ['/usr/lib/python3/dist-packages/kafka/__init__.py', 'python3-kafka'],
  ['/usr/lib/python3/dist-packages/confluent_kafka/__init__.py', 'python3-confluent-kafka'],
]

/**
 * Packages without which the same tests run, but need more processor time. Not every release of Debian has them, so
 * they are installed apart from the others.
 */
const CHEAPER_PACKAGES: typeof DEBIAN_PACKAGES = [['/usr/bin/chromium-headless-shell', 'chromium-headless-shell']]

/** The seed of `npm test`. It is fixed, so that each run draws the same random values and finds the same failures. */
const FIXED_SEED = 1
const SLOWEST = 20

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        inner: { type: 'boolean', default: false },
        record: { type: 'boolean', default: false },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    return { ...values, words: positionals }
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(message: string): never {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}

function chooseSeed(asked: string | undefined, all: boolean): number {
  if (asked === undefined) return all ? Math.floor(Math.random() * 1_000_000) : FIXED_SEED
  const seed = Number(asked)
  if (!Number.isSafeInteger(seed) || seed < 0) refuse(`--seed takes a whole number, got ${asked}`)
  return seed
}

/**
 * Installs the missing client packages, as root on Debian. Elsewhere the tests that need them are skipped with a
 * reason.
 */
function installClients(): void {
  const exists = (file: string) => globSync(file).length > 0
  if (process.getuid?.() !== 0 || !exists('/usr/bin/apt-get')) return
  const missingOf = (packages: typeof DEBIAN_PACKAGES) =>
    packages.filter(([file]) => !exists(file)).map(([, name]) => name)
  // In runlevel 1 Debian does not start the services of the packages that it installs. The tests start their own
  // Redis.
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const run = (output: 'inherit' | 'ignore', ...args: readonly string[]) =>
    spawnSync('apt-get', args, { stdio: ['ignore', output, 'inherit'], env: environment })
  const missing = missingOf(DEBIAN_PACKAGES)
  const cheaper = missingOf(CHEAPER_PACKAGES)
  if (missing.length + cheaper.length === 0) return
  console.log(`installing ${[...missing, ...cheaper].join(', ')} for the tests with real parts ...`)
  run('inherit', 'update', '-qq')
  const install = ['install', '-y', '-qq', '--no-install-recommends'] as const
  if (missing.length > 0) run('ignore', ...install, ...missing)
  // A package must not replace one that another test needs.
  for (const name of cheaper) run('ignore', ...install, '--no-remove', name)
}

/** Runs the unit tests in a few processes, one more than there are processors because some tests wait. */
async function runUnit(files: readonly string[]): Promise<void> {
  const processes = availableParallelism() + 1
  const parts = Array.from({ length: processes }, (_, part) => files.filter((_, index) => index % processes === part))
  await Promise.all(parts.filter(part => part.length > 0).map(runPart))
}

async function runPart(files: readonly string[]): Promise<void> {
  const stream = run({
    files: [join(root, 'scripts/unit-part.ts')],
    isolation: 'process',
    timeout: 60_000,
    execArgv: NODE_FLAGS,
    env: { ...process.env, KETCH_UNIT_FILES: JSON.stringify(files.map(file => pathToFileURL(join(root, file)).href)) },
  })
  count(stream, tally)
  const finished = new Promise(resolve => stream.on('end', resolve))
  stream.compose(new spec()).pipe(process.stdout, { end: false })
  await finished
}

async function timed(what: string, work: () => unknown): Promise<void> {
  const startedAt = performance.now()
  await work()
  console.log(`— ${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`)
}

function tellSlowest(timings: Timings): void {
  if (timings.size === 0) return
  console.log(`The slowest ${Math.min(SLOWEST, timings.size)} files (seconds, and seconds of processor time):`)
  const rows = [...timings].sort(([, a], [, b]) => b.seconds - a.seconds).slice(0, SLOWEST)
  for (const [name, { seconds, busySeconds }] of rows)
    console.log(`  ${seconds.toFixed(1).padStart(6)} ${busySeconds.toFixed(1).padStart(6)}  ${name}`)
  console.log('')
}

const { all, inner, record, seed: askedSeed, help, words } = readArguments()
if (help) {
  console.log(USAGE)
  process.exit(0)
}
const seed = chooseSeed(askedSeed ?? process.env.KETCH_SEED, all)
process.env.KETCH_SEED = String(seed)
if (all) process.env.KETCH_ALL = '1'
const isWanted = ({ file }: { readonly file: string }) => words.length === 0 || words.some(word => file.includes(word))
const files = listTestFiles(root).filter(isWanted)
if (files.length === 0) refuse(`no test file's path contains ${words.join(' or ')}`)
const tally = newTally()
console.log(`seed ${seed}; to repeat this run: npm test -- --seed ${seed}${all ? ' --all' : ''}\n`)

await timed('checks and unit tests', async () => {
  const unit = runUnit(files.filter(({ stage }) => stage === 'unit').map(({ file }) => file))
  if (words.length === 0) {
    const { passed, failures } = await runChecks()
    tally.passed += passed
    tally.failures.push(...failures.map(name => `the check of ${name}`))
  }
  await unit
})
if (!inner) {
  const jobs = jobsOf(files, all)
  if (jobs.length > 0) installClients()
  await timed(`${jobs.length} longer files`, async () => {
    const timings = await runJobs(plan(jobs, readTimings(root)), tally)
    tellSlowest(timings)
    const names = new Set(jobsOf(listTestFiles(root), true).map(nameOf))
    const known = [...readTimings(root)].filter(([name]) => names.has(name))
    if (record) keepTimings(root, new Map([...known, ...timings]))
  })
}
const skips = [...tally.skipped.values()].reduce((sum, tests) => sum + tests, 0)
if (skips > 0) {
  console.log('SKIPPED, each with what enables it:')
  for (const [why, tests] of tally.skipped) console.log(`  ${why} (${tests} ${tests === 1 ? 'test' : 'tests'})`)
}
const failed = tally.failures.length
if (failed > 0) {
  console.log('FAILED:')
  for (const failure of tally.failures) console.log(`  ${failure.replaceAll('\n', '\n    ')}`)
}
const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
console.log(`ketch ${version} on Node ${process.versions.node}`)
console.log(`${tally.passed} passed, ${failed} failed, ${skips} skipped`)
process.exit(failed > 0 || (skips > 0 && process.env.KETCH_NO_SKIP === '1') ? 1 : 0)
