// Values of JSON as schemas are made of them: written, compared by name, and made plain for ajv.

import { hash } from 'node:crypto'
import { isArray, isObject, type Json, JsonNumber } from '../json-text.ts'

/** Returns the text without white space. With `isSorted`, the members are in the order of their names. */
export function writeJson(value: Json, isSorted = false): string {
  const parts: string[] = []
  write(value, isSorted, parts)
  return parts.join('')
}

/** Decimal numbers of 15 digits are all different doubles. */
const EXACT_DIGITS = 15

/** Returns a text that is the same for equal values: sorted, and with each number in one form. */
export function keyOfJson(value: Json): string {
  if (value instanceof JsonNumber) return value.text.length <= EXACT_DIGITS ? String(value.value) : value.text
  if (isArray(value)) return `[${value.map(keyOfJson).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const names = [...value.keys()].sort()
  return `{${names.map(name => `${JSON.stringify(name)}:${keyOfJson(value.get(name)!)}`).join()}}`
}

const digests = new WeakMap<object, string>()

/** Returns a short name that is the same for equal values, and for no others. It costs time only once for a value. */
export function digestOf(value: Json): string {
  if (!isArray(value) && !isObject(value)) return keyOfJson(value)
  const known = digests.get(value)
  if (known !== undefined) return known
  const inside = isArray(value)
    ? value.map(digestOf)
    : [...value.keys()].sort().map(name => `${JSON.stringify(name)}:${digestOf(value.get(name)!)}`)
  const digest = hash('sha256', `${isArray(value) ? 'array' : 'object'} ${inside.join()}`, 'base64')
  digests.set(value, digest)
  return digest
}

/** Returns the value as JSON.parse would: numbers become doubles. */
export function plain(value: Json): unknown {
  if (value instanceof JsonNumber) return value.value
  if (isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const object: Record<string, unknown> = {}
  for (const [name, member] of value) define(object, name, plain(member))
  return object
}

/** Sets a member of any name: an assignment to `__proto__` would change the prototype instead. */
export function define(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

function write(value: Json, isSorted: boolean, parts: string[]): void {
  if (value instanceof JsonNumber) parts.push(value.text)
  else if (isArray(value)) {
    let before = '['
    for (const item of value) {
      parts.push(before)
      write(item, isSorted, parts)
      before = ','
    }
    parts.push(value.length === 0 ? '[]' : ']')
  } else if (isObject(value)) {
    let before = '{'
    const names = isSorted ? [...value.keys()].sort() : value.keys()
    for (const name of names) {
      parts.push(before, JSON.stringify(name), ':')
      write(value.get(name)!, isSorted, parts)
      before = ','
    }
    parts.push(value.size === 0 ? '{}' : '}')
  } else parts.push(JSON.stringify(value))
}
