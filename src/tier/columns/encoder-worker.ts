// The code of an encoder thread: it makes one file at a time with FileEncoder, and hands over the bytes as they are
// made.

import { assert } from '../../base/assert.ts'
import { memoryOf } from '../../base/copied.ts'
import { type Result, serveCalls } from '../../base/serve-calls.ts'
import type { DataFileFacts, SegmentStart } from './data-file.ts'
import { type EncodeOptions, FileEncoder, type FileEnd } from './encode.ts'
import { batchesIn, HANDED_BYTES, type Handed } from './handed.ts'

export type EncoderCall =
  | readonly ['open', EncodeOptions]
  | readonly ['begin', SegmentStart]
  | readonly ['add', Handed]
  | readonly ['close-group']
  | readonly ['finish', FileEnd]
  | readonly ['abandon']

export interface Encoded {
  /** The next bytes of the file. */
  readonly parts: readonly Uint8Array[]
  /** Bytes that the open row group takes in the thread. */
  readonly heldBytes: number
  /** Bytes of the file so far. */
  readonly writtenBytes: number
  /** Once the file is finished. */
  readonly facts: DataFileFacts | null
  /** That of the batches that were added, for the next ones; empty if it was large. */
  readonly memory?: ArrayBuffer
}

let encoder: FileEncoder | null = null

serveCalls((call: EncoderCall): Result => {
  try {
    return answer(call)
  } catch (error) {
    // The file is given up, and with it the memory of its open row group.
    encoder = null
    throw error
  }
})

function answer(call: EncoderCall): Result {
  switch (call[0]) {
    case 'open':
      encoder = new FileEncoder(call[1])
      return { result: undefined, memory: [] }
    case 'abandon':
      encoder = null
      return { result: undefined, memory: [] }
  }
  assert(encoder !== null, 'no file is open')
  let facts: DataFileFacts | null = null
  let handed: ArrayBuffer | null = null
  switch (call[0]) {
    case 'begin':
      encoder.begin(call[1])
      return { result: undefined, memory: [] }
    case 'add':
      for (const batch of batchesIn(call[1])) encoder.add(batch)
      handed = call[1].memory
      break
    case 'close-group':
      encoder.closeGroup()
      break
    case 'finish':
      facts = encoder.finish(call[1])
  }
  const parts = encoder.take()
  const { heldBytes, writtenBytes } = encoder
  if (facts !== null) encoder = null
  const encoded: Encoded = { parts, heldBytes, writtenBytes, facts }
  if (handed === null) return { result: encoded, memory: memoryOf(parts) }
  const memory = handed.byteLength === HANDED_BYTES ? handed : handed.transfer(0)
  return { result: { ...encoded, memory } satisfies Encoded, memory: [...memoryOf(parts), memory] }
}
