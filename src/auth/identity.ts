// Who somebody is to the admin API, the console and the actuator. Kafka clients have principals instead.

/** ADMIN may do everything, VIEWER may look. */
export type Role = 'ADMIN' | 'VIEWER'

export interface Identity {
  readonly username: string
  readonly role: Role
  /** An identity provider vouches for the name: a user in the store who has the same one is somebody else. */
  readonly isFederated: boolean
  /** The default password is in force and the request comes from elsewhere: nothing but changing it is allowed. */
  readonly mustChangePassword: boolean
  /** The default password is in force, wherever the request comes from. */
  readonly hasShippedPassword: boolean
  /** The session's id and end (milliseconds since 1970); null where there is no session. */
  readonly session: { readonly jti: string; readonly expiresAtMs: number } | null
}

/** Where somebody asks from. */
export interface Visitor {
  /** An IP address without a port. */
  readonly address: string
  /** The client is certainly a program on this machine: it came by loopback, asked a name of this machine, and nobody says to have passed it on. */
  readonly isLocal: boolean
  /** A session brought the request. */
  readonly isSignedIn?: boolean
  /** Aborts when nobody waits for the answer any more. */
  readonly ended?: AbortSignal | undefined
}
