// Compresses batches for the store and restores them. It compresses only batches whose records arrive uncompressed,
// with the codec that their topic was created with. All this runs in the thread pool, with a limit on the jobs at one
// time, so that neither the event loop nor the store waits for it; the store uses the same pool. stored-batch.ts
// defines the layout of the result.

import { availableParallelism } from 'node:os'
import { type Codec, compress, decompress, NotDecompressed } from '../protocol/compression.ts'
import { BATCH_HEADER_BYTES, type BatchView } from '../protocol/records.ts'
import { LARGEST_PRESSED_BYTES, ZstdPresses } from '../protocol/zstd-presses.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { CounterChild, Metrics } from '../telemetry/metrics.ts'
import type { Topic } from './catalogue.ts'
import type { Dictionaries, Dictionary } from './dictionaries.ts'
import { Fifo } from './fifo.ts'
import { ENCODING_BYTES, type EncodedRecords, type Encoding, unsealBatch } from './stored-batch.ts'

/** Thrown for a stored batch that cannot be restored to its original bytes; the message says why. */
export class NotDecoded extends Error {
  override readonly name = 'NotDecoded'
}

export interface CompressionRooms {
  readonly logger: Logger
  readonly dictionaries: Dictionaries
  readonly metrics: Metrics
}

interface Counters {
  readonly original: CounterChild
  readonly stored: CounterChild
}

/**
 * The most jobs in the thread pool at one time. One processor is left to the event loop, and half of the pool's threads
 * to the store.
 */
const JOBS = Math.max(1, Math.min(8, availableParallelism() - 1))

export class Compression {
  readonly #rooms: CompressionRooms
  readonly #waiting = new Fifo<() => void>()
  readonly #counters = new Map<Codec, Counters>()
  readonly #presses = new ZstdPresses()
  #jobs = 0

  constructor(rooms: CompressionRooms) {
    this.#rooms = rooms
  }

  /**
   * Resolves with the records of a batch in their stored form, or with null if the batch is stored unchanged. Returns
   * null itself if that is known without work. Meanwhile the header of the batch may change, but its records must not.
   * Never fails.
   */
  encode(topic: Topic, batch: BatchView): Promise<EncodedRecords | null> | null {
    const codec = topic.resolved.storageCompressionType
    if (codec === 'none' || batch.compression !== 'none') return null
    const records = batch.bytes.subarray(BATCH_HEADER_BYTES)
    const dictionary = codec === 'zstd' ? this.#rooms.dictionaries.use(topic, records, batch.recordCount) : null
    // A large batch compresses better with its own tables than with a dictionary made of small ones.
    return this.#encode(topic, codec, records, records.length > LARGEST_PRESSED_BYTES ? null : dictionary)
  }

  /**
   * Resolves with the batch as clients see it. Throws NotDecoded, and what the store throws when a dictionary is read
   * from it.
   */
  async decode(topicId: string, stored: Buffer, encoding: Encoding): Promise<Buffer> {
    const { codec, plainBytes, dictionary: version } = encoding
    const dictionary = version === 0 ? undefined : await this.#rooms.dictionaries.find(topicId, version)
    if (dictionary === null) throw new NotDecoded(`version ${version} of the topic's dictionary is not in the store`)
    const recordsBytes = plainBytes - BATCH_HEADER_BYTES
    try {
      const records = await this.#inTurn(() => decompress(codec, encoding.bytes, recordsBytes, dictionary))
      const plain = records.length === recordsBytes ? unsealBatch(stored, encoding, records) : null
      if (plain !== null) return plain
    } catch (error) {
      if (!(error instanceof NotDecompressed)) throw error
      throw new NotDecoded(`it cannot be unpacked: ${error.message}`, { cause: error })
    }
    throw new NotDecoded(`it does not unpack to the ${plainBytes} bytes that were produced`)
  }

  async #encode(
    topic: Topic,
    codec: Codec,
    records: Buffer,
    dictionary: Dictionary | null,
  ): Promise<EncodedRecords | null> {
    try {
      const bytes = await this.#inTurn(() => this.#compress(codec, records, dictionary?.content))
      const isSmaller = bytes.length + ENCODING_BYTES < records.length
      const { original, stored } = this.#countersOf(codec)
      original.inc(BATCH_HEADER_BYTES + records.length)
      stored.inc(BATCH_HEADER_BYTES + (isSmaller ? bytes.length + ENCODING_BYTES : records.length))
      return isSmaller ? { codec, dictionary: dictionary?.version ?? 0, bytes } : null
    } catch (error) {
      this.#rooms.logger
        .limited('not-compressed', 10_000)
        .warn('a batch could not be compressed and is stored unchanged', { topic: topic.name, codec, error })
      return null
    }
  }

  #compress(codec: Codec, records: Buffer, dictionary: Uint8Array | undefined): Promise<Buffer> {
    if (codec === 'zstd' && records.length <= LARGEST_PRESSED_BYTES) return this.#presses.compress(records, dictionary)
    return compress(codec, records)
  }

  #countersOf(codec: Codec): Counters {
    const known = this.#counters.get(codec)
    if (known !== undefined) return known
    const child = (form: string) => this.#rooms.metrics.child('svc.storage.compression.bytes', { codec, form })
    const made = { original: child('original'), stored: child('stored') }
    this.#counters.set(codec, made)
    return made
  }

  /** Frees the idle compressors. Work in progress is finished. */
  close(): void {
    this.#presses.close()
  }

  /** Runs a job as soon as fewer than JOBS are in progress. */
  async #inTurn<T>(job: () => Promise<T>): Promise<T> {
    if (this.#jobs >= JOBS) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#jobs++
    try {
      return await job()
    } finally {
      // The slot passes to the caller that waits.
      const next = this.#waiting.shift()
      if (next === undefined) this.#jobs--
      else next()
    }
  }
}
