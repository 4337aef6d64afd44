// The connections to one Redis, alone or a cluster: what the store adapter is given to talk through. Which connection a
// key's commands take, what may be borrowed at once, what came of a command. It knows no stream and no document.
//
// Nothing is ever sent twice, and nothing waits in a queue for a connection to come back and is then sent unasked.
// Whatever fails says which of three it was:
// - StoreUnavailable: certainly not done. Not sent (no connection, breaker open), or refused before it ran.
// - OutcomeUnknown: sent, and the connection was lost or timed out before the reply.
// - RedisError: the server's own error reply.

import { RedisError } from './redis-error.ts'

/**
 * Runs writes, and once more on the primary that ASK names, where their keys have gone ahead of their slot: the refusal
 * says that nothing was done. A write that waits for replicas waits on the connection that `work` is given.
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

/** Text goes as UTF-8. Bytes must not change until the reply is there. */
export type Argument = string | Uint8Array

/**
 * Bulk strings are Buffers that no other code holds, simple strings are text. Only what EXEC answers has RedisErrors in
 * it.
 */
export type Reply = null | number | string | Buffer | readonly Reply[]

export interface Link {
  /** `host:port`, for people. */
  readonly address: string
  /**
   * The master_replid of the server behind this connection, as last seen: at each connect and every few seconds. When
   * it differs from the one that a stream was opened under, what is known of that stream may be of another history (H7,
   * H17).
   */
  readonly incarnation: string
  /**
   * Rises with each connect; 0 before the first. A WAIT speaks of the writes of its own connection only (H4): name the
   * number that was read before those writes were sent.
   */
  readonly connection: number
  /** Whether the server has fewer replicas than writes must reach, as last seen: every few seconds. */
  readonly lacksReplicas: boolean
  /**
   * One command. With `connection`, it is sent only if the link still has the connection of that number, else it throws
   * StoreUnavailable. Commands of one link are sent in call order, at once, without waiting for earlier replies.
   */
  send(args: readonly Argument[], options?: SendOptions): Promise<Reply>
  /**
   * MULTI, the commands, EXEC, pipelined as one unit. Resolves to one reply or RedisError for each command. An error
   * while queuing (MOVED, OOM, MISCONF ...) discards the whole and is thrown as that RedisError: nothing was done.
   */
  transaction(commands: readonly (readonly Argument[])[]): Promise<readonly (Reply | RedisError)[]>
}

/** The connection for questions to a server, which the circuit breaker does not hold back. */
export interface ControlLink extends Link {
  /** Throws StoreUnavailable while the breaker blocks the server's other connections. */
  check(): void
}

export interface SendOptions {
  readonly connection?: number
}

/** The durability of one primary by its settings. Null if the server does not tell. */
export interface Durability {
  readonly address: string
  readonly version: string
  readonly appendonly: boolean
  readonly appendfsync: string | null
  readonly maxmemoryPolicy: string | null
  readonly connectedReplicas: number
  /** Sentences for people, each a way in which an acknowledged record can be lost or refused. */
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
  /**
   * The connection that carries all writes of this key's slot, in call order. All keys of one hash tag have the same
   * one until the cluster moves their slot. It is not followed by MOVED or ASK: that is a RedisError, the slot's owner
   * is looked up again, and the next call of write() has the new one.
   */
  write(key: string): Link
  /**
   * The connection that carries writes of this key while its slot is on its way, to where the key has gone, as a
   * refusal with ASK says. Each command, and each transaction as a whole, is let through on its own; what names a key
   * that has not arrived beside one that has is refused (TRYAGAIN).
   */
  asked(key: string, refusal: RedisError): Promise<Link>
  /**
   * For commands that read: goes to the slot's primary, follows MOVED and ASK, waits for a connection as borrow() does.
   */
  read(key: string): Link
  /**
   * Runs the work on write(key) with one of the pool's slots held until it settles. Waits for a slot and for the
   * connection, together at most `pool.max-wait`, then throws StoreUnavailable. Not to be nested: with one slot the
   * inner waits for the outer.
   */
  borrow<T>(key: string, work: (link: Link) => Promise<T>): Promise<T>
  /** The durability of each primary by its settings, as last seen. */
  durability(): readonly Durability[]
  /** One connection to each primary, beside those that carry reads and writes: FUNCTION LOAD, INFO, SCAN. */
  primaries(): readonly ControlLink[]
  /**
   * Called once for each primary whose master_replid is another than before, after its links show it, or a second
   * later.
   */
  onIncarnation(listener: (change: IncarnationChange) => void): void
  /** Waits for what is in flight, then lets go of all connections. */
  close(): Promise<void>
}
