// JSON text as Java's Jackson writes it, to the character: numbers, escapes, members. The canonical text of a schema
// decides whether two schemas are the same, therefore it must be the text that other registries keep.

import { type Json, JsonNumber } from '../json-text.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters.
const ESCAPED = /["\\\u0000-\u001f]/g
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** A JSON string. Characters beyond ASCII stay as they are, lone surrogates too. */
export function quoted(text: string): string {
  return `"${text.replace(
    ESCAPED,
    character => SHORT[character] ?? `\\u00${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )}"`
}

/** `sorted`: members of objects stand in the order of their names. */
export function jsonOf(value: Json, order: 'as read' | 'sorted' = 'as read'): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quoted(value)
  if (value instanceof JsonNumber) return numberOf(value)
  if (Array.isArray(value)) return `[${value.map(item => jsonOf(item, order)).join(',')}]`
  const members = [...(value as ReadonlyMap<string, Json>)]
  if (order === 'sorted') members.sort(byName)
  return `{${members.map(([name, member]) => `${quoted(name)}:${jsonOf(member, order)}`).join(',')}}`
}

/** The order of Java's String.compareTo: by UTF-16 units. */
export const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : one > other ? 1 : 0

function numberOf(number: JsonNumber): string {
  if (number.isInteger) return number.text === '-0' ? '0' : number.text
  return doubleText(Number(number.text))
}

/** Java's Double.toString, in the quotes that Jackson adds to what JSON has no number for. */
export function doubleText(value: number): string {
  return javaText(value, value.toExponential())
}

/** Java's Float.toString of a value that a float can hold. */
export function floatText(value: number): string {
  for (let digits = 1; digits < 9 && Number.isFinite(value); digits++) {
    const text = value.toExponential(digits - 1)
    if (Math.fround(Number(text)) === value) return javaText(value, text)
  }
  return javaText(value, value.toExponential(8))
}

/** `exponential` has the shortest digits that mean the value, such as `1.25e-7`. */
function javaText(value: number, exponential: string): string {
  if (!Number.isFinite(value)) return `"${value}"`
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const at = exponential.indexOf('e')
  const sign = value < 0 ? '-' : ''
  const digits = exponential.slice(0, at).replace(/[-.]/g, '')
  const exponent = Number(exponential.slice(at + 1))
  if (exponent < -3 || exponent >= 7) return `${sign}${digits[0]}.${digits.slice(1) || '0'}E${exponent}`
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}
