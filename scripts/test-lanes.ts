// Runs test files, each in a process of its own, in two lanes beside each other: one file that computes, and a few that
// wait for servers, clients and time-outs. Says a line a file as they end; of a file that failed, everything.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { NODE_FLAGS, root } from './node24.mjs'
import { killProcesses } from './processes.ts'
import { type Job, type Lanes, nameOf, type Timings } from './test-files.ts'

/** Of one test; a test that hangs is a failure with a name, not a run without an end. */
const LONGEST_TEST_MS = 600_000
/** Of one file, with its clean-up. A process that a native library blocks cannot look at a clock of its own. */
const LONGEST_FILE_MS = 1_320_000
/** Files that wait at the same time: more would compute so much together that tests miss what they wait for. */
const WAITING_AT_ONCE = 3

export interface Tally {
  passed: number
  failed: number
  /** Why tests were skipped, with what enables them: how many say so. */
  readonly skipped: Map<string, number>
}

export const newTally = (): Tally => ({ passed: 0, failed: 0, skipped: new Map() })

type TestEvents = ReturnType<typeof run>

/** Adds each test's outcome to the tally. */
export function count(stream: TestEvents, tally: Tally): void {
  stream.on('test:pass', ({ details, skip }) => {
    if (details.type === 'suite') return
    if (skip === undefined) tally.passed++
    else tally.skipped.set(String(skip), (tally.skipped.get(String(skip)) ?? 0) + 1)
  })
  stream.on('test:fail', ({ details }) => {
    if (details.type !== 'suite') tally.failed++
  })
}

/** Runs both lanes to their ends. Returns how long each job took, by its name. */
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
      tally.failed += own.failed
      for (const [why, tests] of own.skipped) tally.skipped.set(why, (tally.skipped.get(why) ?? 0) + tests)
      const skips = [...own.skipped.values()].reduce((sum, tests) => sum + tests, 0)
      const outcome = `${own.passed} passed${own.failed > 0 ? `, ${own.failed} FAILED` : ''}${skips > 0 ? `, ${skips} skipped` : ''}`
      console.log(
        `${own.failed > 0 ? '✖' : '✔'} [${timings.size}/${all}] ${nameOf(job)}: ${outcome}, ${seconds.toFixed(1)} s`,
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
    console.log(`✖ ${file} was not over after ${LONGEST_FILE_MS / 1000} s; ${ended} processes were killed`)
    tally.failed++
  }, LONGEST_FILE_MS)
  for await (const event of stream) events.push(event)
  clearTimeout(patience)
  if (tally.failed === 0) return
  for await (const text of Readable.from(events).compose(new spec())) process.stdout.write(String(text))
}

function readBusySeconds(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    // The process was killed: it said nothing.
    return 0
  }
}
