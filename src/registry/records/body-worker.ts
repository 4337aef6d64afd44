// The code of a thread that decodes and makes bodies.

import { type Result, serveCalls } from '../../base/serve-calls.ts'
import type { Fault } from '../format.ts'
import { type BodyType, bodyOf, textOf } from './bodies.ts'

export type BodyCall =
  /** Answered when the thread has loaded the formats. */
  | readonly ['ready']
  | readonly ['decode', BodyType, Uint8Array, mostTextBytes: number]
  | readonly ['encode', BodyType, text: string, mostBytes: number]

serveCalls((call: BodyCall): Result => ({ result: answer(call), memory: [] }))

function answer(call: BodyCall): string | Uint8Array | Fault | null {
  switch (call[0]) {
    case 'ready':
      return null
    case 'decode':
      return textOf(call[1], call[2], 0, call[2].length, call[3])
    case 'encode': {
      const body = bodyOf(call[1], call[2], call[3])
      // A Buffer can be a view of larger memory, all of which would be sent.
      return 'reason' in body ? body : Uint8Array.from(body)
    }
  }
}
