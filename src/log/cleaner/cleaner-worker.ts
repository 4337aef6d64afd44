// The code of the cleaner's thread: it answers the calls of cleaner-thread.ts, one after the other, and hands the
// memory of its results over.

import { parentPort } from 'node:worker_threads'
import { stepBack } from '../../base/quiet-thread.ts'
import { type CleanedPiece, CleanerWork, type Mapped, type Unreadable, type Work } from './cleaner-work.ts'

/** A call as a message: the name of the function and its arguments. */
export type Call = { readonly [K in keyof Work]: readonly [name: K, ...args: Parameters<Work[K]>] }[keyof Work]

const work = new CleanerWork()

stepBack()
parentPort!.on('message', (call: Call) => {
  const result = run(call)
  const isPiece = result?.kind === 'cleaned'
  parentPort!.postMessage(result, isPiece ? memoryOf(result) : [])
  // Without this, the memory of the batches would stay until the next garbage collection.
  if (call[0] === 'map' || call[0] === 'clean') for (const { buffer } of call[1].slice(0, 1)) release(buffer)
})

/** Frees the memory at once. All batches of a call share it. */
function release(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0)
}

function run(call: Call): CleanedPiece | Mapped | Unreadable | undefined {
  switch (call[0]) {
    case 'begin':
      work.begin(call[1], call[2])
      return undefined
    case 'map':
      return work.map(call[1], call[2], call[3])
    case 'clean':
      return work.clean(call[1], call[2])
    case 'end':
      work.end()
      return undefined
  }
}

function memoryOf({ batches }: CleanedPiece): ArrayBuffer[] {
  return batches.flatMap(({ bytes }) =>
    typeof bytes === 'string' || bytes === null ? [] : [bytes.buffer as ArrayBuffer],
  )
}
