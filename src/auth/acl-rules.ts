// What a rule is, and how the rules of one principal rest in the store: one JSON document of kind `acl`, named by the principal,
// which on Redis is one member of the hash `{namespace}:broker:acls` (docs/reference/redis-keys.md). There are grants only.
//
//   {"topics": {"orders": ["READ", "WRITE"], "logs-*": ["READ"]}, "groups": {"billing": ["READ"]}}
//
// `groups` is there only while there is a rule for a group: brokers of older releases cannot read documents that have it. Who
// may do what on the Kafka listener is not decided here.

import type { Row } from '../store/store.ts'

export const KIND = 'acl'
const FIELD = 'document'

export const RESOURCE_TYPES = Object.freeze(['TOPIC', 'GROUP'] as const)
export const OPERATIONS = Object.freeze(['READ', 'WRITE'] as const)
export type ResourceType = (typeof RESOURCE_TYPES)[number]
export type Operation = (typeof OPERATIONS)[number]

/** What a principal may do to what. */
export interface Grant {
  readonly resourceType: ResourceType
  /** A name, the beginning of names with `*` behind it, or `*` for all. */
  readonly resource: string
  readonly operation: Operation
}

export interface AclRule extends Grant {
  readonly principal: string
}

const MAP_OF: Readonly<Record<ResourceType, 'topics' | 'groups'>> = Object.freeze({ TOPIC: 'topics', GROUP: 'groups' })

/** Whether the grant is for a resource of this name. */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}

export function isSameGrant(one: Grant, other: Grant): boolean {
  return one.resourceType === other.resourceType && one.resource === other.resource && one.operation === other.operation
}

/** By type (topics first), resource and operation. */
export function sortGrants<G extends Grant>(grants: readonly G[]): G[] {
  const rank = ({ resourceType, resource, operation }: G) =>
    `${RESOURCE_TYPES.indexOf(resourceType)}\0${resource}\0${operation}`
  return [...grants].sort((one, other) => (rank(one) < rank(other) ? -1 : 1))
}

/** What the store keeps of a principal's grants, of which there is at least one. */
export function rowOf(grants: readonly Grant[]): Row {
  const document: { topics: Record<string, string[]>; groups?: Record<string, string[]> } = { topics: emptyMap() }
  for (const { resourceType, resource, operation } of sortGrants(grants)) {
    if (resourceType === 'GROUP') document.groups ??= emptyMap()
    const map = document[MAP_OF[resourceType]]!
    map[resource] = [...(map[resource] ?? []), operation]
  }
  return { key: FIELD, value: Buffer.from(JSON.stringify(document)) }
}

/** Names such as `__proto__` are names. */
function emptyMap(): Record<string, string[]> {
  return Object.create(null)
}

/** Somebody else has written the rules of a principal, in a form that is not read here. */
export class UnreadableRules extends Error {
  override readonly name = 'UnreadableRules'

  constructor(principal: string, options: ErrorOptions) {
    super(`the rules of ${JSON.stringify(principal)} in the store are not in a form that this version reads`, options)
  }
}

/** Throws UnreadableRules when the document is not what `rowOf` makes. */
export function grantsOf(principal: string, fields: ReadonlyMap<string, Uint8Array>): readonly Grant[] {
  try {
    return parse(Buffer.from(fields.get(FIELD)!).toString())
  } catch (cause) {
    throw new UnreadableRules(principal, { cause })
  }
}

function parse(text: string): readonly Grant[] {
  const document: unknown = JSON.parse(text)
  if (!isObject(document)) throw new Error('it is no object')
  const grants: Grant[] = []
  for (const resourceType of RESOURCE_TYPES) {
    const map = document[MAP_OF[resourceType]] ?? {}
    if (!isObject(map)) throw new Error(`${MAP_OF[resourceType]} is no object`)
    for (const [resource, operations] of Object.entries(map)) {
      if (!Array.isArray(operations)) throw new Error(`what stands under ${JSON.stringify(resource)} is no list`)
      for (const operation of operations) {
        if (!isOperation(operation)) throw new Error(`${JSON.stringify(operation)} is no operation`)
        grants.push({ resourceType, resource, operation })
      }
    }
  }
  return sortGrants(grants)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOperation(value: unknown): value is Operation {
  return OPERATIONS.some(each => each === value)
}

const GROUP_PREFIX = 'group:'
const MAX_PRINCIPAL_CHARACTERS = 256

/** What is wrong with a principal that is to be granted something, as a phrase; null when nothing is. */
export function objectionToPrincipal(principal: string): string | null {
  const name = principal.startsWith(GROUP_PREFIX) ? principal.slice(GROUP_PREFIX.length) : principal
  if (name === '') return 'names nobody'
  if (!name.isWellFormed()) return 'is not well-formed Unicode'
  if ([...name].length > MAX_PRINCIPAL_CHARACTERS) return `is longer than ${MAX_PRINCIPAL_CHARACTERS} characters`
  if (name.includes(':')) return "holds ':', which only group:<name> does"
  if (/\p{Cc}/u.test(name)) return 'holds control characters'
  return null
}
