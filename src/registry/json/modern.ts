// A schema of any draft, with all that it refers to, as one schema of draft 2020-12 for the validators. Only keywords
// that judge values are in it, each with the meaning that its own draft gives it. So the validators know one draft, and
// resolve nothing: a schema that is referred to stands under `$defs` and is named by its number.

import { isArray, isObject, type Json, JsonNumber, type JsonObject } from '../json-text.ts'
import type { Documents, Place } from './documents.ts'
import { type Draft, isOnlyRef, isSchema } from './drafts.ts'
import { define, plain } from './json-values.ts'
import { cutWide } from './wide.ts'

/** Plain data: the text of the schema for the validators, and the key by which they remember it. */
export interface JsonProgram {
  readonly text: string
}

type Plain = Record<string, unknown>

/** The keyword of an enumeration for which a comparison with one value after the other takes too long. */
export const LONG_ENUM = 'x-enum'
const LONGEST_ENUM = 32

export function programOf(documents: Documents): JsonProgram {
  const targets = new Map<JsonObject, Target>()
  // The first run only finds out which schemas are referred to, so that the second one writes each of them once.
  new Writer(documents, targets).write()
  return { text: JSON.stringify(new Writer(documents, targets).write()) }
}

interface Target {
  readonly place: Place
  readonly number: number
}

class Writer {
  readonly #documents: Documents
  readonly #targets: Map<JsonObject, Target>
  readonly #definitions: Plain = {}
  #pieces = 0

  constructor(documents: Documents, targets: Map<JsonObject, Target>) {
    this.#documents = documents
    this.#targets = targets
  }

  write(): unknown {
    const { root } = this.#documents
    if (typeof root.value === 'boolean') return root.value
    const body = this.#inner(root.value, root, '') as Plain
    // It grows while it is read.
    for (const { place, number } of this.#targets.values()) this.#definitions[number] = this.#body(place)
    return Object.keys(this.#definitions).length === 0 ? body : { ...body, $defs: this.#definitions }
  }

  #inner(value: boolean | JsonObject, place: Place, at: string): unknown {
    if (typeof value === 'boolean') return value
    const inner = this.#documents.inner(value, place, at)
    return this.#targets.has(value) ? this.#reference(inner) : this.#body(inner)
  }

  #reference(place: Place): unknown {
    if (typeof place.value === 'boolean') return place.value
    const number = this.#targets.get(place.value)?.number ?? this.#targets.size
    if (number === this.#targets.size) this.#targets.set(place.value, { place, number })
    return { $ref: `#/$defs/${number}` }
  }

  #body(place: Place): Plain {
    const schema = place.value as JsonObject
    const { draft } = place.resource
    const body: Plain = {}
    const target = this.#documents.targetOf(place)
    if (target !== null) {
      const reference = this.#reference(target)
      if (typeof reference === 'boolean') body.allOf = [reference]
      else Object.assign(body, reference)
    }
    if (isOnlyRef(schema, draft)) return body
    for (const [keyword, value] of schema) {
      const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword]! : undefined
      if (rule === undefined || draft < (rule.from ?? 0) || draft > (rule.to ?? 2020)) continue
      const written = this.#value(rule.as, value, place, keyword)
      if (written === undefined) continue
      if (keyword === 'allOf' && body.allOf !== undefined) (body.allOf as unknown[]).push(...(written as unknown[]))
      else body[keyword] = written
    }
    this.#items(body, schema, place)
    values(body, schema)
    prototype(body)
    if (draft === 4) exclusive(body, schema)
    if (draft <= 7) this.#dependencies(body, schema, place)
    cutWide(body, piece => this.#define(piece))
    return body
  }

  /** Keeps a piece of a schema as one that can be referred to. A piece may be too wide itself. */
  #define(piece: Plain): Plain {
    cutWide(piece, inner => this.#define(inner))
    const name = `piece-${this.#pieces++}`
    this.#definitions[name] = piece
    return { $ref: `#/$defs/${name}` }
  }

  #value(as: Rule['as'], value: Json, place: Place, keyword: string): unknown {
    switch (as) {
      case 'number':
        return value instanceof JsonNumber && Number.isFinite(value.value) ? value.value : undefined
      case 'count':
        return value instanceof JsonNumber && value.value >= 0 ? Math.ceil(value.value) : undefined
      case 'multiple':
        return value instanceof JsonNumber && value.value > 0 ? value.value : undefined
      case 'boolean':
        return typeof value === 'boolean' ? value : undefined
      case 'string':
        return typeof value === 'string' ? value : undefined
      case 'any':
        return plain(value)
      case 'type':
        return typesOf(value)
      case 'names':
        return isArray(value) ? namesIn(value) : undefined
      case 'lists':
        return isObject(value) ? this.#map(value, names => (isArray(names) ? namesIn(names) : undefined)) : undefined
      case 'schema':
        return isSchema(value) ? this.#inner(value, place, `/${keyword}`) : undefined
      case 'schemas':
        return this.#schemas(value, place, keyword)
      case 'members':
        return isObject(value)
          ? this.#map(value, (inner, name) =>
              isSchema(inner) ? this.#inner(inner, place, `/${keyword}/${name}`) : undefined,
            )
          : undefined
    }
  }

  #schemas(value: Json, place: Place, keyword: string): unknown[] | undefined {
    if (!isArray(value)) return undefined
    const all = value.filter(isSchema).map((inner, at) => this.#inner(inner, place, `/${keyword}/${at}`))
    return all.length === 0 ? undefined : all
  }

  #map(value: JsonObject, write: (member: Json, name: string) => unknown): Plain {
    const written: Plain = {}
    for (const [name, member] of value) {
      const one = write(member, name)
      if (one !== undefined) define(written, name, one)
    }
    return written
  }

  /** Until 2019-09 `items` also was what `prefixItems` is, and `additionalItems` what `items` is. */
  #items(body: Plain, schema: JsonObject, place: Place): void {
    const items = schema.get('items')
    if (!isArray(items)) {
      if (isSchema(items)) body.items = this.#inner(items, place, '/items')
      return
    }
    if (place.resource.draft >= 2020) return
    const prefix = this.#schemas(items, place, 'items')
    const rest = schema.get('additionalItems')
    if (prefix !== undefined) body.prefixItems = prefix
    if (isSchema(rest)) body.items = this.#inner(rest, place, '/additionalItems')
  }

  #dependencies(body: Plain, schema: JsonObject, place: Place): void {
    const dependencies = schema.get('dependencies')
    if (!isObject(dependencies)) return
    body.dependentRequired = this.#map(dependencies, names => (isArray(names) ? namesIn(names) : undefined))
    body.dependentSchemas = this.#map(dependencies, (inner, name) =>
      isSchema(inner) ? this.#inner(inner, place, `/dependencies/${name}`) : undefined,
    )
  }
}

interface Rule {
  readonly as:
    | 'number'
    | 'count'
    | 'multiple'
    | 'boolean'
    | 'string'
    | 'any'
    | 'type'
    | 'names'
    | 'lists'
    | 'schema'
    | 'schemas'
    | 'members'
  readonly from?: Draft
  readonly to?: Draft
}

const RULES: Readonly<Record<string, Rule>> = {
  type: { as: 'type' },
  const: { as: 'any', from: 6 },
  multipleOf: { as: 'multiple' },
  maximum: { as: 'number' },
  minimum: { as: 'number' },
  exclusiveMaximum: { as: 'number', from: 6 },
  exclusiveMinimum: { as: 'number', from: 6 },
  maxLength: { as: 'count' },
  minLength: { as: 'count' },
  pattern: { as: 'string' },
  maxItems: { as: 'count' },
  minItems: { as: 'count' },
  uniqueItems: { as: 'boolean' },
  contains: { as: 'schema', from: 6 },
  maxContains: { as: 'count', from: 2019 },
  minContains: { as: 'count', from: 2019 },
  prefixItems: { as: 'schemas', from: 2020 },
  unevaluatedItems: { as: 'schema', from: 2019 },
  maxProperties: { as: 'count' },
  minProperties: { as: 'count' },
  required: { as: 'names' },
  properties: { as: 'members' },
  patternProperties: { as: 'members' },
  additionalProperties: { as: 'schema' },
  propertyNames: { as: 'schema', from: 6 },
  unevaluatedProperties: { as: 'schema', from: 2019 },
  dependentRequired: { as: 'lists', from: 2019 },
  dependentSchemas: { as: 'members', from: 2019 },
  allOf: { as: 'schemas' },
  anyOf: { as: 'schemas' },
  oneOf: { as: 'schemas' },
  not: { as: 'schema' },
  if: { as: 'schema', from: 7 },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword, and nothing awaits this table.
  then: { as: 'schema', from: 7 },
  else: { as: 'schema', from: 7 },
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']

function typesOf(value: Json): unknown {
  const known = (Array.isArray(value) ? value : [value]).filter(type => TYPES.includes(type as string))
  return known.length === 0 ? undefined : known.length === 1 ? known[0] : [...new Set(known)]
}

function namesIn(values: readonly Json[]): string[] {
  return [...new Set(values.filter(value => typeof value === 'string'))]
}

/** ajv overlooks the property `__proto__`, but not a pattern that means it. */
function prototype(body: Plain): void {
  const properties = body.properties as Plain | undefined
  if (properties === undefined || !Object.hasOwn(properties, '__proto__')) return
  const { value } = Object.getOwnPropertyDescriptor(properties, '__proto__')!
  // biome-ignore lint/complexity/useLiteralKeys: it is the member, and not the accessor.
  // biome-ignore lint/suspicious/noProto: it is the member, and not the accessor.
  delete properties['__proto__']
  body.patternProperties = { ...(body.patternProperties as Plain | undefined), '^__proto__$': value }
}

function values(body: Plain, schema: JsonObject): void {
  const allowed = schema.get('enum')
  if (!isArray(allowed)) return
  if (allowed.length === 0) body.not = {}
  else body[allowed.length <= LONGEST_ENUM ? 'enum' : LONG_ENUM] = plain(allowed)
}

/** In draft-04 the exclusive limits are booleans beside the limits. */
function exclusive(body: Plain, schema: JsonObject): void {
  for (const [limit, keyword] of [
    ['maximum', 'exclusiveMaximum'],
    ['minimum', 'exclusiveMinimum'],
  ] as const) {
    if (schema.get(keyword) === true && body[limit] !== undefined) {
      body[keyword] = body[limit]
      delete body[limit]
    }
  }
}
