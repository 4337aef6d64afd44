// The direction in which the lag of a group moves, from its last samples.

import { count } from '../../text/format.ts'

/** How many samples make a trend. */
export const TREND_SAMPLES = 5

export type Trend = 'growing' | 'steady' | 'falling'

export const ARROWS: Readonly<Record<Trend, string>> = { growing: '↑', steady: '→', falling: '↓' }

type Lags = readonly (number | null)[]

/**
 * Returns the direction from the first to the last known sample. It is steady unless the lag has moved further in this
 * direction than in the other one. Returns null if fewer than two samples are known.
 */
export function trendOf(lags: Lags): Trend | null {
  const known = lags.filter(lag => lag !== null)
  if (known.length < 2) return null
  let up = 0
  let down = 0
  for (let at = 1; at < known.length; at++) {
    const step = known[at]! - known[at - 1]!
    if (step > 0) up += step
    else down -= step
  }
  const net = up - down
  if (net > down) return 'growing'
  return -net > up ? 'falling' : 'steady'
}

/** Returns the samples as a text: `120 → 110 → 95`. */
export function samplesText(lags: Lags): string {
  return lags.map(lag => count(lag)).join(' → ')
}
