// Decodes and makes bodies within limits, whatever is in them: a small one at once, which holds the event loop for a
// few milliseconds, and any other one in a thread.
//
//   a body of 512 KiB as text      some 50 ms of processor time
//   a text of 2 MiB as a body      some 200 ms
//   a value of unions in unions    as many ways to read it as the encoder tries (avro/encode.ts)

import type { Clock } from '../../base/clock.ts'
import { type Thread, ThreadEnded, Threads, TookTooLong } from '../../base/threads.ts'
import type { Fault } from '../format.ts'
import { type BodyType, textOf } from './bodies.ts'
import type { BodyCall } from './body-worker.ts'

/** The largest key or value that is decoded or made, and the longest text, in bytes. */
export const MOST_BODY_BYTES = 512 * 1024
export const MOST_TEXT_BYTES = 2 * 1024 * 1024

/** A body of at most SOON_BYTES whose text has at most SOON_TEXT_BYTES is decoded at once. */
const SOON_BYTES = 16 * 1024
const SOON_TEXT_BYTES = 128 * 1024

const MOST_THREADS = 2
const CPU_MS = 1_000
const MEMORY_MIB = 256
const READY: BodyCall = Object.freeze(['ready'])

export class BodyWork {
  readonly #threads: Threads
  /** Threads that have loaded the formats. */
  readonly #ready = new WeakSet<Thread>()

  constructor(clock: Clock) {
    this.#threads = new Threads({
      name: 'record',
      script: new URL('./body-worker.ts', import.meta.url),
      most: MOST_THREADS,
      clock,
      limits: { maxOldGenerationSizeMb: MEMORY_MIB },
      errorOf: ({ name, message }) => new Error(`${name} in a thread of records: ${message}`),
    })
  }

  /** Returns the text of the body `bytes[from, to)`, or why it has none; a promise of it if it takes long. */
  decode(type: BodyType, bytes: Uint8Array, from: number, to: number): string | Fault | Promise<string | Fault> {
    if (to - from <= SOON_BYTES) {
      const text = textOf(type, bytes, from, to, SOON_TEXT_BYTES)
      // With more room the text may fit.
      if (typeof text === 'string' || text.reason !== 'too-many-elements') return text
    }
    return this.#ask<string>(['decode', type, bytes.slice(from, to), MOST_TEXT_BYTES])
  }

  /** Resolves with the body that has this text, or with the reason why the text makes no body. */
  async encode(type: BodyType, text: string): Promise<Uint8Array | Fault> {
    return await this.#ask<Uint8Array>(['encode', type, text, MOST_BODY_BYTES])
  }

  close(): Promise<void> {
    return this.#threads.close()
  }

  async #ask<T>(call: BodyCall): Promise<T | Fault> {
    const thread = await this.#threads.take()
    try {
      if (!this.#ready.has(thread)) await thread.ask(READY)
      this.#ready.add(thread)
      return await thread.askWithin<T | Fault>(CPU_MS, call)
    } catch (error) {
      if (error instanceof TookTooLong) return tooMuch(`${CPU_MS} ms of processor time`, 'too-slow')
      const code = error instanceof ThreadEnded && (error.cause as { readonly code?: unknown } | undefined)?.code
      if (code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      return tooMuch(`${MEMORY_MIB} MiB of memory`, 'too-many-elements')
    } finally {
      this.#threads.give(thread)
    }
  }
}

function tooMuch(what: string, reason: Fault['reason']): Fault {
  return { reason, message: `it takes more than ${what}` }
}
