// The circuit breaker of one Redis server. Closed: calls are sent. Open: calls fail at once. Half-open: a probe was
// sent, and calls fail until it succeeds. This file decides and reports the state; its owner chooses the probe and
// which calls it guards.
//
//   closed --FAILURES_TO_OPEN in a row--> open --openMs--> half-open --the probe succeeds--> closed
//                                          ^                    |
//                                          +--the probe fails---+

import type { Clock, Timer } from '../../../base/clock.ts'
import { BREAKER_STATES, type BreakerState, StoreUnavailable } from '../../store.ts'

/** The states that a breaker moves between; it is never `disabled` later. */
export const BREAKER_MOVES = Object.freeze(BREAKER_STATES.filter(state => state !== 'disabled'))
type Moved = (typeof BREAKER_MOVES)[number]

/** The number of failed calls in a row that open the breaker. Any reply of the server resets the count. */
export const FAILURES_TO_OPEN = 5

export interface Breaker {
  readonly state: BreakerState
  /** Throws StoreUnavailable unless the breaker is closed. */
  check(): void
  /** Tells that a reply arrived, even if it was an error reply. */
  succeeded(): void
  /** Tells that a call got no reply in time or had no connection. */
  failed(why: string): void
  close(): void
}

export interface BreakerOptions {
  readonly clock: Clock
  readonly openMs: number
  /** Rejects if the server is still unavailable. It must settle. */
  readonly probe: () => Promise<unknown>
  readonly onMove: (state: Moved, why: string) => void
}

export function createBreaker({ clock, openMs, probe, onMove }: BreakerOptions): Breaker {
  let state: Moved = 'closed'
  let failures = 0
  let why = ''
  let timer: Timer | null = null
  let isOver = false

  const move = (next: Moved, because: string) => {
    state = next
    onMove(next, because)
  }
  const open = (because: string) => {
    why = because
    move('open', because)
    timer = clock.timer(openMs, () => void tryAgain())
  }
  const tryAgain = async () => {
    move('half-open', why)
    try {
      await probe()
    } catch (error) {
      if (!isOver) open(error instanceof Error ? error.message : String(error))
      return
    }
    if (isOver) return
    failures = 0
    move('closed', 'a PING was answered')
  }

  return {
    get state() {
      return state
    },
    check() {
      if (state !== 'closed') throw new StoreUnavailable(`the circuit breaker is ${state}: ${why}`)
    },
    succeeded() {
      failures = 0
    },
    failed(because) {
      if (state !== 'closed' || isOver) return
      failures++
      if (failures >= FAILURES_TO_OPEN) open(because)
    },
    close() {
      isOver = true
      timer?.cancel()
    },
  }
}

/** The breaker for `circuit-breaker.enabled=false`: it lets every call pass. */
export const noBreaker: Breaker = Object.freeze({
  state: 'disabled',
  check() {},
  succeeded() {},
  failed() {},
  close() {},
})
