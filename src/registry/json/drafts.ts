// The drafts of JSON Schema, and the keywords whose values are schemas. Not their meaning: nodes.ts and modern.ts.

import { isArray, isObject, type Json, type JsonObject } from '../json-text.ts'

/** A draft by its year of birth, so that drafts compare: draft-04, draft-06, draft-07, 2019-09, 2020-12. */
export type Draft = 4 | 6 | 7 | 2019 | 2020

/** The draft of a schema that names none, or an unknown one: Confluent's default. */
const DEFAULT_DRAFT: Draft = 7

const DRAFTS: readonly (readonly [RegExp, Draft])[] = [
  [/^https?:\/\/json-schema\.org\/draft-04\/schema#?$/, 4],
  [/^https?:\/\/json-schema\.org\/schema#?$/, 4],
  [/^https?:\/\/json-schema\.org\/draft-06\/schema#?$/, 6],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, 7],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, 2019],
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, 2020],
]

/** Returns the draft that `$schema` of the document names. */
export function draftOf(document: Json, otherwise: Draft = DEFAULT_DRAFT): Draft {
  const named = isObject(document) ? document.get('$schema') : undefined
  if (typeof named !== 'string') return otherwise
  return DRAFTS.find(([pattern]) => pattern.test(named))?.[1] ?? DEFAULT_DRAFT
}

/** How the value of a keyword holds schemas: it is one, it lists them, its members are. */
type Holds = 'schema' | 'list' | 'members'

interface Holder {
  readonly holds: readonly Holds[]
  readonly from?: Draft
  readonly to?: Draft
}

const HOLDERS: Readonly<Record<string, Holder>> = {
  properties: { holds: ['members'] },
  patternProperties: { holds: ['members'] },
  additionalProperties: { holds: ['schema'] },
  propertyNames: { holds: ['schema'], from: 6 },
  unevaluatedProperties: { holds: ['schema'], from: 2019 },
  dependencies: { holds: ['members'], to: 7 },
  dependentSchemas: { holds: ['members'], from: 2019 },
  items: { holds: ['schema', 'list'] },
  prefixItems: { holds: ['list'], from: 2020 },
  additionalItems: { holds: ['schema'], to: 2019 },
  unevaluatedItems: { holds: ['schema'], from: 2019 },
  contains: { holds: ['schema'], from: 6 },
  allOf: { holds: ['list'] },
  anyOf: { holds: ['list'] },
  oneOf: { holds: ['list'] },
  not: { holds: ['schema'] },
  if: { holds: ['schema'], from: 7 },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword, and nothing awaits this table.
  then: { holds: ['schema'], from: 7 },
  else: { holds: ['schema'], from: 7 },
  contentSchema: { holds: ['schema'], from: 2019 },
  definitions: { holds: ['members'] },
  $defs: { holds: ['members'] },
}

/** Beside a `$ref` older drafts read no other keyword; other schemas may still point to the definitions. */
const BESIDE_REF = ['definitions', '$defs']

/** Whether the draft ignores everything beside the `$ref` of this schema. */
export function isOnlyRef(schema: JsonObject, draft: Draft): boolean {
  return draft <= 7 && typeof schema.get('$ref') === 'string'
}

/** Whether a value can be a schema of this draft. Draft-04 has no boolean ones, but they are understood there too. */
export function isSchema(value: Json | undefined): value is boolean | JsonObject {
  return typeof value === 'boolean' || isObject(value)
}

/** Calls `visit` for each schema directly inside this one, with its place in it: `/properties/a`. */
export function forEachInner(
  schema: JsonObject,
  draft: Draft,
  visit: (inner: boolean | JsonObject, at: string) => void,
): void {
  const isAlone = isOnlyRef(schema, draft)
  for (const [keyword, value] of schema) {
    if (isAlone && !BESIDE_REF.includes(keyword)) continue
    const holder = Object.hasOwn(HOLDERS, keyword) ? HOLDERS[keyword] : undefined
    if (holder === undefined || draft < (holder.from ?? 0) || draft > (holder.to ?? Number.POSITIVE_INFINITY)) continue
    const { holds } = holder
    if (holds.includes('schema') && isSchema(value)) visit(value, `/${keyword}`)
    else if (holds.includes('list') && isArray(value)) {
      for (const [index, item] of value.entries()) if (isSchema(item)) visit(item, `/${keyword}/${index}`)
    } else if (holds.includes('members') && isObject(value)) {
      for (const [name, member] of value) if (isSchema(member)) visit(member, `/${keyword}/${escaped(name)}`)
    }
  }
}

/** A name as a part of a JSON pointer (RFC 6901). */
export function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
