// The work of the cleaner that needs a processor: it checks, unpacks, hashes and repacks batches as clients see them,
// and holds the map of a pass between the calls. It runs in the cleaner's thread (cleaner-thread.ts), or on the event
// loop of a simulation. It reads no store, no clock and no settings. No unpacked bytes outlive a batch.

import { assert } from '../../base/assert.ts'
import { NotDecompressed } from '../../protocol/compression.ts'
import {
  type BatchView,
  codecOf,
  InvalidRecords,
  MAX_UNPACKED_BYTES,
  payloadOf,
  RecordWalk,
  viewBatch,
} from '../../protocol/records.ts'
import { discard, unpackSync } from '../../protocol/unpacking.ts'
import { type Cleaned, cleanBatch, type Terms } from './clean-batch.ts'
import { OffsetMap } from './offset-map.ts'

/** A batch that cannot be cleaned. */
export interface Unreadable {
  readonly kind: 'unreadable'
  readonly offset: number
  /** The reason, as the end of a sentence about the batch. */
  readonly why: string
}

export interface Mapped {
  readonly kind: 'mapped'
  /** The first offset that did not fit the map; null if everything fitted. */
  readonly fullAt: number | null
}

export interface CleanedPiece {
  readonly kind: 'cleaned'
  /** One for each batch. */
  readonly batches: readonly Cleaned[]
}

/** The calls of one pass, in order. The bytes of the batches belong to the work from then on. */
export interface Work {
  /** Begins a pass with an empty map of this many bytes. The part of the log to map begins at `from`. */
  begin(mapBytes: number, from: number): void | Promise<void>
  /** Maps the records with offsets in [from, to). */
  map(batches: readonly Uint8Array[], from: number, to: number): Mapped | Unreadable | Promise<Mapped | Unreadable>
  clean(batches: readonly Uint8Array[], terms: Terms): CleanedPiece | Unreadable | Promise<CleanedPiece | Unreadable>
  /** Frees the map. */
  end(): void | Promise<void>
}

export class CleanerWork implements Work {
  #map: OffsetMap | null = null

  begin(mapBytes: number, from: number): void {
    this.end()
    this.#map = new OffsetMap(mapBytes, from)
  }

  map(batches: readonly Uint8Array[], from: number, to: number): Mapped | Unreadable {
    const map = this.#mapOfPass()
    let fullAt: number | null = null
    for (const bytes of batches) {
      const failure = unpacked(bytes, (batch, payload) => {
        for (const walk = new RecordWalk(batch, payload); walk.next(); ) {
          if (walk.offset < from || walk.offset >= to) continue
          const key = walk.key()
          if (key !== null) map.put(key, walk.offset)
        }
      })
      if (failure !== null) return failure
      fullAt = map.settle()
      if (fullAt !== null) break
    }
    return { kind: 'mapped', fullAt }
  }

  clean(batches: readonly Uint8Array[], terms: Terms): CleanedPiece | Unreadable {
    const map = this.#mapOfPass()
    const cleaned: Cleaned[] = []
    for (const bytes of batches) {
      const failure = unpacked(bytes, (batch, payload) => void cleaned.push(cleanBatch(batch, payload, map, terms)))
      if (failure !== null) return failure
    }
    return { kind: 'cleaned', batches: cleaned }
  }

  end(): void {
    this.#map?.free()
    this.#map = null
  }

  #mapOfPass(): OffsetMap {
    assert(this.#map !== null, 'the cleaner has not begun a pass')
    return this.#map
  }
}

/** Calls `use` with the records of a batch. Returns the reason why the batch has no readable records, or null. */
function unpacked(bytes: Uint8Array, use: (batch: BatchView, payload: Buffer) => void): Unreadable | null {
  const batch = viewBatch(bytes)
  const unreadable = (why: string): Unreadable => ({ kind: 'unreadable', offset: batch.baseOffset, why })
  let payload: Buffer | null = null
  try {
    const codec = codecOf(batch)
    if (!batch.isIntact) return unreadable('it fails its checksum')
    payload = unpackSync(codec, payloadOf(batch), MAX_UNPACKED_BYTES)
    use(batch, payload)
    return null
  } catch (error) {
    if (error instanceof NotDecompressed) return unreadable(`it cannot be unpacked: ${error.message}`)
    if (error instanceof InvalidRecords) return unreadable(`its records cannot be read: ${error.message}`)
    throw error
  } finally {
    if (payload !== null && payload.buffer !== batch.bytes.buffer) discard(payload)
  }
}
