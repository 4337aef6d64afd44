// Words of messages about schemas and values.

import { type Json, JsonNumber } from '../json-text.ts'

/** Text of others for a message: its beginning, if it is long. */
export const clipped = (text: string, most = 200): string => (text.length > most ? `${text.slice(0, most)}…` : text)

/** A word for people: what a value is. */
export function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return 'a string'
  if (value instanceof JsonNumber) return 'a number'
  return Array.isArray(value) ? 'an array' : 'an object'
}
