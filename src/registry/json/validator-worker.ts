// The code of a validator thread: it compiles programs and judges payloads by them.

import { systemClock } from '../../base/clock.ts'
import { type Result, serveCalls } from '../../base/serve-calls.ts'
import type { Fault } from '../format.ts'
import { type Judge, judgeOf } from './judge.ts'
import { Payloads } from './payload-batch.ts'

/** Compiles a program under a key, and forgets others. Throws if it cannot be compiled. */
export interface CompileCall {
  readonly kind: 'compile'
  readonly key: string
  readonly text: string
  readonly forget: readonly string[]
}

/** Judges the payloads from `from` on by all of these programs, as long as `sliceMs` have not passed. */
export interface JudgeCall {
  readonly kind: 'judge'
  readonly keys: readonly string[]
  readonly memory: ArrayBuffer
  readonly ends: Uint32Array
  readonly from: number
  readonly sliceMs: number
  /** Where the thread writes which payload it is at: an Int32 that the caller can read if the thread ends. */
  readonly progress: SharedArrayBuffer
}

export interface Judged {
  /** The first payload that is not judged yet. */
  readonly to: number
  readonly faults: readonly (readonly [index: number, fault: Fault])[]
  /** The payloads, handed back. */
  readonly memory: ArrayBuffer
}

const judges = new Map<string, Judge>()

serveCalls(
  (call: CompileCall | JudgeCall): Result => {
    if (call.kind === 'judge') {
      const result = judge(call)
      return { result, memory: [result.memory] }
    }
    for (const key of call.forget) judges.delete(key)
    judges.set(call.key, judgeOf(call.text))
    return { result: null, memory: [] }
  },
  { isUrgent: true },
)

function judge({ keys, memory, ends, from, sliceMs, progress }: JudgeCall): Judged {
  const by = keys.map(key => judges.get(key)!)
  const at = new Int32Array(progress)
  const payloads = new Payloads(memory, ends)
  const faults: [number, Fault][] = []
  const untilMs = systemClock.monotonic() + sliceMs
  for (let index = from; index < payloads.length; index++) {
    at[0] = index
    const fault = judgeOne(payloads, index, by)
    if (fault !== null) faults.push([index, fault])
    if (systemClock.monotonic() >= untilMs) return { to: index + 1, faults, memory }
  }
  return { to: payloads.length, faults, memory }
}

function judgeOne(payloads: Payloads, index: number, by: readonly Judge[]): Fault | null {
  const read = payloads.read(index)
  if ('fault' in read) return read.fault
  try {
    for (const judge of by) {
      const fault = judge(read.value)
      if (fault !== null) return fault
    }
    return null
  } catch (error) {
    // The stack of the generated code: a stored schema that leads to itself without an end.
    if (!(error instanceof RangeError)) throw error
    return { reason: 'too-deep', message: 'the schema and the payload are nested too deeply to judge one by the other' }
  }
}
