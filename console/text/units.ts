// Durations and sizes for people: `7 d`, `36 h`, `1.5 GiB`. The values of topic configs are texts of integers that may
// pass 2^53, so that no number is used. The way back is read-units.ts.

export interface Unit {
  readonly name: string
  readonly factor: bigint
}

const KIBI = 1024n
const KILO = 1000n

/** The largest first. */
export const DURATIONS: readonly Unit[] = [
  { name: 'd', factor: 86_400_000n },
  { name: 'h', factor: 3_600_000n },
  { name: 'min', factor: 60_000n },
  { name: 's', factor: 1_000n },
  { name: 'ms', factor: 1n },
]

/** The largest first. */
export const SIZES: readonly Unit[] = ['PiB', 'TiB', 'GiB', 'MiB', 'KiB', 'B'].map((name, at) => ({
  name,
  factor: KIBI ** BigInt(5 - at),
}))

/** These are written where they make the number smaller: 1953125 KiB is `2 GB`. */
export const DECIMAL_SIZES: readonly Unit[] = ['PB', 'TB', 'GB', 'MB', 'kB'].map((name, at) => ({
  name,
  factor: KILO ** BigInt(5 - at),
}))

/** The largest first. */
const SIZES_BY_FACTOR = [...SIZES, ...DECIMAL_SIZES].sort((one, other) => (one.factor < other.factor ? 1 : -1))

/** Kafka's value for no limit. */
export const NO_LIMIT_VALUE = '-1'
export const NO_LIMIT = 'no limit'

export const INTEGER = /^-?\d+$/

/** Writes milliseconds with the largest unit that leaves an integer: `604800000` is `7 d`, `-1` is `no limit`. */
export function showDuration(value: string): string {
  return show(value, DURATIONS)
}

/** Writes bytes with the unit that leaves the smallest integer: `1073741824` is `1 GiB`, `-1` is `no limit`. */
export function showSize(value: string): string {
  return show(value, SIZES_BY_FACTOR)
}

function show(value: string, units: readonly Unit[]): string {
  if (!INTEGER.test(value)) return value
  if (value === NO_LIMIT_VALUE) return NO_LIMIT
  const number = BigInt(value)
  const smallest = units.at(-1)!
  // Other negative numbers have a meaning of their own, as -2 has for local.retention.ms.
  if (number < 0n) return value
  const unit = number === 0n ? smallest : units.find(each => number % each.factor === 0n)!
  return `${number / unit.factor} ${unit.name}`
}
