// The options that decide how bytes are read: `default` and `packed`.

import { InvalidSchema } from '../format.ts'
import type { Field, File, OptionValue } from './model.ts'
import { entryOf, plainOption } from './model.ts'
import { decimal } from './options-to-json.ts'

const INTEGERS: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int: [-(2n ** 63n), 2n ** 63n - 1n],
  uint: [0n, 2n ** 64n - 1n],
}

export function checkDefault(field: Field, file: File, place: string): void {
  const value = plainOption(field.options, 'default')
  if (value === undefined) return
  if (file.syntax === 'proto3') throw new InvalidSchema(`${place} has a default, and proto3 has none`)
  if (field.label === 'repeated' || entryOf(field) !== null) {
    throw new InvalidSchema(`${place} has a default, and a repeated field has none`)
  }
  if (field.target?.kind === 'message') throw new InvalidSchema(`${place} has a default, and a message has none`)
  const expected = mistakeOf(field, value)
  if (expected !== null) throw new InvalidSchema(`${place} has a default of another type: expected ${expected}`)
}

/** Null if the value is of the field's type. */
function mistakeOf(field: Field, value: OptionValue): string | null {
  if (field.target?.kind === 'enum') {
    const isValue = value.kind === 'identifier' && field.target.values.some(({ name }) => name === value.text)
    return isValue ? null : `a value of "${field.target.fullName}"`
  }
  switch (field.type) {
    case 'string':
      return value.kind === 'string' && value.text.isWellFormed() ? null : 'a string'
    case 'bytes':
      return value.kind === 'string' ? null : 'a string'
    case 'bool':
      return value.kind === 'identifier' && /^(?:true|false)$/.test(value.text) ? null : 'true or false'
    case 'float':
    case 'double':
      return isNumber(value) ? null : 'a number'
    default:
      return integerMistake(field.type, value)
  }
}

function isNumber(value: OptionValue): boolean {
  return value.kind === 'number' || (value.kind === 'identifier' && /^(?:inf|nan)$/.test(value.text))
}

function integerMistake(type: string, value: OptionValue): string | null {
  const isUnsigned = type.startsWith('u') || type.startsWith('fixed')
  const [least, most] = INTEGERS[isUnsigned ? 'uint' : 'int'] ?? [0n, 0n]
  const shift = type.endsWith('32') ? 32n : 0n
  const text = value.kind === 'number' ? decimal(value.text) : ''
  const isFitting = /^-?\d+$/.test(text) && BigInt(text) >= least >> shift && BigInt(text) <= most >> shift
  return isFitting ? null : `a whole number from ${least >> shift} to ${most >> shift}`
}

export function checkJsonName(field: Field, place: string): void {
  const value = plainOption(field.options, 'json_name')
  if (value === undefined) return
  if (value.kind !== 'string' || value.text.includes('\0')) {
    throw new InvalidSchema(`${place} has the option json_name: expected a string`)
  }
  if (/^\[.*\]$/s.test(value.text)) {
    throw new InvalidSchema(`${place} has the JSON name ${JSON.stringify(value.text)}, which is kept for extensions`)
  }
}

export function checkPacked(field: Field, place: string): void {
  const value = plainOption(field.options, 'packed')
  if (value === undefined) return
  if (value.kind !== 'identifier' || !/^(?:true|false)$/.test(value.text)) {
    throw new InvalidSchema(`${place} has the option packed: expected true or false`)
  }
  const isLong = field.type === 'string' || field.type === 'bytes' || field.target?.kind === 'message'
  if (value.text === 'true' && (isLong || field.label !== 'repeated')) {
    throw new InvalidSchema(`${place} is packed, and only repeated numbers, bools and enums can be`)
  }
}
