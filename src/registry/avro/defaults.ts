// Whether the default of a field is a value of its type, as Java's Avro 1.12 decides it: the default of a union may fit
// any branch, and a default of an enum or a fixed is any string.

import { isObject, type Json, JsonNumber } from '../json-text.ts'
import { doubleText } from './java-text.ts'
import type { AvroType } from './schema-model.ts'
import { kindOf } from './words.ts'

/** Returns why the value is no default of the type, or null if it is one. */
export function checkDefault(type: AvroType, value: Json): string | null {
  switch (type.kind) {
    case 'null':
      return value === null ? null : expected('null', value)
    case 'boolean':
      return typeof value === 'boolean' ? null : expected('true or false', value)
    case 'int':
      return isIntegerOf(32, value) ? null : expected('an integer of 32 bits', value)
    case 'long':
      return isIntegerOf(64, value) ? null : expected('an integer of 64 bits', value)
    case 'float':
    case 'double':
      return value instanceof JsonNumber ? null : expected('a number', value)
    case 'string':
    case 'bytes':
    case 'enum':
    case 'fixed':
      return typeof value === 'string' ? null : expected(`a string for the ${type.kind}`, value)
    case 'array':
      if (!Array.isArray(value)) return expected('an array', value)
      return firstOf(value, item => checkDefault(type.items, item))
    case 'map':
      if (!isObject(value)) return expected('an object for the map', value)
      return firstOf(value.values(), item => checkDefault(type.values, item))
    case 'union':
      return branchOf(type.branches, value) === undefined ? expected('a value of a branch of the union', value) : null
    case 'record':
      if (!isObject(value)) return expected(`an object for the record ${type.name.full}`, value)
      if (type.fields === null) return `the record ${type.name.full} has a default within its own definition`
      return firstOf(type.fields, field => {
        const member = value.get(field.name)
        if (member !== undefined) return checkDefault(field.type, member)
        // The default of the field itself has been checked where the record is defined.
        return field.default === undefined ? `the record ${type.name.full} lacks its field "${field.name}"` : null
      })
  }
}

/** The first branch that the value is a default of. */
export function branchOf(branches: readonly AvroType[], value: Json): AvroType | undefined {
  return branches.find(branch => checkDefault(branch, value) === null)
}

/** Java also takes text as default of a float or double. Returns the number as JSON, undefined if it is no number. */
export function doubleDefault(text: string): Json | undefined {
  const trimmed = text.trim()
  if (/^[+-]?(NaN|Infinity)$/.test(trimmed)) return trimmed.replace('+', '').replace('-NaN', 'NaN')
  if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?$/.test(trimmed)) return undefined
  const value = Number(trimmed.replace(/[fFdD]$/, ''))
  return Number.isFinite(value) ? new JsonNumber(doubleText(value)) : String(value)
}

function isIntegerOf(bits: number, value: Json): boolean {
  if (!(value instanceof JsonNumber) || !value.isInteger || value.text.length > 20) return false
  const integer = BigInt(value.text)
  return BigInt.asIntN(bits, integer) === integer
}

function firstOf<Item>(items: Iterable<Item>, check: (item: Item) => string | null): string | null {
  for (const item of items) {
    const wrong = check(item)
    if (wrong !== null) return wrong
  }
  return null
}

function expected(what: string, value: Json): string {
  return `expected ${what}, not ${kindOf(value)}${value instanceof JsonNumber ? ` (${value.text.slice(0, 40)})` : ''}`
}
