// Makes data files in threads. A job is one file: it has a thread until the file is finished or abandoned. The caller
// writes the parts that each call returns before it makes many more, so that a slow store holds the encoder back.

import type { Clock } from '../../base/clock.ts'
import { type Thread, ThreadEnded, Threads } from '../../base/threads.ts'
import { BadBatch } from './bad-batch.ts'
import type { DataFileFacts, SegmentStart } from './data-file.ts'
import type { EncodeOptions, FileEnd } from './encode.ts'
import type { Encoded, EncoderCall } from './encoder-worker.ts'
import { type Handed, HandedMemory } from './handed.ts'

export class EncoderThreads {
  readonly #threads: Threads
  readonly #memory = new HandedMemory()

  constructor(clock: Clock, most: number) {
    this.#threads = new Threads({
      name: 'encoder',
      script: new URL('./encoder-worker.ts', import.meta.url),
      most,
      clock,
      errorOf: ({ name, message, offset }) =>
        name === 'BadBatch' && offset !== undefined ? new BadBatch(offset, message) : new Error(message),
    })
  }

  get size(): number {
    return this.#threads.size
  }

  get isClosed(): boolean {
    return this.#threads.isClosed
  }

  /** Begins a file when a thread is free. The caller must finish or abandon the job. */
  async open(options: EncodeOptions): Promise<EncodeJob> {
    const thread = await this.#threads.take()
    const job = new EncodeJob(thread, this.#memory, () => this.#threads.give(thread))
    await job.open(options)
    return job
  }

  /** Ends the threads. Jobs fail with ThreadEnded. */
  async close(): Promise<void> {
    await this.#threads.close()
  }
}

/** One file. After a call that failed the job is over, and what was written of the file is not a file. */
export class EncodeJob {
  readonly #thread: Thread
  readonly #memory: HandedMemory
  readonly #giveBack: () => void
  #isOver = false
  /** Bytes of memory that the open row group takes; close it to free them. */
  heldBytes = 0
  /** Bytes of the file so far. */
  writtenBytes = 0

  constructor(thread: Thread, memory: HandedMemory, giveBack: () => void) {
    this.#thread = thread
    this.#memory = memory
    this.#giveBack = giveBack
  }

  async open(options: EncodeOptions): Promise<void> {
    await this.#ask(['open', options])
  }

  /** Begins the next segment of the file. */
  async begin(segment: SegmentStart): Promise<void> {
    await this.#ask(['begin', segment])
  }

  /** Copies batches for `add`. */
  copy(batches: readonly Uint8Array[]): Handed {
    return this.#memory.copy(batches)
  }

  /**
   * Adds batches of the segment. Resolves with the next bytes of the file. Rejects with BadBatch. The caller may add
   * the next batches meanwhile, so that the thread need not wait for them; if a call fails, those behind it fail too.
   */
  async add(batches: Handed): Promise<Uint8Array[]> {
    const encoded = await this.#ask<Encoded>(['add', batches], [batches.memory])
    this.#memory.keep(encoded.memory!)
    return this.#note(encoded)
  }

  async closeGroup(): Promise<Uint8Array[]> {
    return this.#note(await this.#ask<Encoded>(['close-group']))
  }

  /** Ends the file, and the job. */
  async finish(
    end: FileEnd = 'whole-segment',
  ): Promise<{ readonly parts: Uint8Array[]; readonly facts: DataFileFacts }> {
    const encoded = await this.#ask<Encoded>(['finish', end])
    const parts = this.#note(encoded)
    this.#over()
    return { parts, facts: encoded.facts! }
  }

  /** Ends the job without a file, also if its thread has ended. */
  async abandon(): Promise<void> {
    if (this.#isOver) return
    try {
      await this.#ask(['abandon'])
      this.#over()
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error
    }
  }

  async #ask<T>(call: EncoderCall, memory: readonly ArrayBuffer[] = []): Promise<T> {
    if (this.#isOver) throw new Error('the job of this file is over')
    try {
      return await this.#thread.ask<T>(call, memory)
    } catch (error) {
      this.#over()
      throw error
    }
  }

  #note({ parts, heldBytes, writtenBytes }: Encoded): Uint8Array[] {
    this.heldBytes = heldBytes
    this.writtenBytes = writtenBytes
    return [...parts]
  }

  /** A call may fail while the job is abandoned. The thread goes back once: two files must not share it. */
  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.heldBytes = 0
    this.#giveBack()
  }
}
