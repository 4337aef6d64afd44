// The operations that a client may do, as Kafka's answers say them: bits of the AclOperation codes (KIP-430). While
// there are no ACLs every client may do everything that the kind of resource knows.

export const TOPIC_OPERATIONS = bitsOf(3, 4, 5, 6, 7, 8, 10, 11)
export const CLUSTER_OPERATIONS = bitsOf(5, 7, 8, 9, 10, 11, 12)
export const GROUP_OPERATIONS = bitsOf(3, 6, 8, 10, 11)
/** For a request that does not ask for them. */
export const NOT_ASKED = -2_147_483_648

function bitsOf(...codes: readonly number[]): number {
  return codes.reduce((bits, code) => bits | (1 << code), 0)
}
