// The loop of the fuzzer. It mutates inputs at random, keeps the inputs that reach new code, and mutates those
// further. targets.ts defines what a target must withstand; run.ts handles the files and the terminal.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { mutate } from '../mutation.ts'
import type { Coverage } from './coverage.ts'
import type { Target } from './targets.ts'

/** Large, because one request for the coverage takes as long as hundreds of runs. */
const BATCH = 256
const LARGEST_INPUT_BYTES = 16 * 1024
const LARGEST_CORPUS = 4000
/** The milliseconds that one input may take in its fastest run (timed.ts). */
const SLOW_MS = 20

export interface Crash {
  readonly input: Buffer
  readonly error: Error
}

/** A target with the state of its fuzzing. */
export interface Campaign {
  readonly target: Target
  readonly runs: number
  readonly inputs: number
  readonly blocks: number
  /** Fuzzes for this many milliseconds, or until an input fails. */
  go(forMs: number): Promise<Crash | null>
}

export function openCampaign(target: Target, coverage: Coverage, random: Random): Campaign {
  const corpus: Buffer[] = []
  const seen = new Set<string>()
  let runs = 0

  const any = () => corpus[random.below(corpus.length)]!

  async function attempt(input: Buffer): Promise<Crash | null> {
    runs++
    const startedAt = systemClock.monotonic()
    try {
      await target.run(input)
    } catch (error) {
      return { input, error: error as Error }
    }
    return systemClock.monotonic() - startedAt > SLOW_MS ? slow(input) : null
  }

  /** Runs the input again in a thread of its own: other work may have delayed the first run. */
  async function slow(input: Buffer): Promise<Crash | null> {
    const timed = new Worker(new URL('./timed.ts', import.meta.url), { workerData: { name: target.name, input } })
    const [leastMs] = await once(timed, 'message')
    return leastMs > SLOW_MS ? { input, error: new Error(`took ${leastMs} ms of processor time`) } : null
  }

  /** Runs the inputs and keeps those that reached new code. It finds them by bisection. */
  async function explore(inputs: readonly Buffer[]): Promise<Crash | null> {
    for (const input of inputs) {
      const crash = await attempt(input)
      if (crash !== null) return crash
    }
    const fresh = [...coverage.take()].filter(block => !seen.has(block))
    if (fresh.length === 0) return null
    if (inputs.length > 1) {
      const middle = inputs.length >> 1
      return (await explore(inputs.slice(0, middle))) ?? (await explore(inputs.slice(middle)))
    }
    for (const block of fresh) seen.add(block)
    if (corpus.length < LARGEST_CORPUS) corpus.push(inputs[0]!)
    return null
  }

  return {
    target,
    get runs() {
      return runs
    },
    get inputs() {
      return corpus.length
    },
    get blocks() {
      return seen.size
    },
    async go(forMs) {
      const untilMs = systemClock.monotonic() + forMs
      coverage.take()
      if (corpus.length === 0) {
        const crash = await explore(target.seeds())
        if (crash !== null) return crash
        corpus.push(...target.seeds())
      }
      while (systemClock.monotonic() < untilMs) {
        const inputs = Array.from({ length: BATCH }, () =>
          mutate(any(), random, any()).subarray(0, LARGEST_INPUT_BYTES),
        )
        const crash = await explore(inputs)
        if (crash !== null) return crash
        // Lets timers and signals run.
        await new Promise<void>(resolve => systemClock.soon(resolve))
      }
      return null
    },
  }
}
