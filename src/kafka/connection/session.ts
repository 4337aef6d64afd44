// Describes one client's connection: its listener, the client's address and identity, and the signal that it is
// closed. An authentication sets the identity, and a re-authentication replaces it (KIP-368). A request in progress
// sees the new identity. It handles no bytes: transport.ts does. It decides nothing about an authentication:
// sasl-state.ts and authentication.ts do.

import type { Policy } from '../../auth/clients/policy.ts'
import type { Channel, SaslExchange } from '../../auth/sasl/mechanism.ts'
import { usesSasl } from '../../settings/endpoints.ts'
import type { ListenerSecurity } from '../../settings/settings.ts'
import type { Said, Saying } from '../repeats.ts'
import { HANDSHAKE, NOT_NEEDED, type SaslState } from './sasl-state.ts'

/** The advertised address of a listener. */
export interface Listener {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly security: ListenerSecurity
}

/** The result of an authentication. */
export interface Identity {
  /** Kafka's form, `User:name`. */
  readonly principal: string
  /** The tenant that the credential or the token names; null if it names none. */
  readonly tenant: string | null
  /** On Clock.monotonic(): after this the client must authenticate again. Null: the identity does not expire. */
  readonly deadlineMs: number | null
  /** The operations that the client may do; null while `broker.acl.enabled` is false: then it may do everything. */
  readonly policy: Policy | null
  /** True for another broker of the cluster. */
  readonly isBroker?: true | undefined
}

/** A client that has not authenticated. */
const ANONYMOUS: Identity = Object.freeze({ principal: 'User:ANONYMOUS', tenant: null, deadlineMs: null, policy: null })

export class Session implements Saying {
  /** The number of the connection in this process, from 1 on. Log lines have it. */
  readonly id: number
  readonly listener: Listener
  /** The client's address, without its port. */
  readonly address: string
  /** The connection, as SASL mechanisms see it. */
  readonly channel: Channel
  /** How far the client has authenticated. Only authentication.ts and dispatch.ts change it. */
  sasl: SaslState
  /** The mechanism's part of the authentication in progress; null if none is in progress. */
  exchange: SaslExchange | null = null
  last: Said | null = null
  #identity: Identity
  readonly #ending = new AbortController()
  /** Aborts when the connection is closed. */
  readonly closed = this.#ending.signal

  /** `policy` is that of a client without a name: it counts until the client authenticates. */
  constructor(
    id: number,
    listener: Listener,
    address: string,
    policy: Policy | null,
    exportKey: Channel['exportKey'] = () => null,
  ) {
    this.id = id
    this.#identity = policy === null ? ANONYMOUS : { ...ANONYMOUS, policy }
    this.listener = listener
    this.address = address
    this.channel = { address, exportKey }
    this.sasl = usesSasl(listener.security) ? HANDSHAKE : NOT_NEEDED
  }

  get principal(): string {
    return this.#identity.principal
  }

  get tenant(): string | null {
    return this.#identity.tenant
  }

  get policy(): Policy | null {
    return this.#identity.policy
  }

  /** True unless this is another broker, or may be one: brokers have no name on a listener without SASL. */
  get isClient(): boolean {
    return usesSasl(this.listener.security) && this.#identity.isBroker !== true
  }

  /** Whether the deadline of the identity has passed. */
  isExpired(nowMs: number): boolean {
    const { deadlineMs } = this.#identity
    return deadlineMs !== null && nowMs >= deadlineMs
  }

  /** Sets or replaces the client's identity. */
  identify(identity: Identity): void {
    this.#identity = identity
  }

  /** Aborts `closed`, because the connection is closed. */
  end(): void {
    this.#ending.abort()
  }
}
