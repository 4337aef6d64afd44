// Checks the declared needs of a request (needs.ts) against the policy of its session. Dispatch makes the permissions
// of a request when it arrives, and refuses the request if a need of the whole request is not met. Handlers ask for
// the refusal of a row, and whether a resource may be shown. The rules are in auth/clients/policy.ts.

import type { Policy } from '../auth/clients/policy.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import {
  CLUSTER_AUTHORIZATION_FAILED,
  GROUP_AUTHORIZATION_FAILED,
  type Refusal,
  TOPIC_AUTHORIZATION_FAILED,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
} from '../protocol/errors.ts'
import { CLUSTER, CLUSTER_NAME, type Naming, type Need, type Permission, type Resource } from './needs.ts'
import { operationsOf } from './operations.ts'

/** The permissions of a request. Every method asks about resources that the needs of the API declare. */
export interface Permissions {
  /** The policy that the request arrived with; null if the client may do everything. */
  readonly policy: Policy | null
  /** Returns the refusal of the rows about a topic; null if the client is allowed to ask. */
  topic(naming: Naming, said: string): Refusal | null
  group(name: string): Refusal | null
  transactionalId(name: string): Refusal | null
  /** Returns the refusal of the rows about the cluster. */
  cluster(): Refusal | null
  /** Returns whether the needs of scope `hidden` on this resource are met. */
  shows(type: Resource['type'], name: string): boolean
}

type Type = Resource['type']

const REFUSALS: Readonly<Record<Type, Refusal>> = Object.freeze({
  TOPIC: TOPIC_AUTHORIZATION_FAILED,
  GROUP: GROUP_AUTHORIZATION_FAILED,
  CLUSTER: CLUSTER_AUTHORIZATION_FAILED,
  TRANSACTIONAL_ID: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
})

/** The permissions of a client that may do everything. */
export const ALL_ALLOWED: Permissions = Object.freeze({
  policy: null,
  topic: () => null,
  group: () => null,
  transactionalId: () => null,
  cluster: () => null,
  shows: () => true,
})

/** Returns the operations on the cluster that an answer shows: none to a client that may not describe it. */
export function clusterOperationsOf({ policy, shows }: Permissions): number {
  return shows('CLUSTER', CLUSTER_NAME) ? operationsOf(policy, 'CLUSTER', CLUSTER_NAME) : 0
}

/** Called with each permission that is missing and the name of its resource, for the log. */
export type Denied = (need: Need, name: string | null) => void

/**
 * Returns the permissions of a request with these needs, or the refusal of the whole request. `denied` is called once
 * for each missing permission that refuses the request or rows of it.
 */
export function permissionsOf(
  policy: Policy,
  needs: readonly Need[],
  catalogue: Pick<CatalogueKeeper, 'current'>,
  denied: Denied,
): Permissions | Refusal {
  if (needs.every(need => isMetNow(policy, need, catalogue))) return allAllowedBy(policy)
  /** By key (keyOf): the refusal of each resource that is not allowed. */
  const refused = new Map<string, Refusal>()
  /** Needs on topic ids that had no topic when the request arrived. The topic may be found later. */
  const unresolved = new Map<string, Need>()
  /** Needs on every resource of a type that the answer has a row about. */
  const each: Need[] = []
  const hidden = new Set<string>()
  const eachHidden: Need[] = []
  for (const need of needs) {
    const { resource, scope } = need
    if (scope !== 'request' && 'name' in resource && resource.name === null) {
      ;(scope === 'hidden' ? eachHidden : each).push(need)
    } else if (scope === 'hidden') {
      if (!isMet(policy, need, nameOf(resource, catalogue) ?? null)) hidden.add(keyOf(resource))
    } else {
      const name = nameOf(resource, catalogue)
      if (name === undefined) unresolved.set(keyOf(resource), need)
      else if (!isMet(policy, need, name)) {
        denied(need, name)
        if (scope === 'request') return REFUSALS[resource.type]
        refused.set(keyOf(resource), REFUSALS[resource.type])
      }
    }
  }

  function refusalOf(resource: Resource): Refusal | null {
    const found = refused.get(keyOf(resource))
    if (found !== undefined) return found
    const late = unresolved.get(keyOf(resource))
    if (late === undefined && each.length === 0) return null
    const name = nameOf(resource, catalogue)
    if (name === undefined) return null
    for (const need of late === undefined ? each : [late, ...each]) {
      if (need.resource.type === resource.type && !isMet(policy, need, name)) {
        denied(need, name)
        return REFUSALS[resource.type]
      }
    }
    return null
  }

  return {
    policy,
    topic: (naming, said) => refusalOf(naming === 'name' ? { type: 'TOPIC', name: said } : { type: 'TOPIC', id: said }),
    group: name => refusalOf({ type: 'GROUP', name }),
    transactionalId: name => refusalOf({ type: 'TRANSACTIONAL_ID', name }),
    cluster: () => refusalOf(CLUSTER),
    shows: (type, name) =>
      !hidden.has(keyOf({ type, name } as Resource)) &&
      eachHidden.every(need => need.resource.type !== type || isMet(policy, need, name)),
  }
}

/** Returns whether nothing about the need is open: nearly every request has only such needs. */
function isMetNow(policy: Policy, need: Need, catalogue: Pick<CatalogueKeeper, 'current'>): boolean {
  const name = nameOf(need.resource, catalogue)
  if (name === undefined || (name === null && need.scope !== 'request')) return false
  return isMet(policy, need, name)
}

/** By policy, the permissions of requests whose needs are met. */
const allAllowed = new WeakMap<Policy, Permissions>()

function allAllowedBy(policy: Policy): Permissions {
  let permissions = allAllowed.get(policy)
  if (permissions === undefined) {
    permissions = Object.freeze({ ...ALL_ALLOWED, policy })
    allAllowed.set(policy, permissions)
  }
  return permissions
}

/**
 * Returns whether the policy has the permission, or the one that is enough in its place, on the resource with this
 * name; with null, on any resource of the type.
 */
export function isMet(policy: Policy, need: Need, name: string | null): boolean {
  if (policy.allows(need.operation, need.resource.type, name)) return true
  return (
    need.or !== undefined && policy.allows(need.or.operation, need.or.resource.type, otherName(need, need.or, name))
  )
}

/** The other permission is on the same resource, or on one that it names itself. */
function otherName({ resource }: Need, or: Permission, name: string | null): string | null {
  if (or.resource.type === resource.type) return name
  return 'name' in or.resource ? or.resource.name : null
}

/** Returns the name; undefined for a topic id without a topic. */
function nameOf(resource: Resource, catalogue: Pick<CatalogueKeeper, 'current'>): string | null | undefined {
  return 'id' in resource ? catalogue.current().topicsById.get(resource.id)?.name : resource.name
}

function keyOf(resource: Resource): string {
  return 'id' in resource ? `#${resource.id}` : `${resource.type} ${resource.name}`
}
