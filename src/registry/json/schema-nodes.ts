// The nodes of a schema. They are made when they are first asked for, so a schema that refers to itself is no special
// case.

import type { Documents, Place } from './documents.ts'
import { isOnlyRef } from './drafts.ts'
import type { JsonObject } from './json-text.ts'
import type { Node, Part } from './nodes.ts'
import { part, SchemaReader } from './schema-reader.ts'

export class Nodes {
  readonly #documents: Documents
  readonly #parts = new Map<JsonObject, Part>()
  readonly #true = part({ kind: 'any', source: true, role: '', isConnectBytes: false })
  readonly #false = part({ kind: 'false', source: false, role: '', isConnectBytes: false })
  readonly root: Part

  constructor(documents: Documents) {
    this.#documents = documents
    this.root = this.#partAt(documents.root)
  }

  #partAt(place: Place): Part {
    const { value } = place
    if (typeof value === 'boolean') return value ? this.#true : this.#false
    const known = this.#parts.get(value)
    if (known !== undefined) return known
    const made = new LazyPart(value, () => this.#make(value, place))
    this.#parts.set(value, made)
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
    const own = nodes.map((node, at) => part({ ...node, role: `${node.kind} ${at}` }))
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

  constructor(schema: JsonObject, make: () => Made) {
    this.#schema = schema
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
