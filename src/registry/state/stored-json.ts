// The form of what the registry keeps in a field of a document: JSON of an object that names its format. A field of
// another form is an unreadable document (decision 0041), never an absent one.

import { type Document, UnreadableDocument } from '../../store/store.ts'
import type { JsonObject } from './content.ts'

/** The version of the form of all documents of the registry. */
const FORMAT = 1

export function bytesOfJson(value: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...value }))
}

/**
 * Returns what `read` makes of the field. `what` names the document for people. Throws UnreadableDocument if the field
 * is absent or has another form, or if `read` throws.
 */
export function readJson<T>(document: Document, field: string, what: string, read: (value: JsonObject) => T): T {
  try {
    const bytes = document.fields.get(field)
    if (bytes === undefined) throw new Error(`it has no field ${JSON.stringify(field)}`)
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    if (!isObject(value)) throw new Error(`its field ${JSON.stringify(field)} is no object`)
    if (value.format !== FORMAT)
      throw new Error(`its format is ${JSON.stringify(value.format)}, and this version reads ${FORMAT}`)
    return read(value)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UnreadableDocument(`The document of ${what} cannot be read: ${why}.`, { cause: error })
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value. Throws if it is no integer from `least` on that is below 2^31. */
export function countOf(value: unknown, what: string, least = 1): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) < 2 ** 31) return value as number
  throw new Error(`its ${what} is ${JSON.stringify(value)}`)
}

/** Returns the value. Throws if it is no text. */
export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new Error(`its ${what} is no text`)
}
