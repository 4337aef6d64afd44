// Limits the bytes of fetch answers in one turn of the event loop. Hundreds of readers may fetch at once, each for
// megabytes. Without the limit all other requests would wait until the last of them has its answer.

import type { Clock } from '../../base/clock.ts'

export interface Turns {
  /** Counts the bytes that were found for an answer. */
  count(bytes: number): void
  /**
   * Returns null if this turn has room for another answer. Otherwise resolves in a turn that has room, first come,
   * first served.
   */
  wait(): Promise<void> | null
  /**
   * Gives the turn to the next fetch, because this one has nothing to answer, for example because its connection is
   * closed.
   */
  pass(): void
}

/** The bytes that fill a turn. Copying them takes a millisecond or two. */
const TURN_BYTES = 1 << 20

/** The most fetches that give away one turn: to find out that one has nothing to answer takes time too. */
const MOST_PASSES = 16

export function createTurns(clock: Clock): Turns {
  let turnBytes = 0
  let passes = 0
  const line: (() => void)[] = []

  function next(): void {
    turnBytes = 0
    passes = 0
    line.shift()?.()
    // One fetch in each turn: the size of its answer is known only afterwards.
    if (line.length > 0) clock.soon(next)
  }

  return {
    count(bytes) {
      if (turnBytes === 0 && bytes > 0 && line.length === 0) clock.soon(next)
      turnBytes += bytes
    },
    wait() {
      if (turnBytes < TURN_BYTES && line.length === 0) return null
      return new Promise(resolve => line.push(resolve))
    },
    pass() {
      if (++passes < MOST_PASSES && turnBytes < TURN_BYTES) line.shift()?.()
    },
  }
}
