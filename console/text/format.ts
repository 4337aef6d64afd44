// Numbers as the console writes them: counts, rates, bytes, durations and shares. Times are in zone.ts. A number that
// is not known (null, or not finite) is a dash. The exact value, for a title or a copy, is `exact…`.

export const UNKNOWN = '—'

type Known = number | bigint
type Value = Known | null | undefined

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const
const STEP = 1024

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Returns a count with thousands separators: `12,300`. */
export function count(value: Value): string {
  return isKnown(value) ? digits(value, whole) : UNKNOWN
}

/** Returns the count with its noun: `1 record`, `12,300 records`. The plural is the noun with an s, or as given. */
export function counted(value: Value, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${isKnown(value) && Number(value) === 1 ? noun : plural}`
}

/** Returns a number with three significant digits, without unit: `0.123`, `12,300`. */
export function rate(value: Value): string {
  return isKnown(value) ? digits(value, rounded) : UNKNOWN
}

/** Returns bytes with three significant digits: `512 B`, `1.5 KiB`, `4.1 MiB`. */
export function bytes(value: Value): string {
  if (!isKnown(value)) return UNKNOWN
  let size = Number(value)
  let unit = 0
  while (Math.abs(size) >= STEP && unit < BYTE_UNITS.length - 1) {
    size /= STEP
    unit++
  }
  return `${digits(size, Number.isInteger(size) ? whole : rounded)} ${BYTE_UNITS[unit]}`
}

/** Returns all digits: `1,536 bytes`. */
export function exactBytes(value: Value): string {
  return counted(value, 'byte')
}

/** Returns bytes in each second: `4.1 MiB/s`. */
export function byteRate(value: Value): string {
  return isKnown(value) ? `${bytes(value)}/s` : UNKNOWN
}

/** Returns a length of time in milliseconds: `0.42 ms`, `1.5 s`, `2 min 5 s`, `3 h 20 min`, `7 d 2 h`. */
export function duration(ms: Value): string {
  if (!isKnown(ms)) return UNKNOWN
  const length = Number(ms)
  if (length < 0) return `-${duration(-length)}`
  if (length < SECOND) return Number(length.toPrecision(3)) < SECOND ? `${rate(length)} ms` : '1 s'
  if (length < MINUTE) return Number((length / SECOND).toPrecision(3)) < 60 ? `${rate(length / SECOND)} s` : '1 min'
  if (length < HOUR) return twoUnits(length, MINUTE, 'min', SECOND, 's')
  if (length < DAY) return twoUnits(length, HOUR, 'h', MINUTE, 'min')
  return twoUnits(length, DAY, 'd', HOUR, 'h')
}

/** Returns the part of 1 as a percentage with one decimal place: 0.125 is `12.5%`. */
export function percent(part: number | null | undefined): string {
  return isKnown(part)
    ? new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 }).format(part)
    : UNKNOWN
}

function isKnown(value: Value): value is Known {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}

/** Rounds down, so that `59 min 59 s` never becomes `60 min`. */
function twoUnits(length: number, large: number, largeName: string, small: number, smallName: string): string {
  const many = Math.floor(length / large)
  const rest = Math.floor((length - many * large) / small)
  const first = `${digits(many, whole)} ${largeName}`
  return rest === 0 ? first : `${first} ${rest} ${smallName}`
}

const whole = (value: number) => Number(value.toFixed(3))
const rounded = (value: number) => Number(value.toPrecision(3))

/**
 * Returns a number with thousands separators. Intl.NumberFormat would do the same, but a browser loads much data for
 * its first number: 15 ms before the first row of a page. It writes those that JavaScript writes with an exponent.
 */
function digits(value: Known, round: (value: number) => number): string {
  if (typeof value === 'bigint' && round === whole) return grouped(String(value))
  const text = String(round(Number(value)))
  return text.includes('e') ? Number(text).toLocaleString('en-US', { maximumSignificantDigits: 21 }) : grouped(text)
}

function grouped(text: string): string {
  const [integer, fraction] = text.split('.') as [string, string?]
  const separated = integer.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? separated : `${separated}.${fraction}`
}
