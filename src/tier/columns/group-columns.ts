// The columns of the open row group: says which value of a batch and its records goes into which column. It knows
// neither pages nor files.

import { BATCH_HEADER_BYTES, type BatchView } from '../../protocol/records.ts'
import type { BatchSlices } from './batch-slices.ts'
import { SLICE_ROWS, SliceHeaders } from './batch-slices.ts'
import type { Chunk, ClosedChunk } from './chunk.ts'
import { BytesChunk, NumbersChunk } from './column-chunks.ts'
import { type AbortedTransaction, MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, UNKNOWN_CONTROL } from './data-file.ts'
import { HeadersChunk } from './headers-chunk.ts'
import { RunsChunk } from './runs-chunk.ts'
import { FIELD, LEAVES, type Leaf, TABLE_COLUMNS } from './table-schema.ts'

/** The values that all rows of a batch share. */
export interface RowsOfBatch {
  readonly baseOffset: number
  readonly ingestedAt: number
  readonly timestampType: 0 | 1
  readonly leaderEpoch: number
  readonly producerId: number | null
  readonly producerEpoch: number | null
  readonly baseSequence: number | null
  readonly isControl: boolean
  readonly txnState: number | null
}

const COMMITTED = 1
const ABORTED = 2

export function rowsOf(batch: BatchView, ingestedAt: number, aborted: readonly AbortedTransaction[]): RowsOfBatch {
  const { baseOffset, producerId, baseSequence } = batch
  // Ids beyond 2^53 are no ids of this broker. The header of the batch has them exactly.
  const hasProducer = producerId >= 0 && Number.isSafeInteger(producerId)
  const isAborted = aborted.some(
    each => each.producerId === producerId && each.firstOffset <= baseOffset && baseOffset <= each.lastOffset,
  )
  return {
    baseOffset,
    ingestedAt,
    timestampType: batch.timestampType === 'LogAppendTime' ? 1 : 0,
    leaderEpoch: batch.leaderEpoch,
    producerId: hasProducer ? producerId : null,
    producerEpoch: hasProducer ? batch.producerEpoch : null,
    baseSequence: hasProducer && baseSequence >= 0 ? baseSequence : null,
    isControl: batch.isControl,
    txnState: !batch.isTransactional ? null : isAborted ? ABORTED : COMMITTED,
  }
}

/** Sequence numbers start again at 0 after this one. */
const MOST_SEQUENCE = 2 ** 31 - 1

export class GroupColumns {
  readonly #partition: number
  readonly #runs = {
    partition: runs(FIELD.partition),
    timestampType: runs(FIELD.timestampType),
    ingestedAt: runs(FIELD.ingestedAt),
    leaderEpoch: runs(FIELD.leaderEpoch),
    producerId: runs(FIELD.producerId),
    producerEpoch: runs(FIELD.producerEpoch),
    controlType: runs(FIELD.controlType),
    txnState: runs(FIELD.txnState),
  }
  readonly #offset = new NumbersChunk(leafOf(FIELD.offset), false)
  readonly #timestamp = new NumbersChunk(leafOf(FIELD.timestamp), false)
  readonly #sequence = new NumbersChunk(leafOf(FIELD.sequence), true)
  readonly #key = new BytesChunk(leafOf(FIELD.key), true)
  readonly #value = new BytesChunk(leafOf(FIELD.value), false)
  readonly #batchHeader = new BytesChunk(leafOf(FIELD.batchHeader), false)
  readonly #batchRaw = new BytesChunk(leafOf(FIELD.batchRaw), false)
  readonly #headerKey = new HeadersChunk(leafOf(FIELD.headerKey), 2)
  readonly #headerValue = new HeadersChunk(leafOf(FIELD.headerValue), 3)
  readonly #headers = new SliceHeaders()
  readonly #sequences = new Int32Array(SLICE_ROWS)
  readonly #chunks: readonly Chunk[]
  #isBatchOpen = false
  /** Offset deltas of the first and the last record of the batch. */
  firstDelta = 0
  lastDelta = 0

  constructor(partition: number) {
    this.#partition = partition
    const all: readonly Chunk[] = [
      ...Object.values(this.#runs),
      this.#offset,
      this.#timestamp,
      this.#sequence,
      this.#key,
      this.#value,
      this.#batchHeader,
      this.#batchRaw,
      this.#headerKey,
      this.#headerValue,
    ]
    this.#chunks = LEAVES.map(leaf => all.find(chunk => chunk.leaf === leaf)!)
  }

  get heldBytes(): number {
    return this.#chunks.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
  }

  /** Adds the next records of a batch. */
  addSlice(slice: BatchSlices, rows: RowsOfBatch): void {
    const { count } = slice
    if (!this.#isBatchOpen) this.firstDelta = slice.offsetDelta[0]!
    this.#isBatchOpen = true
    this.lastDelta = slice.offsetDelta[count - 1]!
    this.#offset.add(rows.baseOffset, slice.offsetDelta, count)
    this.#timestamp.add(0, slice.timestamp, count)
    this.#key.add(slice.payload, slice.keyFrom, slice.keyLength, count)
    this.#value.add(slice.payload, slice.valueFrom, slice.valueLength, count)
    this.#addSequences(slice, rows.baseSequence)
    this.#addHeaders(slice)
    if (rows.isControl) for (let row = 0; row < count; row++) this.#runs.controlType.add(controlType(slice, row), 1)
  }

  /** Ends a batch of this many records. `raw` are its original bytes, if they are kept. */
  endBatch(rows: RowsOfBatch, count: number, header: Buffer, raw: Buffer | null): void {
    const { partition, timestampType, ingestedAt, leaderEpoch, ...others } = this.#runs
    partition.add(this.#partition, count)
    timestampType.add(rows.timestampType, count)
    ingestedAt.add(rows.ingestedAt, count)
    leaderEpoch.add(rows.leaderEpoch, count)
    others.producerId.add(rows.producerId, count)
    others.producerEpoch.add(rows.producerEpoch, count)
    others.txnState.add(rows.txnState, count)
    if (!rows.isControl) others.controlType.add(null, count)
    for (const [chunk, bytes] of [
      [this.#batchHeader, header],
      [this.#batchRaw, raw],
    ] as const) {
      if (bytes === null) chunk.addNulls(count)
      else {
        chunk.addOne(bytes, 0, bytes.length)
        if (count > 1) chunk.addNulls(count - 1)
      }
    }
    this.#isBatchOpen = false
  }

  /** Adds the one row of a batch whose records cannot be read. */
  addUnreadable(rows: RowsOfBatch, timestamp: number, raw: Buffer): void {
    this.firstDelta = 0
    this.lastDelta = 0
    const one = new Float64Array(1)
    this.#offset.add(rows.baseOffset, one, 1)
    this.#timestamp.add(Math.min(Math.max(timestamp, MIN_TIMESTAMP_MS), MAX_TIMESTAMP_MS), one, 1)
    for (const chunk of [this.#key, this.#value, this.#sequence]) chunk.addNulls(1)
    for (const chunk of [this.#headerKey, this.#headerValue]) chunk.addEmpty(1)
    this.#runs.controlType.add(UNKNOWN_CONTROL, 1)
    this.endBatch({ ...rows, isControl: true }, 1, raw.subarray(0, BATCH_HEADER_BYTES), raw)
  }

  /** Ends the open pages, between two batches. */
  cut(): void {
    for (const chunk of this.#chunks) chunk.cut()
  }

  /** Returns the chunks of the group in the order of the columns. The columns are empty then. */
  close(): ClosedChunk[] {
    return this.#chunks.map(chunk => chunk.close())
  }

  /** Frees memory that a further group would use. */
  end(): void {
    for (const chunk of this.#chunks) chunk.end()
  }

  #addSequences({ offsetDelta, count }: BatchSlices, base: number | null): void {
    if (base === null) this.#sequence.addNulls(count)
    else if (base + this.lastDelta <= MOST_SEQUENCE) this.#sequence.add(base, offsetDelta, count)
    else {
      const sequences = this.#sequences
      for (let row = 0; row < count; row++) sequences[row] = (base + offsetDelta[row]!) % (MOST_SEQUENCE + 1)
      this.#sequence.add(0, sequences, count)
    }
  }

  #addHeaders(slice: BatchSlices): void {
    const [keys, values] = [this.#headerKey, this.#headerValue]
    if (slice.headersInSlice === 0) {
      keys.addEmpty(slice.count)
      values.addEmpty(slice.count)
      return
    }
    const headers = this.#headers
    for (let row = 0; row < slice.count; row++) {
      const count = slice.headerCount[row]!
      if (count === 0) {
        keys.addEmpty(1)
        values.addEmpty(1)
        continue
      }
      headers.begin(slice.payload, slice.headersFrom[row]!)
      for (let i = 0; i < count; i++) {
        headers.next()
        const { keyBytes, keyFrom, keyLength } = headers
        if (!slice.hasOddHeaderKey) keys.add(i === 0, keyBytes, keyFrom, keyLength)
        else {
          // Strings must be UTF-8. The batch keeps its original bytes.
          const text = Buffer.from(keyBytes.toString('utf8', keyFrom, keyFrom + keyLength))
          keys.add(i === 0, text, 0, text.length)
        }
        values.add(i === 0, headers.valueBytes, headers.valueFrom, headers.valueLength)
      }
    }
  }
}

/** The key of a control record is a version and a type, two bytes each. */
function controlType(slice: BatchSlices, row: number): number {
  return slice.keyLength[row]! < 4 ? UNKNOWN_CONTROL : slice.payload.readInt16BE(slice.keyFrom[row]! + 2)
}

function leafOf(id: number): Leaf {
  return LEAVES.find(leaf => leaf.id === id)!
}

function runs(id: number): RunsChunk {
  return new RunsChunk(leafOf(id), !TABLE_COLUMNS.find(column => column.id === id)!.required)
}
