// The circuit breaker of one Redis server. Closed: calls go out. Open: they fail at once. Half-open: a PING is out, and
// calls fail until it is answered. It decides and reports; what is asked while it is open, and what a probe is, are its
// owner's.
//
//   closed --FAILURES_TO_OPEN in a row--> open --openMs--> half-open --the probe succeeds--> closed
//                                          ^                    |
//                                          +--the probe fails---+

import type { Clock, Timer } from '../../../base/clock.ts'
import { StoreUnavailable } from '../../store.ts'

export const BREAKER_STATES = Object.freeze(['closed', 'open', 'half-open'] as const)
export type BreakerState = (typeof BREAKER_STATES)[number]

/** Failed calls in a row, with no reply of the server between them. */
export const FAILURES_TO_OPEN = 5

export interface Breaker {
  readonly state: BreakerState
  /** Throws StoreUnavailable unless closed. */
  check(): void
  /** A reply arrived, even if it was an error reply. */
  succeeded(): void
  /** A call got no reply in time, or no connection to go out on. */
  failed(why: string): void
  close(): void
}

export interface BreakerOptions {
  readonly clock: Clock
  readonly openMs: number
  /** Rejects when the server is not there yet. Must settle. */
  readonly probe: () => Promise<unknown>
  readonly onMove: (state: BreakerState, why: string) => void
}

export function createBreaker({ clock, openMs, probe, onMove }: BreakerOptions): Breaker {
  let state: BreakerState = 'closed'
  let failures = 0
  let why = ''
  let timer: Timer | null = null
  let isOver = false

  const move = (next: BreakerState, because: string) => {
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

/** For `circuit-breaker.enabled=false`. */
export const noBreaker: Breaker = Object.freeze({
  state: 'closed',
  check() {},
  succeeded() {},
  failed() {},
  close() {},
})
