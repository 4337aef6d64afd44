// A rule, and the form of the rules of one principal in the store: one JSON document of kind `acl`, named by the
// principal. On Redis the document is one field of the hash `{namespace}:broker:acls` (docs/reference/redis-keys.md).
// Rules only grant; no rule denies.
//
//   {"topics": {"orders": ["READ", "WRITE"], "logs-*": ["READ"]}, "groups": {"billing": ["READ"]}}
//
// A document has `groups` only while it has a rule for a group: brokers of older releases cannot read documents with
// `groups`. This file does not decide what a Kafka client may do.

import type { AclRule } from '../../api/acls.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES, type ResourceType } from '../../api/words.ts'
import { cut } from '../../base/cut.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Row, UnreadableDocument } from '../../store/store.ts'
import { isDots } from '../user-rules.ts'

export const KIND: DocumentKind = 'acl'
const FIELD = 'document'

/**
 * One operation that a principal may do on one resource. `resource` is a name, a prefix of names followed by `*`, or
 * `*` for all.
 */
export type Grant = Readonly<Omit<AclRule, 'principal'>>

const MAP_OF: Readonly<Record<ResourceType, 'topics' | 'groups'>> = Object.freeze({ TOPIC: 'topics', GROUP: 'groups' })

/**
 * Returns whether the pattern of a grant matches this name; of another pattern, whether it matches every name that
 * the other one matches.
 */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}

export function isSameGrant(one: Grant, other: Grant): boolean {
  return one.resourceType === other.resourceType && one.resource === other.resource && one.operation === other.operation
}

/** Returns the grants sorted by type (topics first), resource and operation. */
export function sortGrants<G extends Grant>(grants: readonly G[]): G[] {
  const rank = ({ resourceType, resource, operation }: G) =>
    `${RESOURCE_TYPES.indexOf(resourceType)}\0${resource}\0${operation}`
  return [...grants].sort((one, other) => (rank(one) < rank(other) ? -1 : 1))
}

/** Returns the row that stores the grants of a principal. There must be at least one grant. */
export function rowOf(grants: readonly Grant[]): Row {
  const document: { topics: Record<string, string[]>; groups?: Record<string, string[]> } = { topics: emptyMap() }
  for (const { resourceType, resource, operation } of sortGrants(grants)) {
    if (resourceType === 'GROUP') document.groups ??= emptyMap()
    const map = document[MAP_OF[resourceType]]!
    map[resource] = [...(map[resource] ?? []), operation]
  }
  return { key: FIELD, value: Buffer.from(JSON.stringify(document)) }
}

/** Returns a map in which names such as `__proto__` are ordinary keys. */
function emptyMap(): Record<string, string[]> {
  return Object.create(null)
}

/** Returns the grants of a stored document. Throws UnreadableDocument if it is not in the form that `rowOf` writes. */
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

/** Returns the principal of a group of an identity provider. */
export function groupPrincipal(name: string): string {
  return `${GROUP_PREFIX}${name}`
}

/** Returns whether the principal is a group. No name of a user contains ':'. */
export function isGroupPrincipal(principal: string): boolean {
  return principal.startsWith(GROUP_PREFIX)
}

/** Returns why a principal cannot be granted a right, as a phrase; null if it can. */
export function objectionToPrincipal(principal: string): string | null {
  const isGroup = isGroupPrincipal(principal)
  const name = isGroup ? principal.slice(GROUP_PREFIX.length) : principal
  if (name === '') return 'names no principal'
  if (!name.isWellFormed()) return 'is not well-formed Unicode'
  if ([...name].length > MAX_PRINCIPAL_CHARACTERS) return `is longer than ${MAX_PRINCIPAL_CHARACTERS} characters`
  if (isDots(principal)) return "is '.' or '..', which no browser can ask for"
  // The name of a group may contain ':', because some identity providers name their groups by URNs.
  if (/\p{Cc}/u.test(name)) return 'holds control characters'
  if (isGroup || !name.includes(':')) return null
  const [, type, rest] = /^(User|Group):(.+)$/.exec(name) ?? []
  if (type === 'User') return `begins with 'User:'; takes the name alone, ${rest}`
  return type === 'Group'
    ? `begins with 'Group:'; takes group:${rest}`
    : "holds ':', which is allowed only in group:<name>"
}
