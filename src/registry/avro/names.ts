// Names of types, fields and symbols (Avro 1.12 specification, "Names").

import { InvalidSchema, type Strictness } from '../format.ts'
import type { Name } from './schema-model.ts'
import { clipped } from './words.ts'

const PART = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Splits a name that may have dots; a namespace in it beats `space`. */
export function nameFrom(text: string, space: string): Name {
  const dot = text.lastIndexOf('.')
  const name = text.slice(dot + 1)
  const own = dot < 0 ? space : text.slice(0, dot)
  return { name, space: own, full: own === '' ? name : `${own}.${name}` }
}

/** Throws InvalidSchema if a new schema may not use the name. */
export function checkPart(text: string, what: string, strictness: Strictness): void {
  if (strictness === 'stored' || PART.test(text)) return
  throw new InvalidSchema(
    `${clipped(what)} ${JSON.stringify(clipped(text))}: a name has letters A-Z, a-z, digits and _, no digit first`,
  )
}

export function checkName({ name, space }: Name, what: string, strictness: Strictness): void {
  checkPart(name, what, strictness)
  if (space !== '') for (const part of space.split('.')) checkPart(part, `${what} ${name}: namespace`, strictness)
}

/** Words that mean a type in a schema. A name that is one of them is always written with its namespace. */
const WORDS: ReadonlySet<string> = new Set([
  ...['record', 'enum', 'array', 'map', 'union', 'fixed', 'string', 'bytes'],
  ...['int', 'long', 'float', 'double', 'boolean', 'null'],
])

/** The name as it is written within `space`. */
export function shortName(name: Name, space: string): string {
  return name.space !== '' && name.space === space && !WORDS.has(name.name) ? name.name : name.full
}
