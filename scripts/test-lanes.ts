// Runs test files, each in a process of its own, in two parallel lanes: one file that computes, and a few that wait
// for servers, clients and time-outs. Prints a line when a file ends, and the whole output of a file that failed.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { NODE_FLAGS, root } from './node24.mjs'
import { killProcesses } from './processes.ts'
import { type Job, type Lanes, nameOf, type Timings } from './test-files.ts'

/** The time limit of one test in milliseconds. A test that hangs becomes a failure with a name. */
const LONGEST_TEST_MS = 600_000
/**
 * The time limit of one file with its clean-up, in milliseconds. It also ends a process that a native library blocks.
 */
const LONGEST_FILE_MS = 1_320_000
/**
 * The number of files that wait at the same time. With more files the tests would slow each other down and time out.
 */
const WAITING_AT_ONCE = 3
/** Characters of a failed test's message that the list at the end of a run repeats. */
const LONGEST_MESSAGE = 500

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

/** Runs both lanes to their ends. Returns the timings of each job, by its name. */
export async function runLanes({ computing, waiting }: Lanes, tally: Tally): Promise<Timings> {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-tests-'))
  const timings = new Map<string, { seconds: number; busySeconds: number }>()
  const all = computing.length + waiting.length
  const lane = async (jobs: Job[]) => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const startedAt = performance.now()
      const busyFile = join(folder, String(timings.size + Math.random()))
      const own = newTally()
      await runFile(job, busyFile, own)
      const seconds = (performance.now() - startedAt) / 1000
      timings.set(nameOf(job), { seconds, busySeconds: readBusySeconds(busyFile) })
      tally.passed += own.passed
      tally.failures.push(...own.failures)
      for (const [why, tests] of own.skipped) tally.skipped.set(why, (tally.skipped.get(why) ?? 0) + tests)
      const skips = [...own.skipped.values()].reduce((sum, tests) => sum + tests, 0)
      const outcome = `${own.passed} passed${own.failures.length > 0 ? `, ${own.failures.length} FAILED` : ''}${skips > 0 ? `, ${skips} skipped` : ''}`
      console.log(
        `${own.failures.length > 0 ? '✖' : '✔'} [${timings.size}/${all}] ${nameOf(job)}: ${outcome}, ${seconds.toFixed(1)} s`,
      )
    }
  }
  const [first, second] = [[...computing], [...waiting]]
  await Promise.all([lane(first), ...Array.from({ length: WAITING_AT_ONCE }, () => lane(second))])
  rmSync(folder, { recursive: true })
  return timings
}

async function runFile({ file, store }: Job, busyFile: string, tally: Tally): Promise<void> {
  const stream = run({
    files: [join(root, file)],
    isolation: 'process',
    concurrency: 1,
    timeout: LONGEST_TEST_MS,
    execArgv: [...NODE_FLAGS, '--import=./testing/test-process.ts'],
    env: { ...process.env, KETCH_BUSY_FILE: busyFile, ...(store === null ? {} : { KETCH_STORE: store }) },
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

function readBusySeconds(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    // The process was killed before it wrote the file.
    return 0
  }
}
