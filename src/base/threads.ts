// A limited number of threads for work that takes a processor. A thread starts when it is first needed and ends when
// it has been idle for a while. A caller has a thread to itself until it gives it back. A thread that dies fails the
// calls that wait for it, and the next caller gets another one. A call may have a limit of processor time; the thread
// that passes it ends. This file knows nothing of the work.

import { type ResourceLimits, Worker } from 'node:worker_threads'
import { assert } from './assert.ts'
import type { Clock, Timer } from './clock.ts'

/** The thread ended before it answered, or the pool was closed. The same work may succeed in another thread. */
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded'
}

/** A call took more processor time than it may, and its thread was ended for it. */
export class TookTooLong extends ThreadEnded {}

/** An answer of a thread: errors lose their class on the way, so they travel as their parts. */
export type Answer =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string; readonly offset?: number }

export interface ThreadOptions {
  /** For messages: 'encoder', for example. */
  readonly name: string
  readonly script: URL
  /** The most threads at one time. */
  readonly most: number
  readonly clock: Clock
  /** By default the room for young objects is YOUNG_MB, and nothing else is limited. */
  readonly limits?: ResourceLimits
  /** Makes the error of an answer. */
  readonly errorOf: (failed: Answer & { readonly kind: 'failed' }) => Error
}

/** An idle thread ends after this time. */
const IDLE_MS = 10_000
/** The time between two looks at the processor time of a call. */
const LOOK_MS = 20
/** The room for young objects in MB; Node's own default is 48 MB. */
const YOUNG_MB = 16

export class Threads {
  readonly #options: ThreadOptions
  readonly #idle: Thread[] = []
  readonly #all = new Set<Thread>()
  readonly #waiting: PromiseWithResolvers<Thread>[] = []
  /** The threads that callers have, also those that have died since: their callers still have to give them back. */
  #taken = 0
  #isClosed = false

  constructor(options: ThreadOptions) {
    assert(options.most >= 1, `a pool has at least one thread, got ${options.most}`)
    this.#options = options
  }

  /** The threads that exist. */
  get size(): number {
    return this.#all.size
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves with a thread when one is free, in the order of the callers. Rejects once the pool is closed. */
  async take(): Promise<Thread> {
    if (this.#isClosed) throw this.#closed()
    if (this.#taken < this.#options.most) {
      this.#taken++
      const idle = this.#idle.pop()
      idle?.stay()
      return idle ?? this.#start()
    }
    const waiting = Promise.withResolvers<Thread>()
    this.#waiting.push(waiting)
    return await waiting.promise
  }

  /** Takes a thread back. */
  give(thread: Thread): void {
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) {
      waiting.resolve(thread.isAlive ? thread : this.#start())
      return
    }
    this.#taken--
    if (!thread.isAlive) return
    this.#idle.push(thread)
    thread.leaveAfter(IDLE_MS)
  }

  /** Ends all threads. Calls that wait for them fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(this.#closed())
    this.#idle.length = 0
    await Promise.all([...this.#all].map(thread => thread.end()))
  }

  #closed(): ThreadEnded {
    return new ThreadEnded(`the ${this.#options.name} threads are closed`)
  }

  #start(): Thread {
    const thread = new Thread(this.#options, () => {
      this.#all.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at >= 0) this.#idle.splice(at, 1)
    })
    this.#all.add(thread)
    return thread
  }
}

/** One thread. It answers calls in their order. */
export class Thread {
  readonly #options: ThreadOptions
  readonly #worker: Worker
  readonly #asked: PromiseWithResolvers<unknown>[] = []
  readonly #onEnd: () => void
  #timer: Timer | null = null
  #isAlive = true

  constructor(options: ThreadOptions, onEnd: () => void) {
    this.#options = options
    this.#onEnd = onEnd
    this.#worker = new Worker(options.script, {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB, ...options.limits },
    })
    this.#worker.on('message', (answer: Answer) => this.#settle(answer))
    this.#worker.on('error', cause => this.#fail(`failed: ${(cause as Error).message}`, cause))
    this.#worker.on('exit', status => this.#fail(`ended with status ${status}`))
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Makes a call, and hands this memory over. Rejects with the error of the work, or with ThreadEnded. */
  ask<T>(call: unknown, memory: readonly ArrayBuffer[] = []): Promise<T> {
    const asked = Promise.withResolvers<unknown>()
    if (!this.#isAlive) asked.reject(new ThreadEnded(`the ${this.#options.name} thread has ended`))
    else {
      this.#asked.push(asked)
      this.#worker.ref()
      this.#worker.postMessage(call, memory)
    }
    return asked.promise as Promise<T>
  }

  /**
   * Makes a call that may take `cpuMs` of processor time, as the only call of this thread. The time that the thread
   * waits for a processor does not count. Rejects with TookTooLong when it took more, and with the errors of `ask`.
   */
  async askWithin<T>(cpuMs: number, call: unknown, memory: readonly ArrayBuffer[] = []): Promise<T> {
    assert(this.#asked.length === 0, 'another call is in progress')
    const usedMs = async () => {
      const { user, system } = await this.#worker.cpuUsage()
      return (user + system) / 1000
    }
    const answer = this.ask<T>(call, memory)
    let isOver = false
    let timer: Timer | null = null
    // A look interrupts the thread, and most calls end before the first one. So the time before it does not count, as
    // well as the start of the thread: cpuUsage fails until it runs, and after it has ended.
    const look = (fromMs: number | null) => {
      if (isOver || !this.#isAlive) return
      timer = this.#options.clock.timer(
        LOOK_MS,
        () =>
          void usedMs().then(
            now => judge(now, fromMs),
            () => look(fromMs),
          ),
      )
    }
    const judge = (nowMs: number, fromMs: number | null) => {
      if (isOver) return
      if (fromMs === null || nowMs - fromMs <= cpuMs) return look(fromMs ?? nowMs)
      const why = `was stopped: a call took more than ${cpuMs} ms of processor time`
      this.#fail(why, undefined, TookTooLong)
      void this.end()
    }
    look(null)
    try {
      return await answer
    } finally {
      isOver = true
      ;(timer as Timer | null)?.cancel()
    }
  }

  stay(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  leaveAfter(delayMs: number): void {
    this.#timer = this.#options.clock.timer(delayMs, () => void this.end())
  }

  async end(): Promise<void> {
    this.stay()
    this.#fail('was stopped')
    await this.#worker.terminate()
  }

  #settle(answer: Answer): void {
    const asked = this.#asked.shift()
    // The thread was stopped while it answered.
    if (asked === undefined) return
    // An idle thread does not keep the process alive.
    if (this.#asked.length === 0) this.#worker.unref()
    if (answer.kind === 'done') asked.resolve(answer.result)
    else asked.reject(this.#options.errorOf(answer))
  }

  #fail(why: string, cause?: unknown, Kind = ThreadEnded): void {
    if (this.#isAlive) this.#onEnd()
    this.#isAlive = false
    const error = new Kind(`the ${this.#options.name} thread ${why}`, { cause })
    for (const { reject } of this.#asked.splice(0)) reject(error)
  }
}
