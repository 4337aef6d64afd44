// A chart in words: the sentence that describes it, and the one that reads the values under its cursor. Screen readers
// read them in place of the picture.

import { timeOfDay, type Zone } from '../text/zone.ts'

interface Named {
  readonly label: string
  readonly values: readonly (number | null)[]
}

type Format = (value: number | null) => string

/** Returns the latest value, the highest one with its time, and the lowest one of each series, in one sentence. */
export function describeChart(times: readonly number[], series: readonly Named[], format: Format, zone: Zone): string {
  const first = times[0]
  const last = times.at(-1)
  if (first === undefined || last === undefined) return 'Nothing is known yet.'
  const parts = series.map(({ label, values }) => {
    const latest = values.findLastIndex(value => value !== null)
    if (latest === -1) return `${label} is not known`
    const known = values.filter(value => value !== null)
    const highest = values.indexOf(Math.max(...known))
    const at = latest === values.length - 1 ? '' : ` at ${timeOfDay(times[latest], zone)}`
    return `${label} is ${format(values[latest]!)}${at}, at most ${format(values[highest]!)} at ${timeOfDay(times[highest], zone)}, at least ${format(Math.min(...known))}`
  })
  return `From ${timeOfDay(first, zone)} to ${timeOfDay(last, zone)}: ${parts.join('; ')}.`
}

/** Returns the values at one time: `12:03:15: in 1,230 records/s, out 12 records/s`. */
export function readValues(
  times: readonly number[],
  series: readonly Named[],
  at: number,
  format: Format,
  zone: Zone,
): string {
  const values = series.map(({ label, values: all }) => `${label} ${all[at] == null ? 'not known' : format(all[at])}`)
  return `${timeOfDay(times[at], zone)}: ${values.join(', ')}`
}

/** Returns the index of the time that is nearest; null without a cursor or times. */
export function nearest(times: readonly number[], ms: number | null): number | null {
  if (ms === null || times.length === 0) return null
  let best = 0
  for (const [at, time] of times.entries()) if (Math.abs(time - ms) < Math.abs(times[best]! - ms)) best = at
  return best
}

/** The moves of the cursor by key. Without a cursor, the first move shows the newest value. */
const MOVES: Readonly<Record<string, (at: number | null, last: number) => number>> = {
  ArrowLeft: (at, last) => (at === null ? last : Math.max(0, at - 1)),
  ArrowRight: (at, last) => (at === null ? last : Math.min(last, at + 1)),
  Home: () => 0,
  End: (_, last) => last,
}

/** Returns where a key moves the cursor; null if the key moves none. */
export function moveCursor(key: string, at: number | null, length: number): number | null {
  return length === 0 ? null : (MOVES[key]?.(at, length - 1) ?? null)
}
