// The nodes of a schema. They are made when they are first asked for, so a schema that refers to itself is no special
// case. Schemas that are written alike share a node, so they are compared once.

import type { JsonObject } from '../json-text.ts'
import type { Documents, Place } from './documents.ts'
import { isOnlyRef } from './drafts.ts'
import { digestOf } from './json-values.ts'
import type { Node, Part } from './nodes.ts'
import { part, SchemaReader } from './schema-reader.ts'

export class Nodes {
  readonly #documents: Documents
  /** By resource, because equal texts in two of them may refer to different schemas, and by the digest of the text. */
  readonly #parts = new Map<Place['resource'], Map<string, Part>>()
  readonly #true = part({ kind: 'any', isConnectBytes: false }, 'true')
  readonly #false = part({ kind: 'false', isConnectBytes: false }, 'false')
  readonly root: Part

  constructor(documents: Documents) {
    this.#documents = documents
    this.root = this.#partAt(documents.root)
  }

  #partAt(place: Place): Part {
    const { value } = place
    if (typeof value === 'boolean') return value ? this.#true : this.#false
    const parts = this.#parts.get(place.resource) ?? new Map<string, Part>()
    this.#parts.set(place.resource, parts)
    const key = digestOf(value)
    const known = parts.get(key)
    if (known !== undefined) return known
    const made = new LazyPart(value, key, () => this.#make(value, place))
    parts.set(key, made)
    return made
  }

  #make(schema: JsonObject, place: Place): Made {
    const reader = new SchemaReader(schema, place, this.#documents, place => this.#partAt(place))
    const target = reader.target()
    const nodes = target !== null && isOnlyRef(schema, place.resource.draft) ? [] : reader.read()
    if (target === null && nodes.length === 1) return { node: nodes[0]!, isRef: false }
    const common = reader.common
    if (target === null && nodes.length === 0) return { node: { kind: 'any', ...common }, isRef: false }
    if (nodes.length === 0) return { node: this.#follow(target!), isRef: true }
    const own = nodes.map((node, at) => part(node, `${at} ${reader.key}`))
    const members = target === null ? own : [this.#partAt(target), ...own]
    return { node: { kind: 'combined', criterion: 'allOf', members, ...common }, isRef: false }
  }

  /** The node where a chain of references ends. A reference that leads back to itself allows anything. */
  #follow(target: Place): Node {
    const seen = new Set<JsonObject>()
    for (let place = target; ; ) {
      const { value } = place
      if (typeof value === 'boolean') return this.#partAt(place).node
      if (seen.has(value)) return this.#true.node
      seen.add(value)
      const reader = new SchemaReader(value, place, this.#documents, place => this.#partAt(place))
      const next = reader.target()
      if (next === null) return this.#partAt(place).node
      if (!isOnlyRef(value, place.resource.draft) && reader.read().length > 0) return this.#partAt(place).node
      place = next
    }
  }
}

interface Made {
  readonly node: Node
  readonly isRef: boolean
}

/** A part whose node is made when it is first asked for. */
class LazyPart implements Part {
  readonly #schema: JsonObject
  readonly #make: () => Made
  #made: Made | undefined
  readonly key: string

  constructor(schema: JsonObject, key: string, make: () => Made) {
    this.#schema = schema
    this.key = key
    this.#make = make
  }

  get node(): Node {
    this.#made ??= this.#make()
    return this.#made.node
  }

  get isRef(): boolean {
    this.#made ??= this.#make()
    return this.#made.isRef
  }

  get hasDefault(): boolean {
    return this.#schema.has('default')
  }
}
