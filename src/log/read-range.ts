// Reads a range of a stream without its lead, for the offload of sealed segments: every batch is checked, and restored
// to the form that clients see. Nothing is cached, and the reads do not count as those of clients.

import { viewBatch } from '../protocol/records.ts'
import { type Store, StoreUnavailable, streamId } from '../store/store.ts'
import { type Compression, NotDecoded } from './compression.ts'
import { type Encoding, encodingOf } from './stored-batch.ts'

/** A batch of the range cannot be restored: its checksum is wrong, it does not unpack, or the store has lost it. */
export class UnreadableBatch extends Error {
  override readonly name = 'UnreadableBatch'
  /** The first offset of the batch, or of the part that cannot be read. */
  readonly offset: number

  constructor(offset: number, why: string, options?: ErrorOptions) {
    super(`the batch at offset ${offset} cannot be read: ${why}`, options)
    this.offset = offset
  }
}

export interface RangeRooms {
  readonly store: Store
  readonly compression: Compression
}

/** The store reads this many bytes at once. */
const STEP_BYTES = 1024 * 1024

/**
 * Yields the batches that have offsets of [base, next), whole and in order. Their bytes are valid until the caller asks
 * for the next ones: the store may overwrite them then. A range that the local start has passed in
 * part begins there. Throws UnreadableBatch, and what the store throws; StoreUnavailable if the stream is gone.
 */
export async function* readRange(
  { store, compression }: RangeRooms,
  topicId: string,
  index: number,
  base: number,
  next: number,
): AsyncGenerator<readonly Uint8Array[]> {
  const stream = streamId(topicId, index)
  for (let offset = base; offset < next; ) {
    const read = await store.read(stream, offset, { maxBytes: STEP_BYTES, until: next })
    switch (read.kind) {
      case 'gone':
        throw new StoreUnavailable(`the stream ${stream} is gone from the store`)
      case 'damaged':
        throw new UnreadableBatch(offset, read.message)
      case 'trimmed':
        offset = Math.max(read.start, offset + 1)
        continue
    }
    const { batches } = read
    if (batches.length === 0) return
    const restored: Uint8Array[] = []
    for (const { bytes, baseOffset } of batches) {
      const { bytes: stored } = viewBatch(bytes)
      const encoding = intactEncoding(stored, baseOffset)
      restored.push(encoding === null ? stored : await decoded(compression, topicId, stored, encoding, baseOffset))
    }
    yield restored
    read.release?.()
    offset = batches.at(-1)!.nextOffset
  }
}

/** Returns how the records of a batch are stored; null if they are stored unchanged. */
function intactEncoding(stored: Buffer, offset: number): Encoding | null {
  if (!viewBatch(stored).isIntact) throw new UnreadableBatch(offset, 'it fails its checksum')
  const encoding = encodingOf(stored)
  if (typeof encoding === 'string') throw new UnreadableBatch(offset, encoding)
  return encoding
}

async function decoded(
  compression: Compression,
  topicId: string,
  stored: Buffer,
  encoding: Encoding,
  offset: number,
): Promise<Uint8Array> {
  try {
    return await compression.decode(topicId, stored, encoding)
  } catch (error) {
    if (!(error instanceof NotDecoded)) throw error
    throw new UnreadableBatch(offset, error.message, { cause: error })
  }
}
