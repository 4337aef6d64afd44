// The order in which large batches are unpacked. Only one or two of them fit into the memory at a time, so a client
// that sends bombs could keep all others waiting. Each topic therefore has one large batch in line. It rests after a
// batch, and the others go on meanwhile.
//
//   enter --the batch before it has left, and rested--> unpacked --leave(took)--> rest (base/rest.ts)
//
// So topics that always have a bomb use a limited part of a processor together, also of the thread pool.

import type { Clock } from '../base/clock.ts'
import type { Patience } from '../base/patience.ts'
import { restAfter } from '../base/rest.ts'
import { Semaphore } from '../base/semaphore.ts'

/** The longest rest for each topic in line. */
const LONGEST_REST_MS = 5_000

interface Line {
  readonly turns: Semaphore
  /** The batches that wait, are unpacked or rest. */
  batches: number
}

export class LargeTurns {
  readonly #clock: Clock
  readonly #lines = new Map<string, Line>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Resolves when it is the turn of a batch of this topic, or with null if the patience ended first. The caller must
   * call the result once, when nothing of the batch is in memory any longer.
   */
  async enter(topic: string, patience: Patience): Promise<(() => void) | null> {
    const line = this.#lines.get(topic) ?? { turns: new Semaphore(this.#clock, 1), batches: 0 }
    this.#lines.set(topic, line)
    line.batches++
    if (!(await line.turns.take(1, patience))) {
      this.#forget(topic, line)
      return null
    }
    const beganAtMs = this.#clock.monotonic()
    return () => {
      const tookMs = this.#clock.monotonic() - beganAtMs
      const restMs = restAfter(tookMs, LONGEST_REST_MS, this.#lines.size)
      const rested = () => {
        line.turns.give(1)
        this.#forget(topic, line)
      }
      if (restMs < 1) rested()
      else this.#clock.timer(restMs, rested)
    }
  }

  #forget(topic: string, line: Line): void {
    if (--line.batches === 0) this.#lines.delete(topic)
  }
}
