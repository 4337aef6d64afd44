// Instants in a time zone, as the console writes them; read-instant.ts reads a local time back. Instants are
// milliseconds since 1970, as the API has them. Zones are IANA names, as Intl knows them. No clock is read here.

import { count, UNKNOWN } from './format.ts'

/** An IANA name such as `Europe/Berlin`, or `UTC`. */
export type Zone = string

export const UTC: Zone = 'UTC'

/** The times of a Date (ECMA-262, 21.4.1.1). Kafka's timestamps may lie beyond. */
export const MOST_MS = 8.64e15
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The Gregorian calendar repeats after 400 years. */
const CYCLE_YEARS = 400
const CYCLE_MS = 146_097 * DAY

/** Returns the zone of the browser. */
export function localZone(): Zone {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Returns all zones for a choice, UTC first. */
export function allZones(): readonly Zone[] {
  return [UTC, ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== UTC)]
}

/** Returns whether Intl knows the zone. */
export function isZone(text: string): boolean {
  try {
    formatterOf(text)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Returns `2026-11-20 21:10:03.412`. A dash for null; beyond the years of the calendar, the number itself. */
export function instant(ms: number | null | undefined, zone: Zone): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return UNKNOWN
  if (!isInCalendar(ms)) return `${count(ms)} ms`
  const { year, month, day, hour, minute, second, millisecond } = localParts(ms, zone)
  return `${yearText(year)}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)}.${String(millisecond).padStart(3, '0')}`
}

/** Returns the time of the day, `21:10:03`, for a place where the day is clear. */
export function timeOfDay(ms: number | null | undefined, zone: Zone): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return UNKNOWN
  if (!isInCalendar(ms)) return `${count(ms)} ms`
  const { hour, minute, second } = localParts(ms, zone)
  return `${two(hour)}:${two(minute)}:${two(second)}`
}

/** Returns the value of `<time datetime>`, in UTC; undefined if there is no such time. */
export function machineTime(ms: number | null | undefined): string | undefined {
  if (ms === null || ms === undefined || !isInCalendar(ms)) return undefined
  return new Date(ms).toISOString()
}

/** Returns the offset of the zone at this instant: `+05:30`, `-03:00`, `+00:00`. */
export function offsetText(ms: number, zone: Zone): string {
  const offset = isInCalendar(ms) ? offsetMs(ms, zone) : 0
  const length = Math.abs(offset)
  const seconds = Math.floor((length % MINUTE) / 1_000)
  const text = `${offset < 0 ? '-' : '+'}${two(Math.floor(length / HOUR))}:${two(Math.floor((length % HOUR) / MINUTE))}`
  return seconds === 0 ? text : `${text}:${two(seconds)}`
}

/** Returns the name for a heading: `Asia/Kolkata (UTC+05:30)`, or `UTC`. */
export function zoneLabel(zone: Zone, ms: number): string {
  return zone === UTC ? UTC : `${zone} (UTC${offsetText(ms, zone)})`
}

/** Returns the distance as a hint beside the instant: `just now`, `4 s ago`, `in 3 min`, `2 d ago`. */
export function relative(ms: number | null | undefined, nowMs: number): string {
  if (ms === null || ms === undefined || !isInCalendar(ms)) return ''
  const distance = Math.abs(nowMs - ms)
  if (distance < 1_000) return 'just now'
  const [unit, name] =
    distance < MINUTE ? [1_000, 's'] : distance < HOUR ? [MINUTE, 'min'] : distance < DAY ? [HOUR, 'h'] : [DAY, 'd']
  const length = `${count(Math.floor(distance / unit))} ${name}`
  return ms < nowMs ? `${length} ago` : `in ${length}`
}

/** Returns the beginning of the day of this time; the end of the gap if the clocks skip midnight. */
export function startOfDay(ms: number, zone: Zone): number {
  const offset = offsetMs(ms, zone)
  const midnight = Math.floor((ms + offset) / DAY) * DAY
  // The clocks may have changed since midnight.
  return midnight - offsetMs(midnight - offset, zone)
}

interface LocalParts {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly millisecond: number
}

const formatters = new Map<Zone, Intl.DateTimeFormat>()

/** Returns the formatter of a zone. To make one takes a hundred times as long as to use one. */
function formatterOf(zone: Zone): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formatters.set(zone, formatter)
  }
  return formatter
}

function localParts(ms: number, zone: Zone): LocalParts {
  const whole = Math.floor(ms / 1_000) * 1_000
  const parts: Record<string, string> = {}
  for (const { type, value } of formatterOf(zone).formatToParts(whole)) parts[type] = value
  const year = Number(parts.year)
  return {
    // Before the year 1 the formatter counts the years of the other era, and has no year 0.
    year: parts.era === 'BC' ? 1 - year : year,
    month: Number(parts.month),
    day: Number(parts.day),
    hour: Number(parts.hour),
    minute: Number(parts.minute),
    second: Number(parts.second),
    millisecond: Math.floor(ms) - whole,
  }
}

/** Returns the local time minus UTC. */
export function offsetMs(ms: number, zone: Zone): number {
  const inside = Math.min(Math.max(ms, -MOST_MS), MOST_MS)
  const { year, month, day, hour, minute, second, millisecond } = localParts(inside, zone)
  return wallMs(year, month, day, hour, minute, second) + millisecond - Math.floor(inside)
}

/** Returns the milliseconds of a date and time of UTC. Date.UTC alone gives none just outside its range. */
export function wallMs(year: number, month: number, day: number, hour: number, minute: number, second: number): number {
  const cycles = Math.floor((year - 2000) / CYCLE_YEARS)
  return Date.UTC(year - cycles * CYCLE_YEARS, month - 1, day, hour, minute, second) + cycles * CYCLE_MS
}

/** Returns whether a Date can have this time. */
export function isInCalendar(ms: number): boolean {
  // The answer of another program may have a text of digits here, which is no time for a Date.
  return Number.isFinite(ms) && Math.abs(ms) <= MOST_MS
}

function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0')
  return `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
