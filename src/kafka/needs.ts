// Describes the permissions that requests need, in Kafka's words: an AclOperation on a resource of a ResourceType
// (KIP-11, and the authorization table of Apache Kafka's documentation). A handler declares them as values. This file
// has no rules and checks nothing: permissions.ts does.
//
// Dispatch calls `needs` in the turn of the event loop in which the request arrived, before `answer`, and looks up
// each need in the policy of the session. A session without a policy may do everything, and its needs are not
// computed. `scope` says what a missing permission does:
//
//   request   dispatch refuses the whole request: it calls `refused` with the code of the resource's type
//   row       each row about this resource has the code (TOPIC_AUTHORIZATION_FAILED for one topic of many), and the
//             others are answered as usual. The handler asks `request.permissions` when it looks up a topic or a
//             group, before any effect. Nothing removes a row from a body: answers keep their order, and a repeated
//             body stays the same value
//   hidden    the answer leaves this resource out, without an error code, or the request does without it
//
// A need with `or` is met by either of the two permissions. Policies have topic names, so the check looks up the name
// of a topic that a request names by id. An id without a topic needs no permission, and its row has UNKNOWN_TOPIC_ID.

import type { KafkaOperation as Operation, KafkaResourceType as ResourceType } from '../auth/clients/policy.ts'

export type { KafkaOperation as Operation } from '../auth/clients/policy.ts'

/**
 * A resource by its name, or a topic by its id. If the name is null: each resource of the type that the answer has a
 * row about (scopes `row` and `hidden`), or any resource of the type (scope `request`).
 */
export type Resource =
  | { readonly type: ResourceType; readonly name: string | null }
  | { readonly type: 'TOPIC'; readonly id: string }

/** How a request names its topics: by `name`, or by `topicId`. */
export type Naming = 'name' | 'topicId'

/** See the head of this file. */
export type Scope = 'request' | 'row' | 'hidden'

export interface Need {
  readonly operation: Operation
  readonly resource: Resource
  readonly scope: Scope
  /** A permission that is enough in place of the operation and the resource. */
  readonly or?: Permission
}

export type Permission = Pick<Need, 'operation' | 'resource'>

/** Kafka's name for its only resource of type CLUSTER. */
export const CLUSTER_NAME = 'kafka-cluster'

export const CLUSTER: Resource = Object.freeze({ type: 'CLUSTER', name: CLUSTER_NAME })

/** The needs of an API that any client may call, such as ApiVersions. */
export const NO_NEEDS: readonly Need[] = Object.freeze([])

export function onCluster(operation: Operation, scope: Scope = 'request'): Need {
  return { operation, resource: CLUSTER, scope }
}

/** Returns the need of an operation on the one group of the request. */
export function onGroup(operation: Operation, name: string): Need {
  return { operation, resource: { type: 'GROUP', name }, scope: 'request' }
}

/** Returns the need of an operation on the one transactional id of the request. */
export function onTransactionalId(operation: Operation, name: string): Need {
  return { operation, resource: { type: 'TRANSACTIONAL_ID', name }, scope: 'request' }
}

/** Returns the needs of an operation on each of these resources, for the rows about it. */
export function onEach(
  operation: Operation,
  type: ResourceType,
  names: Iterable<string>,
  scope: Scope = 'row',
): readonly Need[] {
  return Array.from(new Set(names), name => ({ operation, resource: { type, name }, scope }))
}

/** Returns the needs of an operation on topics that rows name by name or by id. */
export function onTopics<N extends Naming>(
  operation: Operation,
  naming: N,
  topics: readonly { readonly [Key in N]: string }[],
): readonly Need[] {
  const needOf = (said: string): Need => ({
    operation,
    resource: naming === 'name' ? { type: 'TOPIC', name: said } : { type: 'TOPIC', id: said },
    scope: 'row',
  })
  // Most requests of a producer name one topic.
  if (topics.length === 1) return [needOf(topics[0]![naming])]
  return Array.from(new Set(topics.map(topic => topic[naming])), needOf)
}

/** Returns the need of an operation on every topic that the answer has a row about, named in the request or not. */
export function onEachRow(operation: Operation): Need {
  return { operation, resource: { type: 'TOPIC', name: null }, scope: 'row' }
}

/** Returns the needs with another permission that is enough in place of each. */
export function orElse(needs: readonly Need[], or: (resource: Resource) => Permission): readonly Need[] {
  return needs.map(need => ({ ...need, or: or(need.resource) }))
}

/** Returns the need of an operation on every resource of the type that the answer would list. */
export function onListed(operation: Operation, type: ResourceType): Need {
  return { operation, resource: { type, name: null }, scope: 'hidden' }
}
