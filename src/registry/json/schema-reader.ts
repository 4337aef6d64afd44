// Reads the keywords of one schema into nodes: one for each kind of values that they are about.

import { isArray, isObject, type Json, JsonNumber, type JsonObject } from '../json-text.ts'
import type { Documents, Place } from './documents.ts'
import { isSchema } from './drafts.ts'
import { digestOf, keyOfJson } from './json-values.ts'
import type { ArrayNode, Common, Node, NumberNode, ObjectNode, Part, Rest, StringNode } from './nodes.ts'
import { patternOf } from './patterns.ts'

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'] as const
type Type = (typeof TYPES)[number]

const OBJECT_KEYWORDS = ['properties', 'required', 'minProperties', 'maxProperties', 'patternProperties']
const ARRAY_KEYWORDS = ['items', 'minItems', 'maxItems', 'uniqueItems']
const NUMBER_KEYWORDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const STRING_KEYWORDS = ['minLength', 'maxLength', 'pattern']

/** Reads the keywords of one schema. A keyword whose value makes no sense counts as absent: old schemas may have it. */
export class SchemaReader {
  readonly #schema: JsonObject
  readonly #place: Place
  readonly #documents: Documents
  readonly #partAt: (place: Place) => Part
  readonly #used = new Set<string>()
  readonly common: Common

  constructor(schema: JsonObject, place: Place, documents: Documents, partAt: (place: Place) => Part) {
    this.#schema = schema
    this.#place = place
    this.#documents = documents
    this.#partAt = partAt
    this.common = { isConnectBytes: schema.get('connect.type') === 'bytes' }
  }

  get #draft() {
    return this.#place.resource.draft
  }

  /** Equal keys mean equal texts. */
  get key(): string {
    return digestOf(this.#schema)
  }

  /** Where its reference leads, if it has one. */
  target(): Place | null {
    return this.#documents.targetOf(this.#place)
  }

  /** A node for each kind of keywords. */
  read(): Node[] {
    this.#used.clear()
    const nodes: Node[] = []
    const values = this.#schema.get('enum')
    if (isArray(values)) nodes.push({ kind: 'enum', values: new Set(values.map(keyOfJson)), ...this.common })
    for (const criterion of ['allOf', 'anyOf', 'oneOf'] as const) {
      const members = this.#list(criterion)
      if (members !== null) nodes.push({ kind: 'combined', criterion, members, ...this.common })
    }
    const not = this.#part('not')
    if (not !== null) nodes.push({ kind: 'not', inner: not, ...this.common })
    const only = this.#schema.get('const')
    if (only !== undefined && this.#draft > 4) {
      nodes.push({ kind: 'const', values: new Set([keyOfJson(only)]), ...this.common })
    }
    nodes.push(...this.#typed(), ...this.#untyped())
    return nodes
  }

  #typed(): Node[] {
    const type = this.#schema.get('type')
    if (isType(type)) return [this.#ofType(type)]
    if (!isArray(type)) return []
    const members = type.filter(isType).map(type => part(this.#ofType(type), `${type} ${this.key}`))
    return [{ kind: 'combined', criterion: 'anyOf', members, ...this.common }]
  }

  #ofType(type: Type): Node {
    switch (type) {
      case 'string':
        return this.#string()
      case 'number':
        return this.#number(false)
      case 'integer':
        return this.#number(true)
      case 'array':
        return this.#array()
      case 'object':
        return this.#object()
      default:
        return { kind: type, ...this.common }
    }
  }

  /** Keywords of other kinds than those that `type` names, or of all kinds without `type`. */
  #untyped(): Node[] {
    const nodes: Node[] = []
    if (this.#has([...ARRAY_KEYWORDS, ...this.#arrayKeywords()])) nodes.push(this.#array())
    if (this.#has([...OBJECT_KEYWORDS, ...this.#objectKeywords()])) nodes.push(this.#object())
    if (this.#has(NUMBER_KEYWORDS)) nodes.push(this.#number(false))
    if (this.#has(STRING_KEYWORDS)) nodes.push(this.#string())
    if (this.#draft >= 7 && this.#has(['if', 'then', 'else'])) nodes.push({ kind: 'conditional', ...this.common })
    return nodes
  }

  #objectKeywords(): string[] {
    const keywords = ['additionalProperties']
    if (this.#draft >= 6) keywords.push('propertyNames')
    if (this.#draft >= 2019) keywords.push('dependentRequired', 'dependentSchemas', 'unevaluatedProperties')
    else keywords.push('dependencies')
    return keywords
  }

  #arrayKeywords(): string[] {
    const keywords = this.#draft >= 2020 ? ['prefixItems'] : ['additionalItems']
    if (this.#draft >= 6) keywords.push('contains')
    if (this.#draft >= 2019) keywords.push('unevaluatedItems')
    return keywords
  }

  #has(keywords: readonly string[]): boolean {
    return keywords.some(keyword => this.#schema.has(keyword) && !this.#used.has(keyword))
  }

  #string(): StringNode {
    this.#use(STRING_KEYWORDS)
    const pattern = this.#schema.get('pattern')
    return {
      kind: 'string',
      maxLength: this.#value('maxLength'),
      minLength: this.#value('minLength'),
      pattern: typeof pattern === 'string' ? pattern : null,
      ...this.common,
    }
  }

  #number(isInteger: boolean): NumberNode {
    this.#use(NUMBER_KEYWORDS)
    const maximum = this.#value('maximum')
    const minimum = this.#value('minimum')
    const multipleOf = this.#schema.get('multipleOf')
    // In draft-04 it is a boolean beside the limit.
    const exclusive = (keyword: string, limit: number | null) =>
      this.#schema.get(keyword) === true ? limit : this.#value(keyword)
    return {
      kind: 'number',
      maximum,
      minimum,
      exclusiveMaximum: exclusive('exclusiveMaximum', maximum),
      exclusiveMinimum: exclusive('exclusiveMinimum', minimum),
      multipleOf: multipleOf instanceof JsonNumber ? multipleOf.text : null,
      isInteger,
      ...this.common,
    }
  }

  #object(): ObjectNode {
    this.#use([...OBJECT_KEYWORDS, ...this.#objectKeywords()])
    const required = this.#schema.get('required')
    const dependencies = this.#schema.get(this.#draft >= 2019 ? 'dependentRequired' : 'dependencies')
    const dependentRequired = new Map<string, ReadonlySet<string>>()
    for (const [name, names] of isObject(dependencies) ? dependencies : []) {
      if (isArray(names)) dependentRequired.set(name, strings(names))
    }
    return {
      kind: 'object',
      properties: this.#members('properties'),
      patterns: [...this.#members('patternProperties')].flatMap(([pattern, part]) => {
        const compiled = patternOf(pattern)
        return compiled === null ? [] : [[compiled, part] as const]
      }),
      required: strings(isArray(required) ? required : []),
      additional: this.#rest('additionalProperties'),
      unevaluated: this.#draft >= 2019 ? this.#part('unevaluatedProperties') : null,
      dependentRequired,
      dependentSchemas: this.#members(this.#draft >= 2019 ? 'dependentSchemas' : 'dependencies'),
      maxProperties: this.#value('maxProperties'),
      minProperties: this.#value('minProperties'),
      ...this.common,
    }
  }

  #array(): ArrayNode {
    this.#use([...ARRAY_KEYWORDS, ...this.#arrayKeywords()])
    const isModern = this.#draft >= 2020
    const tuple = (isModern ? this.#list('prefixItems') : null) ?? this.#list('items') ?? []
    const items = this.#part('items')
    const after = this.#rest(isModern ? 'items' : 'additionalItems')
    // `additionalItems` says nothing beside one schema for all items, and `items: false` is a limit of the length.
    const isOne = items !== null && (isModern ? tuple.length === 0 && after !== false : true)
    const contains = this.#draft >= 2019 && this.#schema.has('contains')
    return {
      kind: 'array',
      items: isOne && !(isModern && this.#schema.get('items') === true) ? items : null,
      tuple,
      additional: isOne ? null : after,
      unevaluated: this.#draft >= 2019 ? this.#part('unevaluatedItems') : null,
      maxItems: this.#value('maxItems'),
      minItems: this.#value('minItems'),
      maxContains: contains || this.#draft < 2019 ? this.#value('maxContains') : null,
      minContains: contains
        ? (this.#value('minContains') ?? 1)
        : this.#draft < 2019
          ? this.#value('minContains')
          : null,
      isUnique: this.#schema.get('uniqueItems') === true,
      ...this.common,
    }
  }

  #use(keywords: readonly string[]): void {
    for (const keyword of keywords) this.#used.add(keyword)
  }

  #value(keyword: string): number | null {
    const value = this.#schema.get(keyword)
    return value instanceof JsonNumber ? value.value : null
  }

  #rest(keyword: string): Rest {
    const value = this.#schema.get(keyword)
    if (value === false) return false
    return isObject(value) ? this.#part(keyword) : null
  }

  #part(keyword: string): Part | null {
    const value = this.#schema.get(keyword)
    return isSchema(value) ? this.#partOf(value, `/${keyword}`) : null
  }

  #list(keyword: string): readonly Part[] | null {
    const value = this.#schema.get(keyword)
    return isArray(value) ? value.filter(isSchema).map((item, at) => this.#partOf(item, `/${keyword}/${at}`)) : null
  }

  #members(keyword: string): ReadonlyMap<string, Part> {
    const parts = new Map<string, Part>()
    const value = this.#schema.get(keyword)
    for (const [name, member] of isObject(value) ? value : []) {
      if (isSchema(member)) parts.set(name, this.#partOf(member, `/${keyword}/${name}`))
    }
    return parts
  }

  #partOf(value: boolean | JsonObject, at: string): Part {
    return this.#partAt(this.#documents.inner(value, this.#place, at))
  }
}

function isType(value: Json | undefined): value is Type {
  return typeof value === 'string' && (TYPES as readonly string[]).includes(value)
}

function strings(values: readonly Json[]): Set<string> {
  return new Set(values.filter(value => typeof value === 'string'))
}

/** A part that is not written as a schema of its own. */
export function part(node: Node, key: string): Part {
  return { node, key, isRef: false, hasDefault: false }
}
