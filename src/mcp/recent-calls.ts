// The last calls of agents on this broker, for people. They are in memory only and have no contents of records.

import type { AgentCall } from '../api/agent-tools.ts'

const KEPT = 100

export class RecentCalls {
  readonly #calls: AgentCall[] = []

  add(call: AgentCall): void {
    this.#calls.push(call)
    if (this.#calls.length > KEPT) this.#calls.shift()
  }

  /** Returns the calls, the newest first. */
  newestFirst(): AgentCall[] {
    return this.#calls.toReversed()
  }
}
