// Durations and sizes in fields for people: `7d`, `36 h`, `1.5 GiB`, and back. The values of topic configs are texts of
// integers that may pass 2^53, so that no number is used. The broker checks the range of a value; this file does not.

export type Read = { readonly value: string } | { readonly error: string }

interface Unit {
  /** The name that is written. */
  readonly name: string
  /** Other names that are read, in small letters. */
  readonly also: readonly string[]
  readonly factor: bigint
}

interface Units {
  /** The smallest unit, of which the value is a number. */
  readonly base: string
  readonly example: string
  readonly units: readonly Unit[]
}

const KIBI = 1024n
const KILO = 1000n

/** The largest first. */
const DURATIONS: Units = {
  base: 'milliseconds',
  example: '7 d, 36 h or 500 ms',
  units: [
    { name: 'd', also: ['day', 'days'], factor: 86_400_000n },
    { name: 'h', also: ['hour', 'hours'], factor: 3_600_000n },
    { name: 'min', also: ['m', 'minute', 'minutes'], factor: 60_000n },
    { name: 's', also: ['second', 'seconds'], factor: 1_000n },
    { name: 'ms', also: ['millisecond', 'milliseconds'], factor: 1n },
  ],
}

const SIZES: Units = {
  base: 'bytes',
  example: '1.5 GiB, 512 MiB or 1000 B',
  units: [
    ...['PiB', 'TiB', 'GiB', 'MiB', 'KiB'].map((name, at) => ({ name, also: [], factor: KIBI ** BigInt(5 - at) })),
    { name: 'B', also: ['byte', 'bytes'], factor: 1n },
  ],
}

/** These are written where they make the number smaller: 1953125 KiB is `2 GB`. */
const DECIMAL_SIZES: readonly Unit[] = ['PB', 'TB', 'GB', 'MB', 'kB'].map((name, at) => ({
  name,
  also: [],
  factor: KILO ** BigInt(5 - at),
}))

/** The largest first. */
const SIZES_BY_FACTOR = [...SIZES.units, ...DECIMAL_SIZES].sort((one, other) => (one.factor < other.factor ? 1 : -1))

/** Kafka's value for no limit. */
const NO_LIMIT_VALUE = '-1'
export const NO_LIMIT = 'no limit'

const INTEGER = /^-?\d+$/
const AMOUNT = /^(?<whole>\d+)(?:\.(?<part>\d+))?\s*(?<unit>[a-z]+)$/i

/** Reads milliseconds. A number without unit is one of milliseconds; `no limit` is -1. */
export function readDuration(text: string): Read {
  return read(text, DURATIONS, DURATIONS.units)
}

/** Writes milliseconds with the largest unit that leaves an integer: `604800000` is `7 d`, `-1` is `no limit`. */
export function showDuration(value: string): string {
  return show(value, DURATIONS.units)
}

/** Reads bytes. A number without unit is one of bytes; `no limit` is -1. `kB`, `MB` and so on are powers of 1000. */
export function readSize(text: string): Read {
  return read(text, SIZES, [...SIZES.units, ...DECIMAL_SIZES])
}

/** Writes bytes with the unit that leaves the smallest integer: `1073741824` is `1 GiB`, `-1` is `no limit`. */
export function showSize(value: string): string {
  return show(value, SIZES_BY_FACTOR)
}

function read(text: string, { base, example }: Units, units: readonly Unit[]): Read {
  const written = text.trim()
  if (written === '') return { error: `Expected a value such as ${example}.` }
  if (written.toLowerCase() === NO_LIMIT) return { value: NO_LIMIT_VALUE }
  const plain = written.replaceAll(/(?<=\d)[,_](?=\d{3})/g, '')
  if (INTEGER.test(plain)) return { value: BigInt(plain).toString() }
  const found = AMOUNT.exec(plain)?.groups
  if (found === undefined) return { error: `${JSON.stringify(written)} is not understood. Expected ${example}.` }
  const name = found.unit!.toLowerCase()
  const unit = units.find(each => each.name.toLowerCase() === name || each.also.includes(name))
  if (unit === undefined) {
    const names = units.map(each => each.name).join(', ')
    return { error: `${JSON.stringify(found.unit)} is not a unit here. The units are ${names}.` }
  }
  const part = found.part ?? ''
  const scale = 10n ** BigInt(part.length)
  const product = BigInt(found.whole! + part) * unit.factor
  if (product % scale !== 0n) return { error: `${written} is not a whole number of ${base}.` }
  return { value: (product / scale).toString() }
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
