// The operations that requests need, in Kafka's words: an AclOperation on a resource of a ResourceType (KIP-11, and the
// authorization table of Apache Kafka's documentation). A handler declares them as values; this file holds no rule and
// checks nothing.
//
// How they will be checked (security): dispatch asks for the needs of a request in the turn in which it came, before
// `answer`, and looks each up in the policy of the session. `scope` says what a missing permission costs:
//
//   request   the whole request is refused: `refused` with the code of the resource's type
//   row       each row about this resource carries the code (TOPIC_AUTHORIZATION_FAILED for one topic of many), and the
//             others are answered as usual. The resource names the row, so the handler is given the denied resources
//             and refuses these rows where it looks their topic or group up. No row is taken out of a body: answers
//             keep their order, and a body that is sent again stays the same value
//   hidden    the answer is made without what this resource would add to it, and no code says so
//
// A need with `or` is met by either of the two. A topic that a request names by id is looked up in the catalogue by the
// check, because policies know names; an id that no topic has needs nothing, and its row says UNKNOWN_TOPIC_ID.

export type Operation =
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

type ResourceType = 'TOPIC' | 'GROUP' | 'CLUSTER' | 'TRANSACTIONAL_ID'

/** A resource by its name, or a topic by its id. Name null: each that the answer would hold, or any of the type. */
export type Resource =
  | { readonly type: ResourceType; readonly name: string | null }
  | { readonly type: 'TOPIC'; readonly id: string }

/** See the head of this file. */
export type Scope = 'request' | 'row' | 'hidden'

export interface Need {
  readonly operation: Operation
  readonly resource: Resource
  readonly scope: Scope
  /** Meets the need in place of the operation and the resource. */
  readonly or?: Permission
}

export type Permission = Pick<Need, 'operation' | 'resource'>

/** Kafka's name for its only resource of type CLUSTER. */
export const CLUSTER: Resource = Object.freeze({ type: 'CLUSTER', name: 'kafka-cluster' })

/** For an API that any client may call, such as ApiVersions. */
export const NO_NEEDS: readonly Need[] = Object.freeze([])

export function onCluster(operation: Operation, scope: Scope = 'request'): Need {
  return { operation, resource: CLUSTER, scope }
}

/** On the one group of the request. */
export function onGroup(operation: Operation, name: string): Need {
  return { operation, resource: { type: 'GROUP', name }, scope: 'request' }
}

/** On the one transactional id of the request. */
export function onTransactionalId(operation: Operation, name: string): Need {
  return { operation, resource: { type: 'TRANSACTIONAL_ID', name }, scope: 'request' }
}

/** On each of these, for the rows about it. */
export function onEach(
  operation: Operation,
  type: ResourceType,
  names: Iterable<string>,
  scope: Scope = 'row',
): readonly Need[] {
  return Array.from(new Set(names), name => ({ operation, resource: { type, name }, scope }))
}

/** On topics that rows name by name or by id. */
export function onTopics<N extends 'name' | 'topicId'>(
  operation: Operation,
  naming: N,
  topics: readonly { readonly [Key in N]: string }[],
): readonly Need[] {
  const said = topics.map(topic => topic[naming])
  if (naming === 'name') return onEach(operation, 'TOPIC', said)
  return Array.from(new Set(said), id => ({ operation, resource: { type: 'TOPIC', id }, scope: 'row' }))
}

/** On everything of the type that the answer would list. */
export function onListed(operation: Operation, type: ResourceType): Need {
  return { operation, resource: { type, name: null }, scope: 'hidden' }
}
