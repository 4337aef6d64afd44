// Decides which operations the rules of a client allow (specification, Authorization). A policy is made once for each
// authentication and never changes. Rules know READ and WRITE only, so the other operations of Kafka's authorization
// table follow from these two; docs/reference/authorization.md has the table.

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
