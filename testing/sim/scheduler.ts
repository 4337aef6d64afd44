// The only source of order in a simulation: what happens next is what is due first, and each happening runs until
// nothing of it is left to run before the next one begins. With all chance from one seed, the same seed comes to the
// same trace. It knows nothing of what is simulated.

import type { Clock, Timer } from '../../src/base/clock.ts'
import { type Random, seededRandom } from '../../src/base/random.ts'

interface Happening {
  readonly atMs: number
  readonly order: number
  run: (() => void) | null
}

export class Scheduler {
  readonly random: Random
  /** Everything that was told, if it is to be read. */
  readonly lines: string[] | null
  /** Of everything that was told and of when it happened. */
  #hash = 0x811c9dc5
  #nowMs = 0
  #order = 0
  /** A heap: no parent is due after its children. */
  readonly #heap: Happening[] = []

  constructor(seed: number, keepsLines = false) {
    this.random = seededRandom(seed)
    this.lines = keepsLines ? [] : null
  }

  get nowMs(): number {
    return this.#nowMs
  }

  get hash(): number {
    return this.#hash >>> 0
  }

  /** True once in `many` times, by chance. */
  oneIn(many: number): boolean {
    return this.random.below(many) === 0
  }

  /** A whole number of microseconds between 0 and this many milliseconds, in milliseconds. */
  within(ms: number): number {
    return this.random.below(Math.max(1, Math.round(ms * 1000))) / 1000
  }

  tell(line: string): void {
    let hash = this.#hash ^ Math.round(this.#nowMs * 1000)
    for (let i = 0; i < line.length; i++) hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193)
    this.#hash = hash
    this.lines?.push(`${this.#nowMs.toFixed(3).padStart(10)}  ${line}`)
  }

  after(delayMs: number, run: () => void): Timer {
    const happening: Happening = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run }
    this.#push(happening)
    return {
      cancel: () => {
        happening.run = null
      },
    }
  }

  /** Until nothing is due any more, `isOver` says so, or so much time has passed; whether it was over. */
  async run(untilMs: number, isOver: () => boolean): Promise<boolean> {
    await settled()
    while (!isOver()) {
      const next = this.#heap[0]
      if (next === undefined || next.atMs > untilMs) return false
      this.#pop()
      if (next.run === null) continue
      this.#nowMs = next.atMs
      next.run()
      await settled()
    }
    return true
  }

  #push(happening: Happening): void {
    const heap = this.#heap
    let at = heap.push(happening) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(happening, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = happening
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}

/** Node runs its tick queue only when no promise is left to be told of. */
function settled(): Promise<void> {
  return new Promise(resolve => process.nextTick(resolve))
}

/**
 * One process of a broker. Everything that reaches it, timers and messages, goes through here, so that it can stand
 * still (SIGSTOP: what comes waits, its clock goes on) and end at any moment (kill -9).
 */
export class Machine {
  readonly clock: Clock
  readonly #scheduler: Scheduler
  /** Everything that came while it stood still, in order; null while it runs. */
  #held: (() => void)[] | null = null
  #isDead = false

  constructor(scheduler: Scheduler, wallMs: number) {
    this.#scheduler = scheduler
    // No two machines began to count at the same time.
    const originMs = 1_000 + scheduler.random.below(1_000_000)
    const reach = (run: () => void) => () => this.reach(run)
    this.clock = {
      now: () => Math.floor(wallMs + scheduler.nowMs),
      monotonic: () => originMs + scheduler.nowMs,
      timer: (delayMs, run) => {
        let isCancelled = false
        // It may fall due while the machine stands still, and be cancelled by what runs before it when it goes on.
        const timer = scheduler.after(
          delayMs,
          reach(() => {
            if (!isCancelled) run()
          }),
        )
        return {
          cancel: () => {
            isCancelled = true
            timer.cancel()
          },
        }
      },
      soon: run => void scheduler.after(0, reach(run)),
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get isPaused(): boolean {
    return this.#held !== null
  }

  reach(run: () => void): void {
    if (this.#isDead) return
    if (this.#held === null) run()
    else this.#held.push(run)
  }

  pause(): void {
    this.#held ??= []
  }

  /** Everything that waited happens, one after the other, as if it had just come. */
  resume(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const run of held) this.#scheduler.after(0, () => this.reach(run))
  }

  kill(): void {
    this.#isDead = true
  }
}
