// The code of an encoder thread: it makes one file at a time with FileEncoder, and hands over the bytes as they are
// made.

import { assert } from '../../base/assert.ts'
import { memoryOf, release } from '../../base/copied.ts'
import type { DataFileFacts, SegmentStart } from './data-file.ts'
import { type EncodeOptions, FileEncoder, type FileEnd } from './encode.ts'
import { type Result, serveCalls } from './serve-calls.ts'

export type EncoderCall =
  | readonly ['open', EncodeOptions]
  | readonly ['begin', SegmentStart]
  | readonly ['add', readonly Uint8Array[]]
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
  switch (call[0]) {
    case 'begin':
      encoder.begin(call[1])
      return { result: undefined, memory: [] }
    case 'add':
      try {
        for (const batch of call[1]) encoder.add(batch)
      } finally {
        release(call[1])
      }
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
  const result: Encoded = { parts, heldBytes, writtenBytes, facts }
  return { result, memory: memoryOf(parts) }
}
