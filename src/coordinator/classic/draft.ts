// A decision of the classic group while it is being made. Each function that takes part adds to it.

import type { Decision, Parked } from '../machine.ts'
import { HEAD } from './head-record.ts'

export interface Draft extends Decision {
  changes: readonly string[]
  readonly answers: (() => void)[]
  readonly notes: string[]
}

const HEAD_ONLY: readonly string[] = Object.freeze([HEAD])

export const draft = (): Draft => ({ changes: [], answers: [], notes: [] })

/** Marks the stored part of the group as changed. All of it is one field. */
export function commit(out: Draft): void {
  out.changes = HEAD_ONLY
}

export function answer<Reply>(out: Draft, parked: Parked<Reply>, reply: Reply): void {
  out.answers.push(() => parked.settle(reply))
}
