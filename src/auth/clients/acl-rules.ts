// A rule, and how the rules of one principal rest in the store: one JSON document of kind `acl`, named by the
// principal, which on Redis is one member of the hash `{namespace}:broker:acls` (docs/reference/redis-keys.md). There
// are grants only.
//
//   {"topics": {"orders": ["READ", "WRITE"], "logs-*": ["READ"]}, "groups": {"billing": ["READ"]}}
//
// `groups` is there only while there is a rule for a group: brokers of older releases cannot read documents that have
// it. Who may do what on the Kafka listener is not decided here.

import type { AclRule } from '../../api/acls.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES, type ResourceType } from '../../api/words.ts'
import { cut } from '../../base/cut.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Row, UnreadableDocument } from '../../store/store.ts'
import { isDots } from '../user-rules.ts'

export const KIND: DocumentKind = 'acl'
const FIELD = 'document'

/**
 * One operation that a principal may do to one resource. `resource` is a name, the beginning of names with `*` behind
 * it, or `*` for all.
 */
export type Grant = Readonly<Omit<AclRule, 'principal'>>

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

/** The row in which the store keeps a principal's grants. There is at least one grant. */
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

/** Throws UnreadableDocument when the document is not what `rowOf` makes. */
export function grantsOf(principal: string, fields: ReadonlyMap<string, Uint8Array>): readonly Grant[] {
  const unreadable = (defect: string, options?: ErrorOptions) =>
    new UnreadableDocument(`The stored rules of ${JSON.stringify(principal)} cannot be read: ${defect}.`, options)
  const document = parsed(Buffer.from(fields.get(FIELD) ?? '').toString(), unreadable)
  if (!isObject(document)) throw unreadable('they are no JSON object')
  const grants: Grant[] = []
  for (const resourceType of RESOURCE_TYPES) {
    const name = MAP_OF[resourceType]
    const map = document[name] ?? {}
    if (!isObject(map)) throw unreadable(`${name} is no object`)
    for (const [resource, operations] of Object.entries(map)) {
      const place = `${name}[${shown(resource)}]`
      if (!Array.isArray(operations)) throw unreadable(`${place} is no list`)
      for (const operation of operations) {
        if (!isOperation(operation)) throw unreadable(`${place} holds ${shown(operation)}, which is no operation`)
        grants.push({ resourceType, resource, operation })
      }
    }
  }
  return sortGrants(grants)
}

function parsed(text: string, unreadable: (defect: string, options: ErrorOptions) => Error): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw unreadable('they are no JSON', { cause })
  }
}

function shown(value: unknown): string {
  return cut(JSON.stringify(value))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOperation(value: unknown): value is Operation {
  return OPERATIONS.some(each => each === value)
}

const GROUP_PREFIX = 'group:'
const MAX_PRINCIPAL_CHARACTERS = 256

/** Why a principal cannot be granted a right, as a phrase; null if it can. */
export function objectionToPrincipal(principal: string): string | null {
  const isGroup = principal.startsWith(GROUP_PREFIX)
  const name = isGroup ? principal.slice(GROUP_PREFIX.length) : principal
  if (name === '') return 'names no principal'
  if (!name.isWellFormed()) return 'is not well-formed Unicode'
  if ([...name].length > MAX_PRINCIPAL_CHARACTERS) return `is longer than ${MAX_PRINCIPAL_CHARACTERS} characters`
  if (isDots(principal)) return "is '.' or '..', which no browser can ask for"
  // A group's name may hold ':', because some identity providers name their groups by URNs.
  if (!isGroup && name.includes(':')) return "holds ':', which is allowed only in group:<name>"
  if (/\p{Cc}/u.test(name)) return 'holds control characters'
  return null
}
