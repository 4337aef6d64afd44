// Declares the broker's side of a SASL mechanism (RFC 4422): it takes the tokens of a client one after the other, and
// decides who the client is. A mechanism knows no Kafka message, no connection and no rule of an ACL.
// kafka/authentication.ts carries the tokens, delays the answer to a failure, and writes the log.

/** The connection on which a client authenticates. */
export interface Channel {
  /** The client's address, without its port. */
  readonly address: string
  /**
   * Returns 32 bytes that only the two ends of this TLS connection can compute (RFC 9266, with this label); null
   * without TLS.
   */
  exportKey(label: string): Uint8Array | null
}

/** The client that a mechanism has authenticated. */
export interface Authenticated {
  /** The principal, as ACL rules name it: without `User:`. */
  readonly name: string
  readonly tenant: string | null
  /** The names of the client's groups, without `group:`. */
  readonly groups: readonly string[]
  /** On Clock.now(): the client must authenticate again before this; null if its proof does not expire. */
  readonly validUntilMs: number | null
  /** True for another broker of the cluster, which may do everything. */
  readonly isBroker?: true
}

/** How one token of a client was taken. */
export type Step =
  | { readonly kind: 'continue'; readonly token: Uint8Array }
  | { readonly kind: 'success'; readonly token: Uint8Array; readonly client: Authenticated }
  | {
      readonly kind: 'failure'
      /** A sentence for the client. It does not tell an unknown user from a wrong password, and names no secret. */
      readonly message: string
      /** For the log: what exactly was wrong, such as `invalid password`. It contains no secret. */
      readonly why: string
      /** The name that the client claims, for the log; null if it gave none that can be read. */
      readonly claimed: string | null
    }

/** One authentication of one client. */
export interface SaslExchange {
  /**
   * Takes the next token of the client. It is called again only after it has resolved with `continue`. Throws what
   * the store throws, ProviderUnavailable, or AuthenticationBusy, if nothing can be decided now. Never throws because
   * of the token.
   */
  step(token: Uint8Array): Step | Promise<Step>
}

export interface SaslMechanism {
  /** The registered name of the mechanism, such as `SCRAM-SHA-256`. */
  readonly name: string
  begin(channel: Channel): SaslExchange
}

/**
 * Other passwords have to be checked first, and this one would wait for too long. The broker has not decided whether
 * the client is allowed: a later attempt may succeed.
 */
export class AuthenticationBusy extends Error {
  override readonly name = 'AuthenticationBusy'
}
