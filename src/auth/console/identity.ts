// The identity of a caller of the admin API, the console and the actuator. Kafka clients have principals instead.

import type { Role } from '../../api/words.ts'

export type { Role }

export interface Identity {
  readonly username: string
  readonly role: Role
  /** True if an identity provider gave the name. A stored user with the same name is another user. */
  readonly isFederated: boolean
  /**
   * True if the user has the default password and the request comes from another machine. Then the user may only
   * change the password.
   */
  readonly mustChangePassword: boolean
  /** True if the user has the default password, whichever machine the request comes from. */
  readonly hasShippedPassword: boolean
  /** The session's id and end (milliseconds since 1970); null without a session. */
  readonly session: { readonly jti: string; readonly expiresAtMs: number } | null
}

/** Where a request comes from. */
export interface Visitor {
  /** An IP address without a port. */
  readonly address: string
  /**
   * True if the client is certainly a program on this machine: it came by loopback, used a name of this machine, and
   * no proxy header is present.
   */
  readonly isLocal: boolean
  /** True if the request has a session. */
  readonly isSignedIn?: boolean
  /** Aborts when the client no longer waits for the answer. */
  readonly ended?: AbortSignal | undefined
}
