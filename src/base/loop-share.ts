// A share of the event loop for short work that clients wait for. takingTurns of clock.ts is for work in the
// background: it goes last. Work of a loop share begins at once while the share has time left in this turn of the
// loop, and otherwise in the next turns, first come, first served. All users of a share together hold each turn of the
// loop for as long as one of them would.
//
//   begin() --time left, and the line is empty--> piece --end()--> the rest of the time is left for others
//      '--else--> false; the work awaits turn(), which puts it in line
//   serve, once in each turn of the loop: the time is full again; one piece after the other for those in line

import type { Clock, Turns } from './clock.ts'

export class LoopShare {
  readonly #clock: Clock
  readonly #turnMs: number
  /** In order; a call lets its work run until it waits. */
  #line: (() => void)[] = []
  #leftMs: number
  #beganAtMs = 0
  /** When the piece that runs must give way; -Infinity between pieces. */
  #endsAtMs = Number.NEGATIVE_INFINITY
  #isServeDue = false

  /** The work of all users may hold one turn of the loop for turnMs. */
  constructor(clock: Clock, turnMs: number) {
    this.#clock = clock
    this.#turnMs = turnMs
    this.#leftMs = turnMs
  }

  /** Returns true if a piece of work may begin at once. The caller must then call end() before it waits. */
  begin(): boolean {
    if (this.#line.length > 0 || this.#leftMs <= 0) return false
    this.#beganAtMs = this.#clock.monotonic()
    this.#endsAtMs = this.#beganAtMs + this.#leftMs
    this.#comeBack()
    return true
  }

  end(): void {
    this.#leftMs -= this.#clock.monotonic() - this.#beganAtMs
    this.#endsAtMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Called by work between its steps. Returns undefined while its piece may go on. Otherwise it returns a promise that
   * the work must await itself, without another promise between them: the time of its next piece is measured until it
   * waits again.
   */
  readonly turn: Turns = () => {
    if (this.#clock.monotonic() < this.#endsAtMs) return undefined
    return new Promise(resolve => {
      this.#line.push(resolve)
      this.#comeBack()
    })
  }

  #comeBack(): void {
    if (this.#isServeDue) return
    this.#isServeDue = true
    this.#clock.soon(() => void this.#serve())
  }

  async #serve(): Promise<void> {
    this.#isServeDue = false
    this.#leftMs = this.#turnMs
    const line = this.#line
    this.#line = []
    let served = 0
    while (served < line.length && this.#leftMs > 0) {
      this.#beganAtMs = this.#clock.monotonic()
      this.#endsAtMs = this.#beganAtMs + this.#leftMs
      line[served++]!()
      // The work runs as soon as this function waits, and has ended its piece afterwards.
      await Promise.resolve()
      this.end()
    }
    if (served < line.length) this.#line = [...line.slice(served), ...this.#line]
    if (this.#line.length > 0) this.#comeBack()
  }
}
