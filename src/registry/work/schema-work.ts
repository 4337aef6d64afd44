// Work on schemas that clients submit, in threads with limits: a schema must not hold the event loop, take the memory
// of the broker, or end it. Results are kept, so that known text costs no thread. It knows no subjects and no store.

import { createHash } from 'node:crypto'
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
import { type Compiled, type Examined, READY, type SchemaCall } from './schema-call.ts'

/**
 * The schema cannot be used, with the reason as a clause for people. `large`: it has too many bytes or references.
 * `costly`: it takes too much processor time or memory.
 */
export interface Unusable {
  readonly kind: 'invalid' | 'large' | 'costly'
  readonly why: string
}

export function isUnusable(result: object | string | null): result is Unusable {
  return typeof result === 'object' && result !== null && 'why' in result
}

export interface SchemaWorkOptions {
  readonly clock: Clock
  /** By default the threads have the formats of this program. */
  readonly script?: URL
  /** The most threads for schemas that clients submit. Two more work for stored schemas. */
  readonly most?: number
  readonly cpuMs?: number
  readonly memoryMiB?: number
  /** Called after each call of a thread, with the time in ms since it was asked for. */
  readonly observe?: (verb: SchemaCall[0], result: 'done' | 'invalid' | 'costly' | 'failed', ms: number) => void
}

const MOST_THREADS = 2
const CPU_MS = 1_000
const MEMORY_MIB = 256
/** The most bytes of results that are kept. */
const EXAMINED_BYTES = 8 << 20
const COMPARED_BYTES = 4 << 20
const COMPILED_BYTES = 16 << 20

export class SchemaWork {
  readonly #submitted: Threads
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
  readonly #running = new Map<string, Promise<unknown>>()

  constructor({ clock, script, observe, most = MOST_THREADS, ...limited }: SchemaWorkOptions) {
    const { cpuMs = CPU_MS, memoryMiB = MEMORY_MIB } = limited
    const url = script ?? new URL('./schema-worker.ts', import.meta.url)
    const limits = { maxOldGenerationSizeMb: memoryMiB }
    const options = { name: 'schema', script: url, clock, limits, errorOf }
    this.#submitted = new Threads({ ...options, most })
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
  async examine(type: SchemaType, source: SchemaText, strictness: Strictness): Promise<Examined | Unusable> {
    const tooLarge = sizeObjection(source)
    if (tooLarge !== null) return { kind: 'large', why: tooLarge }
    const key = `${strictness} ${keyOf(type, source)}`
    return await this.#once('examine', key, this.#examined, async () => {
      const examined = await this.#ask<Examined>(this.#submitted, ['examine', type, source, strictness])
      return isUnusable(examined) ? examined : shared(examined)
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
  ): Promise<readonly Difference[] | Unusable> {
    return await this.#compare(this.#submitted, 'compare', type, reader, writer, policy)
  }

  /** The same for two stored schemas. Produce requests wait for it. */
  async compareStored(
    type: SchemaType,
    reader: SchemaText,
    writer: SchemaText,
    policy: Policy,
  ): Promise<readonly Difference[] | Unusable> {
    return await this.#compare(this.#comparing, 'compare-stored', type, reader, writer, policy)
  }

  /** `verb` tells apart those who wait: one comparison may have to wait for a thread, and the other one not. */
  async #compare(
    threads: Threads,
    verb: string,
    type: SchemaType,
    reader: SchemaText,
    writer: SchemaText,
    policy: Policy,
  ): Promise<readonly Difference[] | Unusable> {
    const key = `${policy} ${keyOf(type, reader)} ${keyOf(type, writer)}`
    return await this.#once(verb, key, this.#compared, () =>
      this.#ask<readonly Difference[]>(threads, ['compare', type, reader, writer, policy]),
    )
  }

  /** Resolves with the program of a stored schema. */
  async compile(type: SchemaType, source: SchemaText): Promise<Compiled | Unusable> {
    return await this.#once('compile', keyOf(type, source), this.#compiled, async () => {
      const compiled = await this.#ask<Compiled>(this.#stored, ['compile', type, source])
      return isUnusable(compiled) ? compiled : { ...compiled, bytes: 1_000 + 4 * sizeOf(source) }
    })
  }

  /**
   * Resolves with the form of a stored schema that `format=serialized` asks for; null if its format has none. Clients
   * may ask for it as often as they like, so it takes a thread for submitted schemas.
   */
  async serialize(type: SchemaType, source: SchemaText): Promise<string | null | Unusable> {
    return await this.#ask<string | null>(this.#submitted, ['serialize', type, source])
  }

  /** Returns what is kept, or does the work, once for all callers that ask for it meanwhile. */
  async #once<T extends object>(
    verb: string,
    key: string,
    kept: BoundedCache<string, T>,
    work: () => Promise<T>,
  ): Promise<T> {
    const found = kept.get(key)
    if (found !== undefined) return found
    const name = `${verb} ${key}`
    const running = this.#running.get(name) as Promise<T> | undefined
    if (running !== undefined) return await running
    const begun = work()
      .then(result => {
        // With another thread the schema may take less.
        if (!isCostly(result)) kept.set(key, result)
        return result
      })
      .finally(() => this.#running.delete(name))
    this.#running.set(name, begun)
    return await begun
  }

  async #ask<T>(threads: Threads, call: SchemaCall): Promise<T | Unusable> {
    const beganAtMs = this.#clock.monotonic()
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

const isCostly = (result: object) => isUnusable(result) && result.kind === 'costly'

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

function keyOf(type: SchemaType, { text, dependencies }: SchemaText): string {
  const hash = createHash('sha256').update(`${type} ${dependencies.length}\n`)
  for (const part of [text, ...dependencies.flatMap(each => [each.name, each.text])])
    hash.update(`${part.length}\n`).update(part)
  return hash.digest('base64url')
}

const sizeOf = ({ text, dependencies }: SchemaText) =>
  dependencies.reduce((sum, each) => sum + each.text.length, text.length)

/** Texts that are equal share their memory. */
function shared({ canonical, normalized, inlined, recordNames }: Examined): Examined {
  return {
    canonical,
    normalized: normalized === canonical ? canonical : normalized,
    inlined: inlined === canonical ? canonical : inlined,
    recordNames,
  }
}

function examinedBytes(examined: Examined | Unusable): number {
  if (isUnusable(examined)) return 300 + 2 * examined.why.length
  const { canonical, normalized, inlined, recordNames } = examined
  const texts = new Set([canonical, normalized, inlined, ...recordNames])
  return [...texts].reduce((sum, text) => sum + 100 + 2 * text.length, 300)
}

function comparedBytes(compared: readonly Difference[] | Unusable): number {
  if (isUnusable(compared)) return 300 + 2 * compared.why.length
  return compared.reduce((sum, { path, description }) => sum + 300 + 2 * (path.length + description.length), 200)
}
