// One client's connection as the broker knows it: by which listener and from which address it came, who the client is,
// and when it ends. An authentication sets who the client is, and a re-authentication replaces it (KIP-368); a request
// that is being worked on meanwhile sees the new identity. It knows no bytes: transport.ts does.

import type { Said, Saying } from '../repeats.ts'

/** The address of a listener, as clients are told. */
export interface Listener {
  readonly name: string
  readonly host: string
  readonly port: number
}

/** The result of an authentication. */
export interface Identity {
  /** Kafka's form, `User:name`. */
  readonly principal: string
  /** The tenant that the credential or the token names; null if it names none. */
  readonly tenant: string | null
  /** On Clock.monotonic(): after this the client must authenticate again. Null: the identity does not expire. */
  readonly deadlineMs: number | null
}

/** A client that has not authenticated. */
const ANONYMOUS: Identity = Object.freeze({ principal: 'User:ANONYMOUS', tenant: null, deadlineMs: null })

export class Session implements Saying {
  /** Numbers the connections of this process from 1 on; log lines name it. */
  readonly id: number
  readonly listener: Listener
  /** The client's address, without its port. */
  readonly address: string
  last: Said | null = null
  #identity: Identity = ANONYMOUS
  readonly #ending = new AbortController()
  /** Aborts when the connection is gone. */
  readonly closed = this.#ending.signal

  constructor(id: number, listener: Listener, address: string) {
    this.id = id
    this.listener = listener
    this.address = address
  }

  get principal(): string {
    return this.#identity.principal
  }

  get tenant(): string | null {
    return this.#identity.tenant
  }

  /** Whether the deadline of the identity has passed. */
  isExpired(nowMs: number): boolean {
    const { deadlineMs } = this.#identity
    return deadlineMs !== null && nowMs >= deadlineMs
  }

  /** Sets or replaces who the client is. It holds from the next request on. */
  identify(identity: Identity): void {
    this.#identity = identity
  }

  /** The connection is gone. */
  end(): void {
    this.#ending.abort()
  }
}
