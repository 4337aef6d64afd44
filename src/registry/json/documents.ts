// The documents of a schema: its own, those it refers to, and the meta-schemas. It knows where each `$id` and each
// anchor is, and resolves `$ref`s. It reads nothing from outside: a document that is not given does not exist.

import { type Dependency, InvalidSchema, MOST_LEVELS, MOST_SCHEMA_LEVELS } from '../format.ts'
import { InvalidJson, isArray, isObject, type Json, type JsonObject, readJson } from '../json-text.ts'
import { type Draft, draftOf, escaped, forEachInner, isOnlyRef, isSchema } from './drafts.ts'
import { metaSchemaText } from './meta-schemas.ts'

/** A part of a document with its own base URI: the document itself, or a schema in it with an `$id`. */
interface Resource {
  /** Absolute, without a fragment. */
  readonly uri: string
  readonly draft: Draft
  readonly root: Place
  readonly anchors: Map<string, Place>
}

/** A schema at its place. The same object of a document is always the same place. */
export interface Place {
  readonly value: boolean | JsonObject
  readonly resource: Resource
  /** For messages: `#/properties/a`, or `common.json#/definitions/b` in a reference. */
  readonly name: string
}

/** Where documents without an absolute `$id` are. */
const HOME = 'mem://input/'

/** An id of a draft before 2019-09 that is an anchor. */
const PLAIN_FRAGMENT = /^#[^/]/

export class Documents {
  readonly #places = new Map<JsonObject, Place>()
  readonly #resources = new Map<string, Resource>()
  readonly #texts = new Map<string, Dependency>()
  readonly #loaded = new Map<string, Place>()
  readonly root: Place

  /** Throws InvalidSchema if a schema is nested too deeply. */
  constructor(root: boolean | JsonObject, dependencies: readonly Dependency[]) {
    for (const dependency of dependencies) this.#texts.set(withoutDot(dependency.name), dependency)
    this.root = this.#add(root, HOME, '', draftOf(root))
  }

  #resolve(ref: string, from: Place): Place {
    const [name = '', fragment = ''] = splitAt(ref, '#')
    const resource = name === '' ? from.resource : this.#resourceOf(name, from)
    const found = this.#inside(resource, fragment)
    if (found !== undefined) return found
    throw new InvalidSchema(`${from.name}: no schema is at "${ref}", which $ref names`)
  }

  /** Returns the schema inside the one at `place`. */
  inner(value: boolean | JsonObject, place: Place, at: string): Place {
    const known = isObject(value) ? this.#places.get(value) : undefined
    return known ?? { value, resource: place.resource, name: place.name + at }
  }

  /** Returns where the reference of a schema leads; null without one, and if a stored schema names nothing. */
  targetOf(place: Place): Place | null {
    try {
      return this.requireTarget(place)
    } catch (error) {
      if (error instanceof InvalidSchema) return null
      throw error
    }
  }

  /** As targetOf, but throws InvalidSchema if the reference names nothing. */
  requireTarget(place: Place): Place | null {
    if (typeof place.value === 'boolean') return null
    const ref = place.value.get('$ref')
    if (typeof ref === 'string') return this.#resolve(ref, place)
    const { draft } = place.resource
    const dynamic = draft < 2019 ? undefined : place.value.get(draft === 2019 ? '$recursiveRef' : '$dynamicRef')
    return typeof dynamic === 'string' ? this.#resolveDynamic(dynamic, place) : null
  }

  /** All schemas of all documents that are in use. Those that turn up meanwhile are among them. */
  all(): Iterable<Place> {
    return this.#places.values()
  }

  /**
   * Returns the schema that a `$dynamicRef` or a `$recursiveRef` names. Each evaluation begins at the root document, so
   * a dynamic anchor there wins over others of its name. Those of other documents on the way are not looked at.
   */
  #resolveDynamic(ref: string, from: Place): Place {
    const first = this.#resolve(ref, from)
    // A pointer is no anchor, so nothing is dynamic about it. `#` is what `$recursiveRef` always says.
    if (!isObject(first.value) || ref.includes('#/')) return first
    const root = this.root.resource.root
    if (first.value.get('$recursiveAnchor') === true && isObject(root.value)) {
      if (root.value.get('$recursiveAnchor') === true) return root
    }
    const anchor = ref.endsWith('#') ? undefined : first.value.get('$dynamicAnchor')
    const outer = typeof anchor === 'string' ? this.root.resource.anchors.get(anchor) : undefined
    return outer !== undefined && isObject(outer.value) && outer.value.has('$dynamicAnchor') ? outer : first
  }

  #resourceOf(name: string, from: Place): Resource {
    const uri = resolved(name, from.resource.uri)
    const known = this.#resources.get(uri)
    if (known !== undefined) return known
    const dependency = this.#dependencyOf(name, uri)
    if (dependency !== undefined) return this.#load(dependency.name, dependency.text, from).resource
    const meta = metaSchemaText(uri)
    if (meta !== undefined) return this.#load(uri, meta, from).resource
    throw new InvalidSchema(
      `${from.name}: $ref names "${name}", which is not among the references of this schema; the registry fetches none`,
    )
  }

  #dependencyOf(name: string, uri: string): Dependency | undefined {
    const byName = this.#texts.get(withoutDot(name)) ?? this.#texts.get(uri)
    if (byName !== undefined) return byName
    const bases = [HOME, this.root.resource.uri]
    return [...this.#texts.values()].find(({ name }) => bases.some(base => resolved(name, base) === uri))
  }

  #load(name: string, text: string, from: Place): Place {
    const loaded = this.#loaded.get(name)
    if (loaded !== undefined) return loaded
    const value = readDependency(name, text)
    const place = this.#add(value, resolved(name, HOME), name, draftOf(value, from.resource.draft))
    this.#loaded.set(name, place)
    // The name by which it is referred to holds even if the document calls itself something else.
    this.#resources.set(resolved(name, HOME), place.resource)
    return place
  }

  /** The schema at a fragment: a JSON pointer or an anchor. */
  #inside(resource: Resource, encoded: string): Place | undefined {
    const fragment = decoded(encoded)
    if (fragment === '') return resource.root
    if (!fragment.startsWith('/')) return resource.anchors.get(fragment)
    let place = resource.root
    let value: Json | undefined = place.value
    let at = ''
    for (const part of fragment.slice(1).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      value = memberOf(value, name, at === '')
      if (value === undefined) return undefined
      at += `/${escaped(name)}`
      const known = isObject(value) ? this.#places.get(value) : undefined
      if (known !== undefined) {
        place = known
        at = ''
      }
    }
    if (at === '') return place
    if (!isSchema(value)) return undefined
    // No keyword leads here, so it has not been walked yet.
    return this.#walk(value, place.resource, place.name + at, 1)
  }

  #add(value: boolean | JsonObject, uri: string, name: string, draft: Draft): Place {
    return this.#walk(value, null, `${name}#`, 1, { uri, draft })
  }

  /** Registers the schema and all those inside it. */
  #walk(
    value: boolean | JsonObject,
    outer: Resource | null,
    name: string,
    level: number,
    begin?: { readonly uri: string; readonly draft: Draft },
  ): Place {
    if (level > MOST_SCHEMA_LEVELS) {
      throw new InvalidSchema(`${name}: schemas are nested in more than ${MOST_SCHEMA_LEVELS} levels`)
    }
    const draft = begin?.draft ?? outer!.draft
    const id = idOf(value, draft)
    const isResource = outer === null || (id !== undefined && !PLAIN_FRAGMENT.test(id))
    const place: { value: boolean | JsonObject; resource: Resource; name: string } = { value, resource: outer!, name }
    if (isResource) {
      const base = begin?.uri ?? outer!.uri
      const uri = id === undefined ? base : splitAt(resolved(id, base), '#')[0]!
      // A schema inside may name a draft of its own.
      place.resource = { uri, draft: draftOf(value, draft), root: place, anchors: new Map() }
      if (!this.#resources.has(uri)) this.#resources.set(uri, place.resource)
    }
    if (typeof value === 'boolean') return place
    this.#places.set(value, place)
    for (const anchor of anchorsOf(value, id)) place.resource.anchors.set(anchor, place)
    forEachInner(value, place.resource.draft, (inner, at) => {
      if (isObject(inner) && !this.#places.has(inner)) this.#walk(inner, place.resource, name + at, level + 1)
    })
    return place
  }
}

/** Reads the text of a schema. Throws InvalidSchema. */
export function readSchema(text: string): boolean | JsonObject {
  let value: Json
  try {
    value = readJson(text, MOST_LEVELS)
  } catch (cause) {
    if (!(cause instanceof InvalidJson)) throw cause
    throw new InvalidSchema(`the schema is not JSON: ${cause.message}`, { cause })
  }
  if (!isSchema(value)) throw new InvalidSchema('a JSON schema is an object or a boolean')
  return value
}

function readDependency(name: string, text: string): boolean | JsonObject {
  try {
    return readSchema(text)
  } catch (cause) {
    if (!(cause instanceof InvalidSchema)) throw cause
    throw new InvalidSchema(`the reference "${name}": ${cause.message}`, { cause })
  }
}

function idOf(value: boolean | JsonObject, draft: Draft): string | undefined {
  if (typeof value === 'boolean' || isOnlyRef(value, draft)) return undefined
  const id = value.get(draft === 4 ? 'id' : '$id')
  return typeof id === 'string' && id !== '' ? id : undefined
}

function anchorsOf(value: JsonObject, id: string | undefined): string[] {
  const anchors = [value.get('$anchor'), value.get('$dynamicAnchor')].filter(anchor => typeof anchor === 'string')
  if (id !== undefined && PLAIN_FRAGMENT.test(id)) anchors.push(id.slice(1))
  return anchors
}

/** In the root of a document `$defs` also reaches what stands under `definitions`, as with Confluent. */
function memberOf(value: Json, name: string, isFirst: boolean): Json | undefined {
  if (isArray(value)) return /^(0|[1-9][0-9]*)$/.test(name) ? value[Number(name)] : undefined
  if (!isObject(value)) return undefined
  return value.get(name) ?? (isFirst && name === '$defs' ? value.get('definitions') : undefined)
}

/** Resolves a reference against a base (RFC 3986). A reference that no base can complete stays as it is. */
function resolved(reference: string, base: string): string {
  try {
    return new URL(reference, base).href
  } catch {
    return reference
  }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

function withoutDot(name: string): string {
  return name.startsWith('./') ? name.slice(2) : name
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
