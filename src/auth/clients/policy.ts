// Decides which operations the rules of a client allow (specification, Authorization). A policy is made once for each
// authentication and never changes. Rules know READ and WRITE only, so the other operations of Kafka's authorization
// table follow from these two, as `derivations` says; docs/reference/authorization.md is written from it. This file
// reads no store: policies.ts does.

import { OPERATIONS, type Operation, RESOURCE_TYPES, type ResourceType } from '../../api/words.ts'
import { canonicalUsername } from '../user-rules.ts'
import { type Grant, groupPrincipal, isGroupPrincipal, matches } from './acl-rules.ts'

/** Kafka's operations (AclOperation). */
export type KafkaOperation =
  | 'READ'
  | 'WRITE'
  | 'CREATE'
  | 'DELETE'
  | 'ALTER'
  | 'DESCRIBE'
  | 'CLUSTER_ACTION'
  | 'DESCRIBE_CONFIGS'
  | 'ALTER_CONFIGS'
  | 'IDEMPOTENT_WRITE'

/** Kafka's types of resources (ResourceType). */
export type KafkaResourceType = 'TOPIC' | 'GROUP' | 'CLUSTER' | 'TRANSACTIONAL_ID'

export interface Policy {
  /** Returns whether the operation on the resource is allowed; with null, whether it is on any resource of the type. */
  allows(operation: KafkaOperation, type: KafkaResourceType, name: string | null): boolean
}

/** A client that has authenticated, as a mechanism names it. */
export interface Client {
  /** The principal, as rules name it: without `User:`. */
  readonly name: string
  /** The names of its groups, without `group:`. */
  readonly groups: readonly string[]
  /** True for another broker of the cluster, which may do everything. */
  readonly isBroker?: true
}

/** Rules of the type that allow an operation: one of these operations is enough. */
interface Derivation {
  readonly of: ResourceType
  readonly rules: readonly Operation[]
  /** True if a rule for any resource of the type is enough. */
  readonly any?: true
}

/**
 * By type of resource and operation: the rules that allow it. An operation that is not here is only for super-users
 * and other brokers.
 */
export const derivations: Readonly<Record<KafkaResourceType, Readonly<Partial<Record<KafkaOperation, Derivation>>>>> =
  Object.freeze({
    TOPIC: {
      READ: { of: 'TOPIC', rules: ['READ'] },
      WRITE: { of: 'TOPIC', rules: ['WRITE'] },
      DESCRIBE: { of: 'TOPIC', rules: ['READ', 'WRITE'] },
      DESCRIBE_CONFIGS: { of: 'TOPIC', rules: ['READ', 'WRITE'] },
      CREATE: { of: 'TOPIC', rules: ['WRITE'] },
    },
    GROUP: {
      READ: { of: 'GROUP', rules: ['READ'] },
      DESCRIBE: { of: 'GROUP', rules: ['READ'] },
      DESCRIBE_CONFIGS: { of: 'GROUP', rules: ['READ'] },
      DELETE: { of: 'GROUP', rules: ['WRITE'] },
    },
    CLUSTER: {
      IDEMPOTENT_WRITE: { of: 'TOPIC', rules: ['WRITE'], any: true },
    },
    TRANSACTIONAL_ID: {},
  })

/** Returns the rules that allow the operation, for people. One of them is enough. */
export function allowedBy(operation: KafkaOperation, type: KafkaResourceType): string {
  const derivation = derivations[type][operation]
  return derivation === undefined
    ? 'super-users only'
    : derivation.rules.map(rule => `${rule} ${derivation.of}`).join(' or ')
}

/**
 * Returns whether these rules allow the operation on everything that a name, a prefix followed by `*`, or `*` stands
 * for.
 */
export function isImplied(
  grants: readonly Grant[],
  operation: KafkaOperation,
  type: KafkaResourceType,
  pattern: string,
): boolean {
  const derivation = derivations[type][operation]
  if (derivation === undefined) return false
  return grants.some(
    grant =>
      grant.resourceType === derivation.of &&
      derivation.rules.includes(grant.operation) &&
      (derivation.any === true || matches(grant.resource, pattern)),
  )
}

/** Returns the principals whose rules a client has. */
export function principalsOf({ name, groups }: Client): readonly string[] {
  // A name must not get the rules of a group.
  const own = isGroupPrincipal(name) ? [] : [name]
  return [...own, ...groups.map(groupPrincipal)].map(canonicalUsername)
}

/** The policy of super-users and of other brokers. */
export const EVERYTHING: Policy = Object.freeze({ allows: () => true })

/**
 * Returns the policy of a client: the union of its own rules and those of its groups. `grants` are the rules by
 * principal, `superUsers` the principals that may do everything.
 */
export function policyOf(
  grants: ReadonlyMap<string, readonly Grant[]>,
  superUsers: ReadonlySet<string>,
  client: Client,
): Policy {
  if (client.isBroker === true) return EVERYTHING
  const principals = principalsOf(client)
  if (principals.some(each => superUsers.has(each))) return EVERYTHING
  const granted = principals.flatMap(each => {
    const rules = grants.get(each)
    return rules === undefined ? [] : [rulesOf(rules)]
  })
  return Object.freeze({
    allows(operation: KafkaOperation, type: KafkaResourceType, name: string | null) {
      const derivation = derivations[type][operation]
      if (derivation === undefined) return false
      const asked = derivation.any === true ? null : name
      for (const rules of granted) {
        for (const rule of derivation.rules) {
          const names = rules[derivation.of][rule]
          if (asked === null ? !names.isEmpty : names.has(asked)) return true
        }
      }
      return false
    },
  })
}

/** The rules of one principal, in the form in which they are looked up. */
type Rules = Readonly<Record<ResourceType, Readonly<Record<Operation, Names>>>>

/** Clients with the same principal share one form. A list of grants never changes. */
const known = new WeakMap<readonly Grant[], Rules>()

function rulesOf(grants: readonly Grant[]): Rules {
  let rules = known.get(grants)
  if (rules === undefined) {
    const namesOf = (type: ResourceType, rule: Operation) =>
      new Names(grants.flatMap(each => (each.resourceType === type && each.operation === rule ? [each.resource] : [])))
    const entries = RESOURCE_TYPES.map(type => [
      type,
      Object.fromEntries(OPERATIONS.map(rule => [rule, namesOf(type, rule)])),
    ])
    rules = Object.fromEntries(entries) as Rules
    known.set(grants, rules)
  }
  return rules
}

/** A set of names that names, prefixes and `*` describe. */
class Names {
  readonly isEmpty: boolean
  readonly #exact: ReadonlySet<string>
  /** Sorted; none begins with another. `*` is the empty prefix. */
  readonly #prefixes: readonly string[]

  constructor(patterns: readonly string[]) {
    this.isEmpty = patterns.length === 0
    this.#exact = new Set(patterns.filter(each => !each.endsWith('*')))
    const prefixes = patterns.filter(each => each.endsWith('*')).map(each => each.slice(0, -1))
    const shortest: string[] = []
    for (const prefix of prefixes.sort()) {
      const last = shortest.at(-1)
      if (last === undefined || !prefix.startsWith(last)) shortest.push(prefix)
    }
    this.#prefixes = shortest
  }

  has(name: string): boolean {
    if (this.#exact.has(name)) return true
    // Texts that begin with a prefix are neighbours in the order, so only the last prefix up to the name can match.
    let low = 0
    let high = this.#prefixes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#prefixes[middle]! <= name) low = middle + 1
      else high = middle
    }
    return low > 0 && name.startsWith(this.#prefixes[low - 1]!)
  }
}
