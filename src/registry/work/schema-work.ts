// Work on schemas that clients submit, in threads with limits: a schema must not hold the event loop, take the memory
// of the broker, or end it. Results are kept, so that known text costs no thread. It knows no subjects and no store.

import { BoundedCache } from '../../base/bounded-cache.ts'
import type { Clock } from '../../base/clock.ts'
import { type Thread, ThreadEnded, Threads, TookTooLong } from '../../base/threads.ts'
import {
  type Difference,
  InvalidSchema,
  MOST_REFERENCES,
  MOST_SCHEMA_BYTES,
  MOST_SCHEMA_BYTES_WITH_REFERENCES,
  type Policy,
  type SchemaText,
  type SchemaType,
  type Strictness,
} from '../format.ts'
import { comparedBytes, examinedBytes, keyOf, shared, sizeOf } from './kept-results.ts'
import { type Compiled, type Examined, READY, type SchemaCall } from './schema-call.ts'
import { type Line, type Ticket, type Turn, Turns } from './turns.ts'
import { isUnusable, type Unusable } from './unusable.ts'

export interface SchemaWorkOptions {
  readonly clock: Clock
  /** By default the threads have the formats of this program. */
  readonly script?: URL
  /** The most threads for schemas that clients submit. Two more work for stored schemas. */
  readonly most?: number
  readonly cpuMs?: number
  readonly memoryMiB?: number
  /** The most calls of one caller that wait, for registrations and for everything else. */
  readonly mostWaitingOfCaller?: number
  /** The same, of all callers. */
  readonly mostWaiting?: number
  /** Called after each call of a thread, with the time in ms since it was asked for. */
  readonly observe?: (verb: SchemaCall[0], result: 'done' | 'invalid' | 'costly' | 'failed', ms: number) => void
}

const MOST_THREADS = 2
const CPU_MS = 1_000
const MEMORY_MIB = 256
/** Below the requests of one address and of all that the HTTP port takes at one time (places.ts). */
const MOST_WAITING_OF_CALLER = 100
const MOST_WAITING = 400
/** The turn of work for which no caller is known. */
const NO_CALLER: Turn = Object.freeze({ caller: '', line: 'checks' })
/** The most bytes of results that are kept. */
const EXAMINED_BYTES = 8 << 20
const COMPARED_BYTES = 4 << 20
const COMPILED_BYTES = 16 << 20

/** Work that several callers may await, and its ticket while it may still wait. */
interface Begun<T> {
  readonly ticket: Ticket | null
  readonly result: Promise<T>
}

export class SchemaWork {
  readonly #submitted: Threads
  readonly #turns: Turns
  /** Produce requests wait for this work, so it does not queue behind what clients submit or ask for. */
  readonly #stored: Threads
  /** The same, for comparisons: one of them may take as long as a hundred programs. */
  readonly #comparing: Threads
  readonly #cpuMs: number
  readonly #memoryMiB: number
  readonly #clock: Clock
  readonly #observe: NonNullable<SchemaWorkOptions['observe']>
  readonly #examined = new BoundedCache<string, Examined | Unusable>(EXAMINED_BYTES, examinedBytes)
  readonly #compared = new BoundedCache<string, readonly Difference[] | Unusable>(COMPARED_BYTES, comparedBytes)
  readonly #compiled = new BoundedCache<string, (Compiled & { readonly bytes: number }) | Unusable>(
    COMPILED_BYTES,
    each => (isUnusable(each) ? 300 + 2 * each.why.length : each.bytes),
  )
  /** Threads that have loaded the formats. */
  readonly #ready = new WeakSet<Thread>()
  readonly #running = new Map<string, Begun<unknown>>()

  constructor({ clock, script, observe, most = MOST_THREADS, ...limited }: SchemaWorkOptions) {
    const { cpuMs = CPU_MS, memoryMiB = MEMORY_MIB } = limited
    const { mostWaitingOfCaller: mostOfCaller = MOST_WAITING_OF_CALLER, mostWaiting: mostOfAll = MOST_WAITING } =
      limited
    const url = script ?? new URL('./schema-worker.ts', import.meta.url)
    const limits = { maxOldGenerationSizeMb: memoryMiB }
    const options = { name: 'schema', script: url, clock, limits, errorOf }
    this.#submitted = new Threads({ ...options, most })
    this.#turns = new Turns({ most, mostOfCaller, mostOfAll })
    this.#stored = new Threads({ ...options, most: 1 })
    this.#comparing = new Threads({ ...options, most: 1 })
    this.#cpuMs = cpuMs
    this.#memoryMiB = memoryMiB
    this.#clock = clock
    this.#observe = observe ?? (() => {})
  }

  /** About the bytes of the results that are kept. */
  get bytes(): number {
    return this.#examined.bytes + this.#compared.bytes + this.#compiled.bytes
  }

  /** Ends the threads. Calls in progress fail with ThreadEnded. */
  async close(): Promise<void> {
    await Promise.all([this.#submitted, this.#stored, this.#comparing].map(threads => threads.close()))
  }

  /** Resolves with the facts about a schema, or with the reason why the text is no schema. */
  async examine(
    type: SchemaType,
    source: SchemaText,
    strictness: Strictness,
    turn: Turn = NO_CALLER,
  ): Promise<Examined | Unusable> {
    const tooLarge = sizeObjection(source)
    if (tooLarge !== null) return { kind: 'large', why: tooLarge }
    const key = `${strictness} ${keyOf(type, source)}`
    return await this.#once('examine', key, this.#examined, turn, () => {
      const { ticket, result } = this.#submit<Examined>(turn, ['examine', type, source, strictness])
      return { ticket, result: result.then(examined => (isUnusable(examined) ? examined : shared(examined))) }
    })
  }

  /**
   * Resolves with the reasons why the reader cannot read what the writer writes; empty if it can. At least one of the
   * two is stored, the other one was examined.
   */
  async compare(
    type: SchemaType,
    reader: SchemaText,
    writer: SchemaText,
    policy: Policy,
    turn: Turn = NO_CALLER,
  ): Promise<readonly Difference[] | Unusable> {
    const key = `${policy} ${keyOf(type, reader)} ${keyOf(type, writer)}`
    return await this.#once('compare', key, this.#compared, turn, () =>
      this.#submit<readonly Difference[]>(turn, ['compare', type, reader, writer, policy]),
    )
  }

  /** The same for two stored schemas. Produce requests wait for it, so it does not share the turns of `compare`. */
  async compareStored(
    type: SchemaType,
    reader: SchemaText,
    writer: SchemaText,
    policy: Policy,
  ): Promise<readonly Difference[] | Unusable> {
    const key = `${policy} ${keyOf(type, reader)} ${keyOf(type, writer)}`
    return await this.#once('compare-stored', key, this.#compared, null, () => ({
      ticket: null,
      result: this.#ask<readonly Difference[]>(this.#comparing, ['compare', type, reader, writer, policy]),
    }))
  }

  /** Resolves with the program of a stored schema. */
  async compile(type: SchemaType, source: SchemaText): Promise<Compiled | Unusable> {
    return await this.#once('compile', keyOf(type, source), this.#compiled, null, () => {
      const result = this.#ask<Compiled>(this.#stored, ['compile', type, source])
      const bytes = 1_000 + 4 * sizeOf(source)
      return { ticket: null, result: result.then(each => (isUnusable(each) ? each : { ...each, bytes })) }
    })
  }

  /**
   * Resolves with the form of a stored schema that `format=serialized` asks for; null if its format has none. Clients
   * may ask for it as often as they like, so it takes a thread for submitted schemas.
   */
  async serialize(type: SchemaType, source: SchemaText, turn: Turn = NO_CALLER): Promise<string | null | Unusable> {
    return await this.#submit<string | null>(turn, ['serialize', type, source]).result
  }

  /**
   * Returns what is kept, or does the work, once for all callers that ask for it meanwhile. It begins in the turn that
   * one of them has first. `turn` is null for work without turns.
   */
  async #once<T extends object>(
    verb: string,
    key: string,
    kept: BoundedCache<string, T>,
    turn: Turn | null,
    work: () => Begun<T>,
  ): Promise<T> {
    const found = kept.get(key)
    if (found !== undefined) return found
    const name = `${verb} ${key}`
    const running = this.#running.get(name) as Begun<T> | undefined
    if (running !== undefined) {
      if (turn !== null && running.ticket !== null) this.#turns.join(running.ticket, turn)
      return await running.result
    }
    const { ticket, result } = work()
    // Too many calls of this caller wait, and perhaps none of another one.
    if (turn !== null && ticket === null) return await result
    const settled = result
      .then(each => {
        // With another thread, or later, the answer may be another one.
        if (!isPassing(each)) kept.set(key, each)
        return each
      })
      .finally(() => this.#running.delete(name))
    this.#running.set(name, { ticket, result: settled })
    return await settled
  }

  /** Does work that a client asks for, in its turn. */
  #submit<T>(turn: Turn, call: SchemaCall): Begun<T | Unusable> {
    const beganAtMs = this.#clock.monotonic()
    const begin = Promise.withResolvers<Line>()
    const ticket = this.#turns.ask(turn, begin.resolve)
    if (typeof ticket === 'string') return { ticket: null, result: Promise.resolve(tooMany(turn, ticket)) }
    const work = async () => {
      const line = await begin.promise
      try {
        return await this.#ask<T>(this.#submitted, call, beganAtMs)
      } finally {
        this.#turns.end(line)
      }
    }
    return { ticket, result: work() }
  }

  async #ask<T>(threads: Threads, call: SchemaCall, beganAtMs = this.#clock.monotonic()): Promise<T | Unusable> {
    let result: 'done' | 'invalid' | 'costly' | 'failed' = 'failed'
    try {
      const answer = await this.#answer<T>(threads, call)
      const isRefused = typeof answer === 'object' && answer !== null && isUnusable(answer)
      result = isRefused ? (answer.kind === 'costly' ? 'costly' : 'invalid') : 'done'
      return answer
    } finally {
      this.#observe(call[0], result, this.#clock.monotonic() - beganAtMs)
    }
  }

  async #answer<T>(threads: Threads, call: SchemaCall): Promise<T | Unusable> {
    const thread: Thread = await threads.take()
    try {
      if (!this.#ready.has(thread)) await thread.ask(READY)
      this.#ready.add(thread)
      return await thread.askWithin<T>(this.#cpuMs, call)
    } catch (error) {
      if (error instanceof InvalidSchema) return { kind: 'invalid', why: error.message }
      const why = this.#cost(error)
      if (why === null) throw error
      return { kind: 'costly', why }
    } finally {
      threads.give(thread)
    }
  }

  /** Returns which limit the work has passed; null if the error has another cause. */
  #cost(error: unknown): string | null {
    if (error instanceof TookTooLong) return `it takes more than ${this.#cpuMs} ms of processor time to check`
    if (error instanceof RangeError) return 'it is nested too deeply to be checked'
    const code = error instanceof ThreadEnded && (error.cause as { readonly code?: unknown } | undefined)?.code
    return code === 'ERR_WORKER_OUT_OF_MEMORY' ? `it takes more than ${this.#memoryMiB} MiB of memory to check` : null
  }
}

const isPassing = (result: object) => isUnusable(result) && (result.kind === 'costly' || result.kind === 'busy')

function tooMany({ line }: Turn, whose: 'caller' | 'all'): Unusable {
  const why = whose === 'caller' ? 'too many of this caller wait already' : 'too many wait already'
  return { kind: 'busy', why: `The registry has no time for more ${line}: ${why}. Try again later.` }
}

function errorOf({ name, message }: { readonly name: string; readonly message: string }): Error {
  if (name === 'InvalidSchema') return new InvalidSchema(message)
  return name === 'RangeError' ? new RangeError(message) : new Error(`${name} in a thread of schemas: ${message}`)
}

/** Returns why the schema is too large; null if it is not. */
export function sizeObjection(source: SchemaText): string | null {
  const { text, dependencies } = source
  if (Buffer.byteLength(text) > MOST_SCHEMA_BYTES)
    return `it has ${Buffer.byteLength(text)} bytes; the most are ${MOST_SCHEMA_BYTES}`
  if (dependencies.length > MOST_REFERENCES)
    return `it refers to ${dependencies.length} schemas, directly or not; the most are ${MOST_REFERENCES}`
  const bytes = dependencies.reduce((sum, each) => sum + Buffer.byteLength(each.text), Buffer.byteLength(text))
  if (bytes <= MOST_SCHEMA_BYTES_WITH_REFERENCES) return null
  return `it has ${bytes} bytes with its references; the most are ${MOST_SCHEMA_BYTES_WITH_REFERENCES}`
}
