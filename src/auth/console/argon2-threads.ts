// Threads that hash passwords with the lowest priority, so that the event loop and the threads of the store continue.
// Node's own thread pool has normal priority: with few processors, producers would wait while it hashes
// (bench/admin-http.ts). The caller limits how many passwords are hashed at once.

import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Argon2Input } from './argon2-worker.ts'

/**
 * The time in ms after which an idle thread ends. A thread takes some megabytes, and 30 ms to start, so it stays
 * while people sign in.
 */
const IDLE_MS = 60_000

export class Argon2Threads {
  readonly #clock: Clock
  #idle: Worker[] = []
  #timer: Timer | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async hash(input: Argon2Input): Promise<Buffer> {
    this.#timer?.cancel()
    const thread = this.#idle.pop() ?? startThread()
    const tag = await ask(thread, input)
    this.#idle.push(thread)
    this.#timer = this.#clock.timer(IDLE_MS, () => this.#endIdle())
    return tag
  }

  #endIdle(): void {
    for (const thread of this.#idle) void thread.terminate()
    this.#idle = []
  }
}

function startThread(): Worker {
  return new Worker(new URL('./argon2-worker.ts', import.meta.url))
}

/**
 * Resolves with the hash that the thread computes. Rejects if the thread ends or fails before; then it cannot be used
 * again.
 */
function ask(thread: Worker, input: Argon2Input): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const end = (code: number) => reject(new Error(`the thread that hashes passwords ended with status ${code}`))
  const settle = () => {
    thread.off('message', answer)
    thread.off('error', fail)
    thread.off('exit', end)
    // An idle thread does not keep the process alive.
    thread.unref()
  }
  const answer = (tag: Uint8Array) => resolve(Buffer.from(tag.buffer, tag.byteOffset, tag.byteLength))
  const fail = (error: unknown) => reject(error)
  thread.on('message', answer).on('error', fail).on('exit', end)
  thread.ref()
  thread.postMessage(input)
  return promise.finally(settle)
}
