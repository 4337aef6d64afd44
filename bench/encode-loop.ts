// The bare loop of the question `offload`: a thread that only encodes batches into data files, as an encoder thread of
// a broker does, without a log, a place or a table. It drops the bytes of the files.

import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../src/base/clock.ts'
import { stepBack } from '../src/base/quiet-thread.ts'
import { viewBatch } from '../src/protocol/records.ts'
import { FileEncoder } from '../src/tier/columns/encode.ts'

/** The work of a loop. */
export interface LoopWork {
  readonly batches: readonly Uint8Array[]
  /** Of all batches that are encoded; each batch comes again and again. */
  readonly bytes: number
  readonly fileBytes: number
}

/** The output of a loop: its bytes by the clock and by the time of the processor of its thread. */
export interface LoopResult {
  readonly bytes: number
  readonly fileBytes: number
  readonly ms: number
  readonly processorMs: number
}

const { batches, bytes, fileBytes } = workerData as LoopWork
// The encoder threads of a broker step back too.
stepBack()
const options = { partition: 0, rowGroupBytes: 128e6, batchBytes: 'when-needed' } as const
const begunAt = systemClock.monotonic()
const before = process.threadCpuUsage()
let done = 0
let made = 0
for (let offset = 0, at = 0; done < bytes; ) {
  const encoder = new FileEncoder(options)
  encoder.begin({ base: offset, next: Number.MAX_SAFE_INTEGER, ingestedAt: Math.floor(systemClock.now()) })
  const end = Math.min(bytes, done + fileBytes)
  for (; done < end; at = (at + 1) % batches.length) {
    const batch = batches[at]! as Uint8Array<ArrayBuffer>
    // As a broker stamps its offset.
    Buffer.from(batch.buffer, batch.byteOffset, 8).writeBigInt64BE(BigInt(offset))
    encoder.add(batch)
    encoder.take()
    offset += viewBatch(batch).recordCount
    done += batch.length
  }
  made += encoder.finish('behind-last-batch').size
  encoder.take()
}
const { user, system } = process.threadCpuUsage(before)
const result: LoopResult = {
  bytes: done,
  fileBytes: made,
  ms: systemClock.monotonic() - begunAt,
  processorMs: (user + system) / 1000,
}
parentPort!.postMessage(result)
