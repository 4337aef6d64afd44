// The operations that a client may do, in the form of Kafka's answers: bits of the AclOperation codes (KIP-430). While
// ACLs are off, every client may do all operations of the resource type.

import type { KafkaOperation, Policy } from '../auth/clients/policy.ts'

/** Kafka's numbers of the operations (AclOperation). */
export const OPERATION_CODES: Readonly<Record<KafkaOperation, number>> = Object.freeze({
  READ: 3,
  WRITE: 4,
  CREATE: 5,
  DELETE: 6,
  ALTER: 7,
  DESCRIBE: 8,
  CLUSTER_ACTION: 9,
  DESCRIBE_CONFIGS: 10,
  ALTER_CONFIGS: 11,
  IDEMPOTENT_WRITE: 12,
})

/** The operations that exist on a type of resource, in Kafka. */
const SUPPORTED = {
  TOPIC: ['READ', 'WRITE', 'CREATE', 'DELETE', 'ALTER', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'],
  GROUP: ['READ', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'],
  CLUSTER: [
    ...['CREATE', 'ALTER', 'DESCRIBE', 'CLUSTER_ACTION'],
    ...['DESCRIBE_CONFIGS', 'ALTER_CONFIGS', 'IDEMPOTENT_WRITE'],
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** The value for a request that does not ask for the operations. */
export const NOT_ASKED = -2_147_483_648

/** Returns the operations that the policy allows on a resource; null allows all. */
export function operationsOf(policy: Policy | null, type: keyof typeof SUPPORTED, name: string): number {
  let bits = 0
  for (const operation of SUPPORTED[type] as readonly KafkaOperation[]) {
    if (policy === null || policy.allows(operation, type, name)) bits |= 1 << OPERATION_CODES[operation]
  }
  return bits
}
