// How long a question of the admin API may hold up the event loop at a time.

import { type Clock, type Turns, takingTurns } from '../base/clock.ts'

/** In ms: a fraction of a produce request. */
const TURN_MS = 0.2

/** Returns the function that work on many topics or groups calls between its steps. */
export function shortTurns(clock: Clock): Turns {
  return takingTurns(clock, TURN_MS)
}
