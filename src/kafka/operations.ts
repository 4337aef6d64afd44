// The operations that a client may do, in the form of Kafka's answers: bits of the AclOperation codes (KIP-430). The
// broker has no ACLs yet, so every client may do all operations of the resource type.

export const TOPIC_OPERATIONS = bitsOf(3, 4, 5, 6, 7, 8, 10, 11)
export const CLUSTER_OPERATIONS = bitsOf(5, 7, 8, 9, 10, 11, 12)
export const GROUP_OPERATIONS = bitsOf(3, 6, 8, 10, 11)
/** The value for a request that does not ask for the operations. */
export const NOT_ASKED = -2_147_483_648

function bitsOf(...codes: readonly number[]): number {
  return codes.reduce((bits, code) => bits | (1 << code), 0)
}
