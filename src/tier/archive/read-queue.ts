// The order of work that goes to the object store for readers: a few tasks run at a time, some may wait, and more are
// turned away at once. Reading ahead uses only what is left over. It knows nothing of tables.

import { assert } from '../../base/assert.ts'

/** The archive was closed. */
export class Closed extends Error {
  override readonly name = 'Closed'

  constructor() {
    super('the archive is closed')
  }
}

export class ReadQueue {
  readonly #threads: number
  readonly #capacity: number
  readonly #onLength: (waiting: number) => void
  /** In the order of arrival. */
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #running = 0
  #isClosed = false

  constructor(threads: number, capacity: number, onLength: (waiting: number) => void) {
    assert(threads >= 1 && capacity >= 0, `a queue has a thread and a capacity, got ${threads} and ${capacity}`)
    this.#threads = threads
    this.#capacity = capacity
    this.#onLength = onLength
  }

  /** Tasks that wait for their turn. */
  get length(): number {
    return this.#waiting.length
  }

  /** Runs the task when its turn comes; null if too many wait. Rejects with the task's error, or with Closed. */
  run<T>(task: () => Promise<T>): Promise<T> | null {
    if (this.#isClosed) return Promise.reject(new Closed())
    if (this.#running < this.#threads) {
      this.#running++
      return this.#run(task)
    }
    if (this.#waiting.length >= this.#capacity) return null
    const turn = Promise.withResolvers<void>()
    this.#waiting.push(turn)
    this.#onLength(this.#waiting.length)
    return turn.promise.then(() => this.#run(task))
  }

  /**
   * Runs the task if no reader waits and a thread is left for the next one; a queue with one thread has none to spare
   * but that. Null if the task did not start.
   */
  runIdle<T>(task: () => Promise<T>): Promise<T> | null {
    const spare = this.#threads === 1 ? 0 : 1
    const isBusy = this.#waiting.length > 0 || this.#running + spare >= this.#threads
    if (this.#isClosed || isBusy) return null
    this.#running++
    return this.#run(task)
  }

  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new Closed())
    this.#onLength(0)
  }

  /** Runs a task that has a thread already. */
  async #run<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      this.#next()
    }
  }

  /** Hands the thread of a task that has ended to the next one, so that no call in between can take it. */
  #next(): void {
    const turn = this.#waiting.shift()
    if (turn === undefined) {
      this.#running--
      return
    }
    this.#onLength(this.#waiting.length)
    turn.resolve()
  }
}
