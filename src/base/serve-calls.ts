// The side of a thread that answers calls, one after the other (threads.ts). A call that fails is answered with the
// parts of its error: the class of an error does not survive the way between threads.

import { parentPort } from 'node:worker_threads'
import { stepBack } from './quiet-thread.ts'
import type { Answer } from './threads.ts'

export interface Result {
  readonly result: unknown
  /** Handed over with the result. */
  readonly memory: readonly ArrayBuffer[]
}

/** Answers the calls that come to this thread. By default it steps back for all other threads. */
export function serveCalls(work: (call: never) => Result | Promise<Result>, { isUrgent = false } = {}): void {
  if (!isUrgent) stepBack()
  let last: Promise<void> = Promise.resolve()
  parentPort!.on('message', call => {
    last = last.then(() => answer(work, call))
  })
}

async function answer(work: (call: never) => Result | Promise<Result>, call: unknown): Promise<void> {
  try {
    const { result, memory } = await work(call as never)
    parentPort!.postMessage({ kind: 'done', result } satisfies Answer, memory)
  } catch (error) {
    const { name, message, offset } = error as Error & { offset?: number }
    const failed: Answer = { kind: 'failed', name, message, ...(offset !== undefined && { offset }) }
    parentPort!.postMessage(failed)
  }
}
