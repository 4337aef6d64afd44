// Watches the reads of a store that other brokers share, so that a request of a client does not wait for a silent one.
// A silent Redis holds a command until the circuit breaker opens, which takes ten seconds and more, and a client of a
// registry is better served by an answer with which it can try again. Produced records are not the business of this
// file: their judge has its own patience.

import type { Clock, Timer } from '../base/clock.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'

/** The longest silence of the store, in ms, for which a request waits. */
export const MOST_SILENCE_MS = 2_000
/** After a pause of the whole process, the answers that lie in the sockets are read within this time. */
const GRACE_MS = 100

export class ReadWatch {
  readonly #clock: Clock
  /** When each read began that is not answered, in the order of the beginnings. */
  readonly #waiting = new Set<{ readonly sinceMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the store with reads that are watched. */
  over(store: Store): Store {
    return {
      ...store,
      load: (kind, name) => this.#watch(store.load(kind, name)),
      version: (kind, name) => this.#watch(store.version(kind, name)),
      list: kind => this.#watch(store.list(kind)),
      names: kind => this.#watch(store.names(kind)),
    }
  }

  /**
   * Resolves or rejects as the work does. Rejects with StoreUnavailable once a read of the store has waited for
   * MOST_SILENCE_MS while the work did. The work goes on, so a caller that must know what it has written waits for it.
   */
  async promptly<T>(work: Promise<T>): Promise<T> {
    const fromMs = this.#clock.monotonic()
    let timer: Timer | null = null
    const silence = new Promise<never>((_, reject) => {
      const look = () => {
        const leftMs = this.#leftMs(fromMs)
        if (leftMs > 0) timer = this.#clock.timer(leftMs, lookAgain)
        else reject(new StoreUnavailable(`the store has not answered a read for ${MOST_SILENCE_MS} ms`))
      }
      const lookAgain = () => {
        timer = this.#clock.timer(GRACE_MS, look)
      }
      timer = this.#clock.timer(MOST_SILENCE_MS - GRACE_MS, lookAgain)
    })
    try {
      return await Promise.race([work, silence])
    } finally {
      timer!.cancel()
    }
  }

  /** Returns for how long the oldest read may still wait. */
  #leftMs(fromMs: number): number {
    const [oldest] = this.#waiting
    const nowMs = this.#clock.monotonic()
    return MOST_SILENCE_MS - (nowMs - Math.max(fromMs, oldest?.sinceMs ?? nowMs))
  }

  async #watch<T>(read: Promise<T>): Promise<T> {
    const waiting = { sinceMs: this.#clock.monotonic() }
    this.#waiting.add(waiting)
    try {
      return await read
    } finally {
      this.#waiting.delete(waiting)
    }
  }
}
