// Runs test files, each in a process of its own, several at the same time: as many as keep the processors busy, because
// most files wait for servers, clients and time-outs. Prints a line when a file ends, and the whole output of a file
// that failed.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { NODE_FLAGS, root } from './node24.mjs'
import { killProcesses } from './processes.ts'
import { type Meter, newMeter } from './processor-time.ts'
import { type Job, nameOf, nextOf, type Planned, type Timings } from './test-files.ts'

/** The time limit of one test in milliseconds. A test that hangs becomes a failure with a name. */
const LONGEST_TEST_MS = 600_000
/**
 * The time limit of one file with its clean-up, in milliseconds. It also ends a process that a native library blocks.
 */
const LONGEST_FILE_MS = 1_320_000
const PROCESSORS = availableParallelism()
/**
 * The part of the processors' time that the running files are expected to use. With more the tests would slow each
 * other down and time out.
 */
const USED_PART = 0.95
/** The number of files at the same time, however little they compute: each may hold a browser, brokers or a Redis. */
const MOST_AT_ONCE = 2 * PROCESSORS + 1
/** Characters of a failed test's message that the list at the end of a run repeats. */
const LONGEST_MESSAGE = 500

/** The variable that names the file for the processor time of a test file's process (testing/test-process.ts). */
const BUSY_FILE = 'KETCH_BUSY_FILE'

export interface Tally {
  passed: number
  /** A line for each failed test: its file, its name and the beginning of its message. */
  readonly failures: string[]
  /** For each reason of a skip, with the way to enable the test: the number of skipped tests. */
  readonly skipped: Map<string, number>
}

export const newTally = (): Tally => ({ passed: 0, failures: [], skipped: new Map() })

type TestEvents = ReturnType<typeof run>

/** Adds each test's outcome to the tally. */
export function count(stream: TestEvents, tally: Tally): void {
  stream.on('test:pass', ({ details, skip }) => {
    if (details.type === 'suite') return
    if (skip === undefined) tally.passed++
    else tally.skipped.set(String(skip), (tally.skipped.get(String(skip)) ?? 0) + 1)
  })
  stream.on('test:fail', ({ name, file, details: { type, error } }) => {
    if (type === 'suite') return
    const message = (error.cause instanceof Error ? error.cause : error).message
    tally.failures.push(`${relative(root, file ?? '')}: ${name}: ${message.slice(0, LONGEST_MESSAGE)}`)
  })
}

/** Runs the jobs to their ends, the first first. Returns the timings of each job, by its name. */
export async function runJobs(jobs: readonly Planned[], tally: Tally): Promise<Timings> {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-tests-'))
  const timings = new Map<string, { seconds: number; busySeconds: number }>()
  const meter = newMeter(pid => environmentOf(pid).get(BUSY_FILE) ?? null)
  const looking = setInterval(() => meter.look(), 1_000)
  const waiting = [...jobs]
  const running = new Map<Planned, Promise<void>>()
  for (;;) {
    while (running.size < MOST_AT_ONCE) {
      const index = nextOf(waiting, [...running.keys()], USED_PART * PROCESSORS)
      if (index === -1) break
      const [next] = waiting.splice(index, 1)
      const ended = runJob(next!.job, folder, meter, tally).then(({ timing, outcome }) => {
        running.delete(next!)
        timings.set(nameOf(next!.job), timing)
        const seconds = `${timing.seconds.toFixed(1)} s, ${timing.busySeconds.toFixed(1)} s of processor time`
        const mark = outcome.isGood ? '✔' : '✖'
        console.log(`${mark} [${timings.size}/${jobs.length}] ${nameOf(next!.job)}: ${outcome.text}, ${seconds}`)
      })
      running.set(next!, ended)
    }
    if (running.size === 0) break
    await Promise.race(running.values())
  }
  clearInterval(looking)
  rmSync(folder, { recursive: true })
  return timings
}

async function runJob(job: Job, folder: string, meter: Meter, tally: Tally) {
  const startedAt = performance.now()
  const busyFile = join(folder, nameOf(job).replaceAll('/', '-'))
  const own = newTally()
  await runFile(job, busyFile, own)
  const seconds = (performance.now() - startedAt) / 1000
  tally.passed += own.passed
  tally.failures.push(...own.failures)
  for (const [why, tests] of own.skipped) tally.skipped.set(why, (tally.skipped.get(why) ?? 0) + tests)
  const skips = [...own.skipped.values()].reduce((sum, tests) => sum + tests, 0)
  const isGood = own.failures.length === 0
  const text = `${own.passed} passed${isGood ? '' : `, ${own.failures.length} FAILED`}${skips > 0 ? `, ${skips} skipped` : ''}`
  return {
    timing: { seconds, busySeconds: Math.max(readBusySeconds(busyFile), meter.secondsOf(busyFile)) },
    outcome: { isGood, text },
  }
}

async function runFile({ file, store }: Job, busyFile: string, tally: Tally): Promise<void> {
  const stream = run({
    files: [join(root, file)],
    isolation: 'process',
    concurrency: 1,
    timeout: LONGEST_TEST_MS,
    execArgv: [...NODE_FLAGS, '--import=./testing/test-process.ts'],
    env: { ...process.env, [BUSY_FILE]: busyFile, ...(store === null ? {} : { KETCH_STORE: store }) },
  })
  count(stream, tally)
  const events: unknown[] = []
  const patience = setTimeout(() => {
    const ended = killProcesses(command => command.includes(join(root, file)))
    const failure = `${file}: did not end within ${LONGEST_FILE_MS / 1000} s; ${ended} processes were killed`
    console.log(`✖ ${failure}`)
    tally.failures.push(failure)
  }, LONGEST_FILE_MS)
  for await (const event of stream) events.push(event)
  clearTimeout(patience)
  if (tally.failures.length === 0) return
  for await (const text of Readable.from(events).compose(new spec())) process.stdout.write(String(text))
}

/** Returns the environment variables with which a process was started; none if it has ended. */
function environmentOf(pid: number): ReadonlyMap<string, string> {
  try {
    const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    return new Map(pairs.map(pair => [pair.split('=', 1)[0]!, pair.slice(pair.indexOf('=') + 1)]))
  } catch {
    return new Map()
  }
}

function readBusySeconds(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    // The process was killed before it wrote the file.
    return 0
  }
}
