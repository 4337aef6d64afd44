// The only source of order in a simulation. The next event is the one that is due first, and each event runs to its
// end, with its promises, before the next one begins. All random values come from one seed, so the same seed gives
// the same trace. The scheduler knows nothing about the simulation.

import type { Clock, Timer } from '../../src/base/clock.ts'
import { type Random, seededRandom } from '../../src/base/random.ts'

interface Happening {
  readonly atMs: number
  readonly order: number
  run: (() => void) | null
}

export class Scheduler {
  readonly random: Random
  /** Every line of the trace, if the caller wants to read it; else null. */
  readonly lines: string[] | null
  /** The hash of every line and its time. */
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

  /** Returns true with a chance of one in `many`. */
  oneIn(many: number): boolean {
    return this.random.below(many) === 0
  }

  /**
   * Returns a random time between 0 and this many milliseconds, in milliseconds with a precision of one microsecond.
   */
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

  /**
   * Runs until no event is left, `isOver` returns true, or the time `untilMs` has come. Resolves with whether it was
   * over.
   */
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

/** Resolves when all promises have settled: Node runs its tick queue only when no promise callback is left. */
function settled(): Promise<void> {
  return new Promise(resolve => process.nextTick(resolve))
}

/**
 * One process of a broker. All its timers and messages go through here, so that it can pause (SIGSTOP: events wait,
 * its clock goes on) and die at any moment (kill -9).
 */
export class Machine {
  readonly clock: Clock
  readonly #scheduler: Scheduler
  /** The events that came during a pause, in order; null while the process runs. */
  #held: (() => void)[] | null = null
  #isDead = false
  #wallMs: number

  constructor(scheduler: Scheduler, wallMs: number) {
    this.#scheduler = scheduler
    this.#wallMs = wallMs
    // Each machine counts its monotonic time from another moment.
    const originMs = 1_000 + scheduler.random.below(1_000_000)
    const reach = (run: () => void) => () => this.reach(run)
    this.clock = {
      now: () => Math.floor(this.#wallMs + scheduler.nowMs),
      monotonic: () => originMs + scheduler.nowMs,
      timer: (delayMs, run) => {
        let isCancelled = false
        // The timer may become due during a pause. An earlier event may then cancel it after the pause.
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

  /** Runs the waiting events, one after the other, as if they had just come. */
  resume(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const run of held) this.#scheduler.after(0, () => this.reach(run))
  }

  kill(): void {
    this.#isDead = true
  }

  /** Moves the system clock by this time. The monotonic clock goes on. */
  moveClock(ms: number): void {
    this.#wallMs += ms
  }
}
