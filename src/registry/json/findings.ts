// The words in which the rules of compatibility speak with the comparison, and small rules that several kinds share.
import type { Change } from './differences.ts'
import type { Node } from './nodes.ts'

/** A generator that asks for the verdict of pairs, and gets it. */
export type Steps = Generator<Pair, void, boolean>

export interface Pair {
  readonly original: Node
  readonly update: Node
}

/** Takes the findings of the rules. Paths are relative to the pair: `/properties/a`. */
export interface Findings {
  /** True once it is clear that the pair is incompatible and no more reasons are wanted. */
  readonly isDone: boolean
  note(change: Change, at?: string, was?: unknown, is?: unknown): void
  /** A part that is incompatible: its reasons are reasons of the pair. */
  blame(at: string, pair: Pair): void
}

type Limit = 'MAX_LENGTH' | 'MAXIMUM' | 'EXCLUSIVE_MAXIMUM' | 'MAX_PROPERTIES' | 'MAX_ITEMS' | 'MAX_CONTAINS'
type Least = 'MIN_LENGTH' | 'MINIMUM' | 'EXCLUSIVE_MINIMUM' | 'MIN_PROPERTIES' | 'MIN_ITEMS' | 'MIN_CONTAINS'

/** An upper limit may go up or away. */
export function notMore(f: Findings, keyword: string, limit: Limit, was: number | null, is: number | null): void {
  if (is === null || (was !== null && is >= was)) return
  const change: Change = was === null ? `${limit}_ADDED` : `${limit}_DECREASED`
  f.note(change, `/${keyword}`, was, is)
}

/** A lower limit may go down or away. */
export function notLess(f: Findings, keyword: string, limit: Least, was: number | null, is: number | null): void {
  if (is === null || (was !== null && is <= was)) return
  const change: Change = was === null ? `${limit}_ADDED` : `${limit}_INCREASED`
  f.note(change, `/${keyword}`, was, is)
}

export function isSubset(of: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  for (const value of of) if (!all.has(value)) return false
  return true
}
