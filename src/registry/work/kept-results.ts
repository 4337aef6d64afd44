// The results of work on schemas that are kept: their keys, and about how many bytes they take.

import { createHash } from 'node:crypto'
import type { Difference, SchemaText, SchemaType } from '../format.ts'
import type { Examined } from './schema-call.ts'
import { isUnusable, type Unusable } from './unusable.ts'

/** Returns the key of a schema with all that it refers to. */
export function keyOf(type: SchemaType, { text, dependencies }: SchemaText): string {
  const hash = createHash('sha256').update(`${type} ${dependencies.length}\n`)
  for (const part of [text, ...dependencies.flatMap(each => [each.name, each.text])])
    hash.update(`${part.length}\n`).update(part)
  return hash.digest('base64url')
}

/** Returns the characters of a schema with all that it refers to. */
export const sizeOf = ({ text, dependencies }: SchemaText) =>
  dependencies.reduce((sum, each) => sum + each.text.length, text.length)

/** Texts that are equal share their memory. */
export function shared({ canonical, normalized, inlined, recordNames }: Examined): Examined {
  return {
    canonical,
    normalized: normalized === canonical ? canonical : normalized,
    inlined: inlined === canonical ? canonical : inlined,
    recordNames,
  }
}

export function examinedBytes(examined: Examined | Unusable): number {
  if (isUnusable(examined)) return 300 + 2 * examined.why.length
  const { canonical, normalized, inlined, recordNames } = examined
  const texts = new Set([canonical, normalized, inlined, ...recordNames])
  return [...texts].reduce((sum, text) => sum + 100 + 2 * text.length, 300)
}

export function comparedBytes(compared: readonly Difference[] | Unusable): number {
  if (isUnusable(compared)) return 300 + 2 * compared.why.length
  return compared.reduce((sum, { path, description }) => sum + 300 + 2 * (path.length + description.length), 200)
}
