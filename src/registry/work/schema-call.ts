// The calls of the threads that parse, compare and compile schemas, as messages, and the work that answers them.

import { type Result, serveCalls } from '../../base/serve-calls.ts'
import type { Difference, Policy, SchemaText, SchemaType, Strictness } from '../format.ts'
import type { AnyFormat } from '../formats.ts'

export type SchemaCall =
  | readonly ['examine', SchemaType, SchemaText, Strictness]
  | readonly ['compare', SchemaType, reader: SchemaText, writer: SchemaText, Policy]
  | readonly ['compile', SchemaType, SchemaText]
  | readonly ['serialize', SchemaType, SchemaText]

/** The first call of a thread: it is answered when the formats are loaded, which takes no part of a call's time. */
export const READY = Object.freeze(['ready'] as const)

/** The facts about a schema that its format knows (format.ts). */
export interface Examined {
  readonly canonical: string
  readonly normalized: string
  readonly inlined: string
  readonly recordNames: readonly string[]
}

export interface Compiled {
  readonly program: unknown
  readonly recordNames: readonly string[]
}

/** Answers the calls that come to this thread with these formats. */
export function serveSchemaCalls(formatOf: (type: SchemaType) => AnyFormat): void {
  // A thread that holds a produce request or a registration is not less urgent than others.
  const work = (call: SchemaCall | typeof READY) => (call[0] === 'ready' ? null : answerCall(formatOf(call[1]), call))
  serveCalls((call: SchemaCall | typeof READY): Result => ({ result: work(call), memory: [] }), { isUrgent: true })
}

/** Does the work of a call. Throws what the format throws. */
export function answerCall(
  format: AnyFormat,
  call: SchemaCall,
): Examined | readonly Difference[] | Compiled | string | null {
  switch (call[0]) {
    case 'examine': {
      const schema = format.parse(call[2], call[3])
      const { canonical, normalized } = format.print(schema)
      return { canonical, normalized, inlined: format.inlined(schema), recordNames: format.recordNames(schema) }
    }
    case 'compare':
      return format.compare(format.parse(call[2], 'stored'), format.parse(call[3], 'stored'), call[4])
    case 'compile': {
      const schema = format.parse(call[2], 'stored')
      return { program: format.compile(schema), recordNames: format.recordNames(schema) }
    }
    case 'serialize':
      return format.serialized?.(format.parse(call[2], 'stored')) ?? null
  }
}
