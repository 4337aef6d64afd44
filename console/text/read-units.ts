// Reads the durations and sizes that people type: `7d`, `36 h`, `1.5 GiB`. The broker checks the range of a value; this
// file does not. The units are in units.ts.

import { DECIMAL_SIZES, DURATIONS, INTEGER, NO_LIMIT, NO_LIMIT_VALUE, SIZES, type Unit } from './units.ts'

export type Read = { readonly value: string } | { readonly error: string }

interface Kind {
  /** The smallest unit, of which the value is a number. */
  readonly base: string
  readonly example: string
  readonly units: readonly Unit[]
}

const DURATION: Kind = { base: 'milliseconds', example: '7 d, 36 h or 500 ms', units: DURATIONS }
const SIZE: Kind = { base: 'bytes', example: '1.5 GiB, 512 MiB or 1000 B', units: [...SIZES, ...DECIMAL_SIZES] }

/** Other names of the units, in small letters. */
const ALSO: Readonly<Record<string, string>> = {
  ...{ day: 'd', days: 'd', hour: 'h', hours: 'h', m: 'min', minute: 'min', minutes: 'min' },
  ...{ second: 's', seconds: 's', millisecond: 'ms', milliseconds: 'ms', byte: 'b', bytes: 'b' },
}

const AMOUNT = /^(?<whole>\d+)(?:\.(?<part>\d+))?\s*(?<unit>[a-z]+)$/i

/** Reads milliseconds. A number without unit is one of milliseconds; `no limit` is -1. */
export function readDuration(text: string): Read {
  return read(text, DURATION)
}

/** Reads bytes. A number without unit is one of bytes; `no limit` is -1. `kB`, `MB` and so on are powers of 1000. */
export function readSize(text: string): Read {
  return read(text, SIZE)
}

function read(text: string, { base, example, units }: Kind): Read {
  const written = text.trim()
  if (written === '') return { error: `Expected a value such as ${example}.` }
  if (written.toLowerCase() === NO_LIMIT) return { value: NO_LIMIT_VALUE }
  const plain = written.replaceAll(/(?<=\d)[,_](?=\d{3})/g, '')
  if (INTEGER.test(plain)) return { value: BigInt(plain).toString() }
  const found = AMOUNT.exec(plain)?.groups
  if (found === undefined) return { error: `${JSON.stringify(written)} is not understood. Expected ${example}.` }
  const typed = found.unit!.toLowerCase()
  const name = Object.hasOwn(ALSO, typed) ? ALSO[typed] : typed
  const unit = units.find(each => each.name.toLowerCase() === name)
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
