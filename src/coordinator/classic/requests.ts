// The requests that members of a classic group send, and the replies that they get, as values. A refusal is a reply
// too. No encoding is here: protocol/messages/ has the fields of each version, and kafka/handlers/ converts between
// the two.

import type { Refusal } from '../../protocol/errors.ts'

export const NO_BYTES = new Uint8Array(0)

export interface Protocol {
  readonly name: string
  /**
   * A member has a copy, because a view would keep the frame of the request in memory as long as the group exists.
   */
  readonly metadata: Uint8Array
}

export interface JoinRequest {
  readonly groupId: string
  /** Empty if the client has no member id yet. */
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly protocolType: string
  readonly protocols: readonly Protocol[]
  /** The reason that the client gives (KIP-800); null if it gives no reason. */
  readonly reason: string | null
  /** A dynamic member without id gets one in the answer and must join again with it (JoinGroup 4, KIP-394). */
  readonly memberIdRequired: boolean
  /** The client understands skipAssignment (JoinGroup 9, KIP-814). */
  readonly canSkipAssignment: boolean
}

interface JoinedMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly metadata: Uint8Array
}

export interface JoinReply {
  readonly error: Refusal | null
  readonly memberId: string
  readonly generation: number
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly leader: string
  readonly skipAssignment: boolean
  /** All members, for the leader only. */
  readonly members: readonly JoinedMember[]
}

export interface SyncRequest {
  readonly groupId: string
  readonly generation: number
  readonly memberId: string
  readonly instanceId: string | null
  /** Null when the client did not say (before SyncGroup 5, KIP-559). */
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[]
}

export interface SyncReply {
  readonly error: Refusal | null
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignment: Uint8Array
}

/** The identity and the generation that a client claims to have. */
export interface Claim {
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

export interface Leaving {
  /** Empty if the request names a static member only by its instance id. */
  readonly memberId: string
  readonly instanceId: string | null
  readonly reason: string | null
}

export interface Left {
  readonly memberId: string
  readonly instanceId: string | null
  readonly error: Refusal | null
}

/** Returns a reply that refuses. Clients read its member id. */
export function refuseJoin(error: Refusal, memberId: string): JoinReply {
  return {
    error,
    memberId,
    generation: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    members: [],
  }
}

export function refuseSync(error: Refusal): SyncReply {
  return { error, protocolType: null, protocolName: null, assignment: NO_BYTES }
}
