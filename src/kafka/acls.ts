// Translates between rules (auth/clients/acl-rules.ts) and the bindings of Kafka's ACL APIs, and matches rules with
// their filters (org.apache.kafka.common.acl.AclBindingFilter). A rule is a binding that allows READ or WRITE on a
// topic or a group from every host:
//
//   ada, group:ops       User:ada, Group:ops
//   orders, logs-*, *    LITERAL orders, PREFIXED logs-, LITERAL *
//
// Other operations follow from the rules (auth/clients/policy.ts), and are bindings only in requests: `kafka-acls.sh
// --producer` asks for DESCRIBE and CREATE beside WRITE. Other bindings cannot be expressed, and are refused with the
// field that is wrong.

import type { AclRule } from '../api/acls.ts'
import type { Operation, ResourceType } from '../api/words.ts'
import { groupPrincipal, isGroupPrincipal } from '../auth/clients/acl-rules.ts'
import { derivations, type KafkaOperation, type KafkaResourceType } from '../auth/clients/policy.ts'
import { cut } from '../base/cut.ts'
import { because, INVALID_REQUEST, type Refusal, SECURITY_DISABLED } from '../protocol/errors.ts'
import { CLUSTER_NAME } from './needs.ts'
import { OPERATION_CODES } from './operations.ts'

/**
 * The refusal while ACLs are off, as in Apache Kafka without an authorizer. Any client could leave rules behind that
 * count when ACLs are switched on. The admin API serves them, because it knows its users.
 */
export const ACLS_OFF = because(
  SECURITY_DISABLED,
  'ACLs are off (svc.broker.acl.enabled). Until they are on, only the admin API and `ketch acls` change rules.',
)

const ANY = 1
/** The number of the operation ALL. */
const ALL_OPERATIONS = 2

const MATCH = 2
const LITERAL = 3
const PREFIXED = 4

const DENY = 2
const ALLOW = 3

const EVERY_HOST = '*'
const USER = 'User:'
const GROUP = 'Group:'

/** Kafka's numbers of the types of resources (ResourceType). */
const RESOURCE_TYPE_CODES: Readonly<Record<KafkaResourceType, number>> = Object.freeze({
  TOPIC: 2,
  GROUP: 3,
  CLUSTER: 4,
  TRANSACTIONAL_ID: 5,
})

const MOST_RESOURCE_TYPE = 7
const MOST_OPERATION = 15

const typeOf = byCode(RESOURCE_TYPE_CODES)
const operationOf = byCode(OPERATION_CODES)

function byCode<Name extends string>(codes: Readonly<Record<Name, number>>): (code: number) => Name | null {
  const names = new Map(Object.entries<number>(codes).map(([name, code]) => [code, name as Name]))
  return code => names.get(code) ?? null
}

/** A binding of a request to create rules. */
interface Creation {
  readonly resourceType: number
  readonly resourceName: string
  readonly resourcePatternType: number
  readonly principal: string
  readonly host: string
  readonly operation: number
  readonly permissionType: number
}

/** The meaning of a binding: a rule to grant, or an operation that must follow from the rules of the principal. */
export type Asked =
  | { readonly kind: 'rule'; readonly rule: AclRule }
  | {
      readonly kind: 'derived'
      readonly principal: string
      readonly operation: KafkaOperation
      readonly type: KafkaResourceType
      readonly pattern: string
    }

/** Returns the meaning of a binding, or INVALID_REQUEST with the field that cannot be expressed. */
export function readCreation(creation: Creation): Asked | Refusal {
  const principal = readPrincipal(creation.principal)
  if (typeof principal !== 'string') return principal
  if (creation.host !== EVERY_HOST) {
    return refuse('host', cut(creation.host), "'*', because rules hold for clients of every address")
  }
  if (creation.permissionType !== ALLOW) {
    const got = creation.permissionType === DENY ? 'DENY' : String(creation.permissionType)
    return refuse('permission', got, 'ALLOW, because rules only grant')
  }
  const pattern = readPattern(creation)
  if (typeof pattern !== 'string') return pattern
  const type = typeOf(creation.resourceType)
  if (type === null) return refuse('resource type', String(creation.resourceType), 'TOPIC or GROUP')
  const operation = operationOf(creation.operation)
  if (operation === null) {
    const got = creation.operation === ALL_OPERATIONS ? 'ALL' : String(creation.operation)
    return refuse('operation', got, 'READ and WRITE; more than these is for svc.broker.acl.super-users')
  }
  if (type === 'CLUSTER' && pattern !== CLUSTER_NAME) return refuse('resource', cut(pattern), CLUSTER_NAME)
  if (isRuled(type) && isRule(operation)) {
    return { kind: 'rule', rule: { principal, resourceType: type, resource: pattern, operation } }
  }
  if (derivations[type][operation] === undefined) {
    const takes = isRuled(type) ? 'READ and WRITE' : 'nothing that a rule can grant'
    return refuse('operation', `${operation} on ${type}`, `${takes}; the rest is for svc.broker.acl.super-users`)
  }
  return { kind: 'derived', principal, operation, type, pattern }
}

/** Returns the refusal of an operation that no rule of the principal implies. */
export function notImplied({ principal, operation, type, pattern }: Asked & { readonly kind: 'derived' }): Refusal {
  const { of, rules, any } = derivations[type][operation]!
  const place = any === true ? 'any' : cut(pattern)
  const message = `${operation} on ${type} is no rule of its own: it follows from ${rules.join(' or ')} on ${of} ${place}, which ${bindingPrincipal(principal)} does not have`
  return because(INVALID_REQUEST, message)
}

/** Returns a binding or a filter in words, for the audit line: `User:ada READ TOPIC orders`. */
export function sayBinding(principal: string | null, operation: number, type: number, name: string | null): string {
  return `${principal ?? 'any'} ${operationOf(operation) ?? operation} ${typeOf(type) ?? type} ${name ?? 'any'}`
}

function readPrincipal(given: string): string | Refusal {
  const takes = `${USER}<name> or ${GROUP}<name>`
  if (given.startsWith(GROUP)) return groupPrincipal(given.slice(GROUP.length))
  if (!given.startsWith(USER)) return refuse('principal', cut(given), takes)
  const name = given.slice(USER.length)
  if (name === '*') return refuse('principal', given, `${takes}; no rule is for all users`)
  // A user with such a name would be taken for a group.
  return isGroupPrincipal(name) ? refuse('principal', cut(given), takes) : name
}

function readPattern({ resourceName, resourcePatternType }: Creation): string | Refusal {
  if (resourceName === '') return because(INVALID_REQUEST, 'Invalid empty resource name')
  if (resourcePatternType === LITERAL) {
    if (resourceName === '*' || !resourceName.endsWith('*')) return resourceName
    return refuse('resource', cut(resourceName), "a literal name without '*' at its end, which stands for a prefix")
  }
  if (resourcePatternType !== PREFIXED)
    return refuse('pattern type', String(resourcePatternType), 'LITERAL or PREFIXED')
  if (!resourceName.endsWith('*')) return `${resourceName}*`
  return refuse('resource', cut(resourceName), "a prefix without '*' at its end")
}

function refuse(field: string, got: string, takes: string): Refusal {
  return because(INVALID_REQUEST, `${field}: got ${got}, takes ${takes}`)
}

function isRuled(type: KafkaResourceType): type is ResourceType {
  return type === 'TOPIC' || type === 'GROUP'
}

function isRule(operation: KafkaOperation): operation is Operation {
  return operation === 'READ' || operation === 'WRITE'
}

/** A rule in the form of Kafka's answers. */
export interface Binding {
  readonly resourceType: number
  readonly resourceName: string
  readonly patternType: number
  readonly principal: string
  readonly host: string
  readonly operation: number
  readonly permissionType: number
}

export function bindingOf({ principal, resourceType, resource, operation }: AclRule): Binding {
  const isPrefix = resource !== '*' && resource.endsWith('*')
  return {
    resourceType: RESOURCE_TYPE_CODES[resourceType],
    resourceName: isPrefix ? resource.slice(0, -1) : resource,
    patternType: isPrefix ? PREFIXED : LITERAL,
    principal: bindingPrincipal(principal),
    host: EVERY_HOST,
    operation: OPERATION_CODES[operation],
    permissionType: ALLOW,
  }
}

function bindingPrincipal(principal: string): string {
  return isGroupPrincipal(principal) ? `${GROUP}${principal.slice(groupPrincipal('').length)}` : `${USER}${principal}`
}

export interface Filter {
  readonly resourceTypeFilter: number
  readonly resourceNameFilter: string | null
  readonly patternTypeFilter: number
  readonly principalFilter: string | null
  readonly hostFilter: string | null
  readonly operation: number
  readonly permissionType: number
}

/** Returns the refusal of a filter with a number that Kafka does not have; null if it is valid. */
export function checkFilter(filter: Filter): Refusal | null {
  const isKnown = (code: number, most: number) => code >= ANY && code <= most
  const known: readonly (readonly [field: string, code: number, most: number])[] = [
    ['resource type', filter.resourceTypeFilter, MOST_RESOURCE_TYPE],
    ['pattern type', filter.patternTypeFilter, PREFIXED],
    ['operation', filter.operation, MOST_OPERATION],
    ['permission', filter.permissionType, ALLOW],
  ]
  for (const [field, code, most] of known) {
    if (!isKnown(code, most)) return refuse(field, String(code), `a number from ${ANY} to ${most}`)
  }
  return null
}

/** Returns whether the filter lets the binding through, as AclBindingFilter.matches does. */
export function isMatch(filter: Filter, binding: Binding): boolean {
  const { resourceTypeFilter, principalFilter, hostFilter, operation, permissionType } = filter
  if (resourceTypeFilter !== ANY && resourceTypeFilter !== binding.resourceType) return false
  if (principalFilter !== null && principalFilter !== binding.principal) return false
  if (hostFilter !== null && hostFilter !== binding.host) return false
  if (operation !== ANY && operation !== binding.operation) return false
  if (permissionType !== ANY && permissionType !== binding.permissionType) return false
  return isPatternMatch(filter, binding)
}

function isPatternMatch(
  { patternTypeFilter, resourceNameFilter: name }: Filter,
  { patternType, resourceName }: Binding,
): boolean {
  if (patternTypeFilter !== ANY && patternTypeFilter !== MATCH && patternTypeFilter !== patternType) return false
  if (name === null) return true
  if (patternTypeFilter !== MATCH) return name === resourceName
  if (patternType === PREFIXED) return name.startsWith(resourceName)
  return name === resourceName || resourceName === '*'
}
