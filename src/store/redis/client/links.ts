// The interface to the connections of one Redis, a single server or a cluster. It defines which connection the
// commands of a key take, how many calls may run at once, and how a failed command is reported. It does not know
// streams or documents.
//
// A command is never sent twice. No command waits in a queue until a connection is restored. The type of an error
// tells the outcome:
// - StoreUnavailable: certainly not executed. The command was not sent (no connection, circuit breaker open), or it
//   was refused before it ran.
// - OutcomeUnknown: the command was sent, and the connection was lost or timed out before the reply.
// - RedisError: the server's own error reply.

import type { BreakerState } from '../../store.ts'
import { RedisError } from './redis-error.ts'

/**
 * Runs writes. If Redis replies ASK, because the keys have moved before their slot, nothing was done, and the writes
 * run once more on the primary that ASK names. A write that waits for replicas waits on the connection that `work`
 * gets.
 */
export async function followAsk<T>(
  links: RedisLinks,
  key: string,
  link: Link,
  work: (link: Link) => Promise<T>,
): Promise<T> {
  try {
    return await work(link)
  } catch (error) {
    if (!(error instanceof RedisError && error.code === 'ASK')) throw error
    return await work(await links.asked(key, error))
  }
}

/** Text is sent as UTF-8. Bytes must not change until the reply has arrived. */
export type Argument = string | Uint8Array

/**
 * A bulk string is a Buffer that no other code uses; a simple string is text. Only the array of an EXEC reply can
 * contain a RedisError.
 */
export type Reply = null | number | string | Buffer | readonly Reply[]

export interface Link {
  /** `host:port`, for people. */
  readonly address: string
  /**
   * The master_replid of the server behind this connection, as last seen. It is checked at each connect and every few
   * seconds. If a stream was opened under another one, the known state of that stream may belong to another history
   * (H7, H17).
   */
  readonly incarnation: string
  /**
   * The number of the connection. It rises with each connect; 0 before the first. WAIT counts only the writes of its
   * own connection (H4): pass the number that was read before those writes were sent.
   */
  readonly connection: number
  /** Whether the server has fewer replicas than writes must reach. It is checked every few seconds. */
  readonly lacksReplicas: boolean
  /**
   * Sends one command. With `connection`, sends it only if the link still has the connection with that number, else
   * throws StoreUnavailable. The commands of one link are sent at once in call order, without waiting for earlier
   * replies.
   */
  send(args: readonly Argument[], options?: SendOptions): Promise<Reply>
  /**
   * Sends MULTI, the commands and EXEC as one pipeline. Resolves to one reply or RedisError for each command. If
   * Redis refuses a command while it queues them (MOVED, OOM, MISCONF ...), it discards the transaction, and that
   * RedisError is thrown: nothing was done.
   */
  transaction(commands: readonly (readonly Argument[])[]): Promise<readonly (Reply | RedisError)[]>
}

/** The connection for requests about the server itself. The circuit breaker does not block it. */
export interface ControlLink extends Link {
  /** Throws StoreUnavailable while the breaker blocks the server's other connections. */
  check(): void
}

export interface SendOptions {
  readonly connection?: number
}

/** The durability of one primary by its settings. A value is null if the server does not tell it. */
export interface Durability {
  readonly address: string
  readonly version: string
  readonly appendonly: boolean
  readonly appendfsync: string | null
  readonly maxmemoryPolicy: string | null
  readonly connectedReplicas: number
  /** Sentences for people. Each names a way in which an acknowledged record can be lost or refused. */
  readonly warnings: readonly string[]
}

export interface IncarnationChange {
  readonly address: string
  readonly before: string
  readonly after: string
}

export interface RedisLinks {
  /** For people: version, address, durability. */
  readonly description: string
  readonly isCluster: boolean
  /** The state of the circuit breakers of all primaries, as the store's. */
  readonly breaker: BreakerState
  /**
   * Returns the connection for all writes of this key's slot, in call order. All keys with one hash tag use the same
   * connection until the cluster moves their slot. The link does not follow MOVED and ASK: it rejects with that
   * RedisError, and the links look up the slot's owner. The next call of write() then returns the new connection.
   */
  write(key: string): Link
  /**
   * Resolves to the connection for writes of this key while its slot migrates: the target node that an ASK error
   * names. Each command and each transaction is sent with ASKING. A command that names a key that has arrived and a
   * key that has not is refused (TRYAGAIN).
   */
  asked(key: string, refusal: RedisError): Promise<Link>
  /**
   * Returns the link for reads. It sends to the slot's primary, follows MOVED and ASK, and waits for a connection as
   * borrow() does.
   */
  read(key: string): Link
  /**
   * Runs the work on write(key), and occupies one slot of the pool until the work settles. Waits at most
   * `pool.max-wait` for a slot and for the connection together, then throws StoreUnavailable. Calls must not be
   * nested: with one slot the inner call would wait for the outer one.
   */
  borrow<T>(key: string, work: (link: Link) => Promise<T>): Promise<T>
  /** The durability of each primary by its settings, as last seen. */
  durability(): readonly Durability[]
  /** Returns one connection to each primary, beside those for reads and writes: for FUNCTION LOAD, INFO, SCAN. */
  primaries(): readonly ControlLink[]
  /**
   * Registers a listener. It is called once each time the master_replid of a primary has changed, when all links show
   * the new one or one second later.
   */
  onIncarnation(listener: (change: IncarnationChange) => void): void
  /** Waits for the commands in flight, then closes all connections. */
  close(): Promise<void>
}
