// Judges JSON payloads in threads. A record that takes too much processor time ends its thread and has its batch
// refused, and nothing else: a schema never has all threads, and one that was too slow a short time ago has only one.

import type { Clock } from '../../base/clock.ts'
import { ENDLESS, type Patience } from '../../base/patience.ts'
import { restAfter } from '../../base/rest.ts'
import { Semaphore } from '../../base/semaphore.ts'
import { type Thread, ThreadEnded, Threads, TookTooLong } from '../../base/threads.ts'
import type { Fault } from '../format.ts'
import { KnownPrograms } from './known-programs.ts'
import type { JsonProgram } from './modern.ts'
import type { CompileCall, JudgeCall, Judged } from './validator-worker.ts'

/** A program with the name by which the threads remember it: a key never stands for another text. */
export interface KeyedProgram {
  readonly key: string
  readonly program: JsonProgram
}

/** The payloads of a batch, one after the other in memory that is handed over; each ends where `ends` says. */
export interface PayloadBatch {
  readonly memory: ArrayBuffer
  readonly ends: Uint32Array
}

export interface ValidatorOptions {
  readonly clock: Clock
  /** The most threads at one time, at least 2. */
  readonly most: number
  /** The processor time that one record may take, in ms. */
  readonly recordCpuMs?: number
  /** The most bytes of programs that a thread remembers. */
  readonly cacheBytes?: number
}

const RECORD_CPU_MS = 200
/** A call ends after this time and another one goes on, so that calls of other batches come in between. */
const SLICE_MS = 50
/** Compiling a program may take this processor time. */
const COMPILE_CPU_MS = 1_000
const CACHE_BYTES = 4 * 1024 * 1024
/** A schema counts as slow for this time after it ended a thread. */
const SLOW_MS = 60_000
const MOST_SLOW = 1_000
/** The longest rest of a slow schema after a call, for each slow schema in line. The start of a thread counts too. */
const LONGEST_REST_MS = 4_000

/** Twice of what the heaviest payload should need (payload-batch.ts). */
const LIMITS = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256, stackSizeMb: 4 }

export class JsonValidators {
  readonly #clock: Clock
  readonly #most: number
  readonly #recordCpuMs: number
  readonly #threads: Threads
  readonly #known: KnownPrograms
  readonly #lanes = new Map<string, Lane>()
  /** The schemas that count as slow, in the order in which that ends. */
  readonly #slow = new Map<string, Slow>()

  constructor({ clock, most, recordCpuMs = RECORD_CPU_MS, cacheBytes = CACHE_BYTES }: ValidatorOptions) {
    this.#clock = clock
    this.#most = Math.max(2, most)
    this.#recordCpuMs = recordCpuMs
    this.#known = new KnownPrograms(cacheBytes)
    this.#threads = new Threads({
      name: 'validator',
      script: new URL('./validator-worker.ts', import.meta.url),
      most: this.#most,
      clock,
      limits: LIMITS,
      errorOf: ({ message }) => new Error(message),
    })
  }

  /** The threads that exist. */
  get size(): number {
    return this.#threads.size
  }

  /**
   * Returns for each payload null, or why it is not valid: each has to match all programs. A payload that takes too
   * much time or memory has its batch refused: later payloads are not judged, and faults that its thread had found just
   * before are lost with the thread. Resolves with null if the patience ended before all payloads were judged. Rejects
   * with ThreadEnded only once the validators are closed.
   */
  judge(programs: readonly KeyedProgram[], batch: PayloadBatch): Promise<(Fault | null)[]>
  judge(programs: readonly KeyedProgram[], batch: PayloadBatch, patience: Patience): Promise<(Fault | null)[] | null>
  async judge(
    programs: readonly KeyedProgram[],
    { memory, ends }: PayloadBatch,
    patience: Patience = ENDLESS,
  ): Promise<(Fault | null)[] | null> {
    const faults: (Fault | null)[] = new Array(ends.length).fill(null)
    let own = memory
    for (let from = 0; from < ends.length; ) {
      const judged = patience.isOver ? null : await this.#slice(programs, own, ends, from, patience)
      if (judged === null) return null
      for (const [index, fault] of judged.faults) faults[index] = fault
      from = judged.to
      own = judged.memory
    }
    return faults
  }

  close(): Promise<void> {
    return this.#threads.close()
  }

  /** Judges some of the payloads, from `from` on, in a thread. Resolves with null if the patience ended first. */
  async #slice(
    programs: readonly KeyedProgram[],
    memory: ArrayBuffer,
    ends: Uint32Array,
    from: number,
    patience: Patience,
  ): Promise<Judged | null> {
    const lane = this.#enter(programs[0]!.key)
    const room = lane.isSlow ? this.#most - 1 : 1
    const isIn = await lane.semaphore.take(room, patience)
    let beganAtMs = Number.POSITIVE_INFINITY
    try {
      if (!isIn) return null
      const thread = await this.#threads.take()
      beganAtMs = this.#clock.monotonic()
      try {
        const unusable = await this.#prepare(thread, programs)
        if (unusable !== null) return { to: ends.length, faults: restOf(ends.length, from, unusable), memory }
        return await this.#ask(thread, programs, memory, ends, from)
      } finally {
        this.#threads.give(thread)
      }
    } finally {
      const restMs = this.#slowOf(lane.key) === undefined ? 0 : this.#restMs(this.#clock.monotonic() - beganAtMs)
      if (restMs < 1 || this.#threads.isClosed) this.#leave(lane, isIn ? room : 0)
      else this.#clock.timer(restMs, () => this.#leave(lane, room))
    }
  }

  /** How long a slow schema rests after a call; a call that was given up took no time. */
  #restMs(tookMs: number): number {
    let slow = 0
    for (const lane of this.#lanes.values()) if (lane.isSlow) slow++
    return restAfter(tookMs, LONGEST_REST_MS, slow)
  }

  #leave(lane: Lane, room: number): void {
    lane.semaphore.give(room)
    lane.users--
    if (lane.users === 0) this.#lanes.delete(lane.key)
  }

  #enter(key: string): Lane {
    const known = this.#lanes.get(key)
    const lane: Lane = known ?? { key, semaphore: new Semaphore(this.#clock, this.#most - 1), users: 0, isSlow: false }
    this.#lanes.set(key, lane)
    lane.users++
    lane.isSlow = this.#slowOf(key) !== undefined
    return lane
  }

  /** Has the thread compile the programs that it lacks. Returns why that cannot be done, or null. */
  async #prepare(thread: Thread, programs: readonly KeyedProgram[]): Promise<Fault | null> {
    const needed = new Set(programs.map(({ key }) => key))
    for (const { key, program } of programs) {
      if (this.#known.has(thread, key)) continue
      const remembered = this.#slowOf(key)?.unusable
      if (remembered !== undefined) return remembered
      const forget = this.#known.add(thread, key, program.text.length, needed)
      const call: CompileCall = { kind: 'compile', key, text: program.text, forget }
      try {
        await thread.askWithin(COMPILE_CPU_MS, call)
      } catch (error) {
        this.#known.remove(thread, key)
        if (this.#threads.isClosed) throw error
        const fault = faultOfCompiling(error as Error)
        this.#markSlow(key, fault)
        return fault
      }
    }
    return null
  }

  async #ask(
    thread: Thread,
    programs: readonly KeyedProgram[],
    memory: ArrayBuffer,
    ends: Uint32Array,
    from: number,
  ): Promise<Judged> {
    const progress = new SharedArrayBuffer(4)
    const at = new Int32Array(progress)
    at[0] = from
    const keys = programs.map(({ key }) => key)
    const call: JudgeCall = { kind: 'judge', keys, memory, ends, from, sliceMs: SLICE_MS, progress }
    try {
      return await thread.askWithin<Judged>(this.#recordCpuMs + SLICE_MS, call, [memory])
    } catch (error) {
      const fault = this.#threads.isClosed ? null : this.#faultOf(error)
      if (fault === null) throw error
      this.#markSlow(programs[0]!.key)
      return { to: ends.length, faults: [[at[0], fault]], memory: new ArrayBuffer(0) }
    }
  }

  /** Why a payload ended its thread; null if it did not. */
  #faultOf(error: unknown): Fault | null {
    if (error instanceof TookTooLong) {
      const message = `it takes more than ${this.#recordCpuMs} ms of processor time to judge the payload`
      return { reason: 'too-slow', message }
    }
    const code = ((error as Error).cause as { code?: string } | undefined)?.code
    if (code !== 'ERR_WORKER_OUT_OF_MEMORY') return null
    return { reason: 'too-many-elements', message: 'it takes too much memory to judge the payload' }
  }

  #slowOf(key: string): Slow | undefined {
    const slow = this.#slow.get(key)
    return slow !== undefined && slow.untilMs > this.#clock.monotonic() ? slow : undefined
  }

  #markSlow(key: string, unusable?: Fault): void {
    this.#slow.delete(key)
    this.#slow.set(key, { untilMs: this.#clock.monotonic() + SLOW_MS, unusable })
    for (const [key] of this.#slow) {
      if (this.#slow.size <= MOST_SLOW && this.#slowOf(key) !== undefined) break
      this.#slow.delete(key)
    }
  }
}

/** The calls of one schema. */
interface Lane {
  readonly key: string
  /** How many threads it may still take. */
  readonly semaphore: Semaphore
  users: number
  isSlow: boolean
}

interface Slow {
  readonly untilMs: number
  /** Why the schema cannot be used at all. */
  readonly unusable: Fault | undefined
}

function faultOfCompiling(error: Error): Fault {
  if (error instanceof TookTooLong) {
    const message = `it takes more than ${COMPILE_CPU_MS} ms of processor time to compile the schema`
    return { reason: 'too-slow', message }
  }
  const reason = error instanceof ThreadEnded ? 'too-many-elements' : 'bad-value'
  return { reason, message: `the schema cannot be compiled to judge payloads: ${error.message}` }
}

function restOf(length: number, from: number, fault: Fault): [number, Fault][] {
  return Array.from({ length: length - from }, (_, at) => [from + at, fault])
}
