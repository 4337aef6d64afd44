// Words about schemas that the broker, the command line and the console share.

import type { SchemaTypeName } from './words.ts'

/** The paths of the root: in Avro, JSON Schema and Protobuf. */
const ROOTS: readonly string[] = ['', '/', '#', '#/']

/** Returns the place of a reason in words: a path that is only a slash says nothing to a person. */
export function placeInWords(path: string): string {
  return ROOTS.includes(path) ? 'the root of the schema' : path
}

/** Comments and the first words of a file. */
const PROTOBUF = /^\s*(?:\/\/|\/\*|(?:syntax|edition|package|import|option|message|enum)\b)/
/** JSON Schema has these, and Avro has not. */
const OF_JSON_SCHEMA = ['$schema', '$id', '$ref', '$defs', 'properties', 'anyOf', 'oneOf', 'allOf']
const JSON_TYPES: readonly unknown[] = ['object', 'integer', 'number']

/**
 * Returns the type that a text looks like; null if it gives no sign of another one than `type`. Only of a text that was
 * refused: the names of Avro's types may be those of JSON Schema.
 */
export function likelierType(text: string, type: SchemaTypeName): SchemaTypeName | null {
  const found = PROTOBUF.test(text) ? 'PROTOBUF' : typeOfJson(text)
  return found === type ? null : found
}

function typeOfJson(text: string): SchemaTypeName | null {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    // The refusal itself says that it is no JSON.
    return null
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return null
  const isJsonSchema = OF_JSON_SCHEMA.some(name => Object.hasOwn(found, name))
  const { type, fields } = found as { readonly type?: unknown; readonly fields?: unknown }
  if (isJsonSchema || JSON_TYPES.includes(type)) return 'JSON'
  return type === 'record' || fields !== undefined ? 'AVRO' : null
}
