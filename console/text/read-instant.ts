// Reads a time that somebody typed: the way back from the texts of zone.ts.

import { instant, isInCalendar, offsetMs, offsetText, wallMs, type Zone } from './zone.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export type ReadInstant =
  | {
      readonly ms: number
      /** A sentence if the clocks of the zone changed at this time, so that the reader should look. */
      readonly hint: string | null
    }
  | { readonly error: string }

const LOCAL =
  /^(?<year>[+-]\d{6}|\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ]+(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,3}))?)?)?\s*(?<offset>Z|UTC|[+-]\d\d:?\d\d)?$/i
const MILLISECONDS = /^-?\d{5,}$/
const EXPECTED = 'Expected a time such as 2026-11-20 21:10:03.412, or milliseconds since 1970.'

/**
 * Reads a time: a date, a date with a time (`T` or a space between them, seconds and milliseconds may be left out), the
 * same with an offset (`Z`, `+05:30`), or milliseconds since 1970 (at least five digits). A time without offset is
 * one of the zone. If the clocks of the zone skip it, the result lies as much after the change; if they repeat it, the
 * result is the first of the two. A hint says so.
 */
export function readInstant(text: string, zone: Zone): ReadInstant {
  const written = text.trim()
  if (MILLISECONDS.test(written)) {
    const ms = Number(written)
    return isInCalendar(ms) ? { ms, hint: null } : { error: `${written} ms lies beyond the calendar.` }
  }
  const found = LOCAL.exec(written)?.groups
  if (found === undefined)
    return { error: written === '' ? EXPECTED : `${JSON.stringify(written)} is not a time. ${EXPECTED}` }
  const year = Number(found.year)
  const month = Number(found.month)
  const day = Number(found.day)
  if (month < 1 || month > 12) return { error: `${found.month} is not a month. The months are 01 to 12.` }
  const days = daysOf(year, month)
  if (day < 1 || day > days)
    return { error: `${found.year}-${found.month} has no day ${found.day}. Its days are 01 to ${days}.` }
  const hour = Number(found.hour ?? 0)
  const minute = Number(found.minute ?? 0)
  const second = Number(found.second ?? 0)
  if (hour > 23 || minute > 59 || second > 59)
    return { error: `${written} has no time of the day. The hours are 00 to 23, minutes and seconds 00 to 59.` }
  const fraction = Number((found.fraction ?? '').padEnd(3, '0'))
  const wall = wallMs(year, month, day, hour, minute, second) + fraction
  const read = found.offset === undefined ? inZone(wall, zone) : { ms: wall - offsetOf(found.offset), hint: null }
  return isInCalendar(read.ms) ? read : { error: `${written} lies beyond the calendar.` }
}

/** Takes a local time as if it were one of UTC. */
function inZone(wall: number, zone: Zone): { ms: number; hint: string | null } {
  // No zone changes its clocks twice in two days, so these are the offsets before and after a change.
  const before = offsetMs(wall - DAY, zone)
  const after = offsetMs(wall + DAY, zone)
  const candidates = [...new Set([before, after])].map(offset => wall - offset).sort((one, other) => one - other)
  const good = candidates.filter(ms => isInCalendar(ms) && ms + offsetMs(ms, zone) === wall)
  if (good.length === 1) return { ms: good[0]!, hint: null }
  if (good.length > 1) {
    const [first, second] = good as [number, number]
    return {
      ms: first,
      hint: `The clocks of ${zone} show this time twice. This is the first one, ${offsetText(first, zone)}. For the second one, write ${offsetText(second, zone)} behind it.`,
    }
  }
  // With the offset before the change, a skipped time lies as much after the change as it is into the gap.
  const ms = wall - before
  if (!isInCalendar(ms)) return { ms, hint: null }
  return {
    ms,
    hint: `The clocks of ${zone} skip this time. ${instant(ms, zone)} is used in its place.`,
  }
}

/** The calendar repeats after 400 years. */
function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (((year % 400) + 400) % 400), month, 0)).getUTCDate()
}

function offsetOf(text: string): number {
  if (!/^[+-]/.test(text)) return 0
  const digits = text.replace(':', '')
  const length = Number(digits.slice(1, 3)) * HOUR + Number(digits.slice(3)) * MINUTE
  return text.startsWith('-') ? -length : length
}
