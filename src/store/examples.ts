// Examples of batches and appends for the tests of stores, and a store as its conformance suite gets it.

import assert from 'node:assert/strict'
import { crc32c } from '../base/crc32c.ts'
import type { Append, Batch, Row, Store, StreamId } from './store.ts'

export interface StoreUnderTest {
  readonly store: Store
  /** Closes the store and opens it again on the same contents. */
  readonly reopen: () => Promise<Store>
  /**
   * Makes the call, a trim of this stream, so that it takes effect but its answer is lost. Resolves when the store
   * accepts calls again. Absent if the outcome of a trim is always known.
   */
  readonly loseTrim?: (stream: StreamId, call: () => Promise<unknown>) => Promise<void>
}

/** A well-formed record batch of magic 2 (its records are filler, its CRC is right). */
export function exampleBatch(baseOffset: number, records = 1, size = 100, epoch = 1): Batch {
  const bytes = Buffer.alloc(Math.max(size, 62), baseOffset % 251)
  const maxTimestamp = 1_700_000_000_000 + baseOffset
  bytes.writeBigInt64BE(BigInt(baseOffset), 0)
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt32BE(epoch, 12)
  bytes.writeInt8(2, 16)
  bytes.writeInt16BE(0, 21)
  bytes.writeInt32BE(records - 1, 23)
  bytes.writeBigInt64BE(BigInt(maxTimestamp), 27)
  bytes.writeBigInt64BE(BigInt(maxTimestamp), 35)
  bytes.writeBigInt64BE(-1n, 43)
  bytes.writeInt16BE(-1, 51)
  bytes.writeInt32BE(-1, 53)
  bytes.writeInt32BE(records, 57)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return { baseOffset, nextOffset: baseOffset + records, recordCount: records, maxTimestamp, bytes }
}

let attempts = 0

/** Returns an append of the given batches at `at`, with a new attempt id. */
export function exampleAppend(
  stream: string,
  epoch: number,
  at: number,
  batches: readonly Batch[] = [exampleBatch(at, 1, 100, epoch)],
  rows: readonly Row[] = [],
): Append {
  return { stream, epoch, at, attempt: `attempt-${++attempts}`, batches, rows }
}

/** Returns the outcome with its type narrowed to the kind. Fails and shows the outcome if it has another kind. */
export function expectKind<T extends { readonly kind: string }, K extends T['kind']>(
  outcome: T,
  kind: K,
): Extract<T, { readonly kind: K }> {
  assert.equal(outcome.kind, kind, `expected ${kind}, got ${JSON.stringify(outcome)}`)
  return outcome as Extract<T, { readonly kind: K }>
}
