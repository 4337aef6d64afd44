// The rules that only new schemas have to hold: a schema is valid against the schema of its draft,
// its references lead somewhere, its patterns are regular expressions, and it says something about each value in the
// end. Stored schemas are not checked again.

import { InvalidSchema } from '../format.ts'
import { isArray, isObject, type JsonObject } from '../json-text.ts'
import type { Documents, Place } from './documents.ts'
import { isOnlyRef, isSchema } from './drafts.ts'
import { plain } from './json-values.ts'
import { checkAgainstDraft } from './meta-schemas.ts'
import { patternOf } from './patterns.ts'

/** Throws InvalidSchema. */
export function checkSchema(documents: Documents): void {
  const { root } = documents
  if (isObject(root.value)) checkAgainstDraft(plain(root.value), root.resource.draft)
  for (const place of documents.all()) {
    documents.requireTarget(place)
    checkPatterns(place)
  }
  checkEnds(documents)
}

function checkPatterns({ value, name }: Place): void {
  if (!isObject(value)) return
  const pattern = value.get('pattern')
  const patterns = value.get('patternProperties')
  const all = [...(isObject(patterns) ? patterns.keys() : []), ...(typeof pattern === 'string' ? [pattern] : [])]
  for (const text of all) {
    if (patternOf(text) !== null) continue
    throw new InvalidSchema(`${name}: "${text}" is no regular expression (ECMA-262)`)
  }
}

/**
 * Refuses schemas that lead to themselves without a step into the value, as `{"$ref": "#"}` does: no validator comes to
 * an end there. A search of the graph whose edges are references and keywords that judge the same value.
 */
function checkEnds(documents: Documents): void {
  const finished = new Set<JsonObject>()
  const open = new Set<JsonObject>()
  for (const start of [...documents.all()]) {
    const stack: { readonly place: Place; readonly next: Iterator<Place> }[] = []
    const enter = (place: Place) => {
      const { value } = place
      if (typeof value === 'boolean' || finished.has(value)) return
      if (open.has(value)) throw new InvalidSchema(`${place.name}: the schema refers to itself without an end`)
      open.add(value)
      stack.push({ place, next: sameValue(documents, place).values() })
    }
    enter(start)
    while (stack.length > 0) {
      const { place, next } = stack.at(-1)!
      const { value, done } = next.next()
      if (!done) enter(value)
      else {
        stack.pop()
        open.delete(place.value as JsonObject)
        finished.add(place.value as JsonObject)
      }
    }
  }
}

/** The schemas that judge the same value as this one. */
function sameValue(documents: Documents, place: Place): Place[] {
  const schema = place.value as JsonObject
  const target = documents.requireTarget(place)
  const all = target === null ? [] : [target]
  if (isOnlyRef(schema, place.resource.draft)) return all
  for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']) {
    const value = schema.get(keyword)
    const inner = isArray(value) ? value : [value]
    for (const [at, item] of inner.entries()) {
      if (isSchema(item)) all.push(documents.inner(item, place, `/${keyword}/${at}`))
    }
  }
  return all
}
