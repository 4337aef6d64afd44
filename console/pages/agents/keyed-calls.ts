// Gives each call a key that it keeps while newer calls arrive and older ones are forgotten.
// Two calls may have the same time.

import type { AgentCall } from '../../../src/api/agent-tools.ts'

export interface KeyedCall {
  readonly key: string
  readonly call: AgentCall
}

/** Takes and returns the newest call first. */
export function keyed(calls: readonly AgentCall[]): readonly KeyedCall[] {
  const seen = new Map<string, number>()
  return calls
    .toReversed()
    .map(call => {
      const before = seen.get(call.calledAt) ?? 0
      seen.set(call.calledAt, before + 1)
      return { key: `${call.calledAt} ${before}`, call }
    })
    .toReversed()
}
