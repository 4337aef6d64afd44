// The thread of the cleaner, which has the lowest priority: producers and readers come first. It starts with the first
// pass and ends when no pass has needed it for a while, so that a broker without compacted topics has no such thread.
// It does the calls in their order; while one waits for it, it has no pause. Batches are copied into memory that is
// handed over, because the store may share theirs.

import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import { copied } from '../../base/copied.ts'
import type { Terms } from './clean-batch.ts'
import type { CleanedPiece, Mapped, Unreadable, Work } from './cleaner-work.ts'
import type { Call } from './cleaner-worker.ts'

/** The time after which an idle thread ends. It takes some megabytes, and about 50 ms to start. */
const IDLE_MS = 10_000

export class CleanerThread implements Work {
  readonly #clock: Clock
  #worker: Worker | null = null
  /** The calls that the thread has not answered, in order. */
  #waiting: PromiseWithResolvers<unknown>[] = []
  #timer: Timer | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True while the thread exists. */
  get isRunning(): boolean {
    return this.#worker !== null
  }

  begin(mapBytes: number, from: number): Promise<void> {
    this.#timer?.cancel()
    return this.#ask(['begin', mapBytes, from], [])
  }

  map(batches: readonly Uint8Array[], from: number, to: number): Promise<Mapped | Unreadable> {
    const { views, memory } = copied(batches)
    return this.#ask(['map', views, from, to], [memory])
  }

  clean(batches: readonly Uint8Array[], terms: Terms): Promise<CleanedPiece | Unreadable> {
    const { views, memory } = copied(batches)
    return this.#ask(['clean', views, terms], [memory])
  }

  async end(): Promise<void> {
    if (this.#worker === null) return
    this.#timer?.cancel()
    this.#timer = this.#clock.timer(IDLE_MS, () => void this.stop())
    await this.#ask(['end'], [])
  }

  /** Ends the thread. A call in progress fails. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  /**
   * Resolves with the answer of the thread. Rejects if the thread fails or ends before; the next call starts another.
   */
  #ask<T>(call: Call, memory: readonly ArrayBuffer[]): Promise<T> {
    this.#worker ??= this.#start()
    const asked = Promise.withResolvers<T>()
    this.#waiting.push(asked as never)
    this.#worker.ref()
    this.#worker.postMessage(call, memory)
    return asked.promise
  }

  #start(): Worker {
    const worker = startThread()
    const waiting: PromiseWithResolvers<unknown>[] = []
    this.#waiting = waiting
    worker.on('message', answer => {
      waiting.shift()!.resolve(answer)
      // An idle thread does not keep the process alive.
      if (waiting.length === 0) worker.unref()
    })
    const fail = (error: unknown) => {
      if (this.#worker === worker) this.#worker = null
      for (const { reject } of waiting.splice(0)) reject(error)
    }
    worker.on('error', fail)
    worker.on('exit', status => fail(new Error(`the thread of the cleaner ended with status ${status}`)))
    return worker
  }
}

/** The room for young objects in MB: each record makes some that are dropped at once. By default it is 48 MB. */
const YOUNG_MB = 8

function startThread(): Worker {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB }
  return new Worker(new URL('./cleaner-worker.ts', import.meta.url), { resourceLimits })
}
