// A judge for tests: it refuses each record whose value begins with X. A test can hold its verdicts, let them fail, and
// count them. Topics whose name begins with `free` are not judged.

import { type Clock, sleep } from '../src/base/clock.ts'
import type { Random } from '../src/base/random.ts'
import type { BatchJudge, Judge } from '../src/log/judge.ts'
import type { Look } from '../src/log/unpacking.ts'
import { because, INVALID_RECORD, type RecordError, type Refusal } from '../src/protocol/errors.ts'

const X = 'X'.charCodeAt(0)

export class TestJudge implements Judge {
  /** The number of batches that were looked at. */
  looks = 0
  /** The number of verdicts that were asked for. */
  verdicts = 0
  /** The result of the next verdicts, in order, in place of the true ones; an error is thrown. */
  readonly next: (Refusal | Error)[] = []
  /** Called with each look, before its records. It may return a promise that the look waits for. */
  onLook: ((look: Look) => Promise<void> | undefined) | null = null
  /** Verdicts take up to this many ms of the clock, by chance; null: they are given at once. */
  slowness: { readonly clock: Clock; readonly random: Random; readonly mostMs: number } | null = null
  /** True: the results of `next` come later in the same turn of the event loop. */
  isLate = false
  #held: Promise<void> | null = null

  /** Holds the verdicts that are asked for from now on. Returns the function that releases them. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held = promise
    return () => {
      if (this.#held === promise) this.#held = null
      resolve()
    }
  }

  of({ name }: { readonly name: string }): BatchJudge | null {
    if (name.startsWith('free')) return null
    const bad: number[] = []
    return {
      look: look => {
        this.looks++
        const others = this.onLook?.(look)
        const records = this.onLook === null ? look : { ...look, walk: look.again() }
        if (others !== undefined) return others.then(() => goOver(records, bad))
        return goOver(records, bad)
      },
      verdict: () => {
        this.verdicts++
        const { slowness } = this
        const forced = this.next.shift()
        if (forced === undefined && this.#held !== null) return this.#held.then(() => refusalOf(bad))
        if (forced === undefined && slowness !== null) {
          return sleep(slowness.clock, slowness.random.below(slowness.mostMs + 1)).then(() => refusalOf(bad))
        }
        if (this.isLate) return Promise.resolve().then(() => result(forced, bad))
        return result(forced, bad)
      },
    }
  }
}

function goOver({ walk, step }: Look, bad: number[]): Promise<void> | undefined {
  const go = () => {
    for (; walk.next(); at++) {
      walk.hasKey()
      if (walk.hasValue() && walk.payload[walk.valueFrom] === X && walk.valueEnd > walk.valueFrom) bad.push(at)
      const others = step()
      if (others !== undefined) {
        at++
        return others
      }
    }
    return undefined
  }
  const goAfter = async (first: Promise<void>) => {
    for (let others: Promise<void> | undefined = first; others !== undefined; others = go()) await others
  }
  let at = 0
  const others = go()
  return others === undefined ? undefined : goAfter(others)
}

function result(forced: Refusal | Error | undefined, bad: readonly number[]): Refusal | null {
  if (forced instanceof Error) throw forced
  return forced ?? refusalOf(bad)
}

function refusalOf(bad: readonly number[]): Refusal | null {
  if (bad.length === 0) return null
  const recordErrors = bad.map((batchIndex): RecordError => {
    return { batchIndex, batchIndexErrorMessage: `record ${batchIndex} begins with X` }
  })
  return { ...because(INVALID_RECORD, `${bad.length} records begin with X.`), recordErrors }
}
