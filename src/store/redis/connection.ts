// One TCP or TLS connection to a Redis server, through @redis/client. It connects once and never again: what is in flight when
// it breaks is rejected, and nothing of it lives on in a later connection. Reconnecting is link.ts's business.

import { isIP } from 'node:net'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { createClient, ErrorReply, RESP_TYPES } from '@redis/client'
import { type Clock, within } from '../../base/clock.ts'
import type { RedisTarget } from '../../settings/redis-target.ts'
import type { Argument, Reply } from './links.ts'
import { RedisError } from './redis-error.ts'

/** What every connection to one Redis needs beside the address. */
export interface Credentials {
  readonly username: string | null
  readonly password: string | null
  readonly database: number
  /** Null: no TLS. Made once: it reads hundreds of certificates. */
  readonly secureContext: SecureContext | null
}

/** The server must show a certificate that Node, NODE_EXTRA_CA_CERTS or the operating system trusts. */
export function credentialsOf({ username, password, database, tls }: RedisTarget): Credentials {
  const trusted = () => [...getCACertificates('default'), ...getCACertificates('system')]
  return { username, password, database, secureContext: tls ? createSecureContext({ ca: trusted() }) : null }
}

export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface Connection {
  /** Rejects with RedisError for an error reply, with whatever broke the connection otherwise. Call order is the order on the wire. */
  send(args: readonly Argument[]): Promise<Reply>
  /**
   * Several, in this order. Resolves to the last one's reply; whatever became of it, `refused` has been called for each error
   * reply before it by then, with its place.
   */
  sendAll(commands: readonly (readonly Argument[])[], refused: (at: number, error: RedisError) => void): Promise<Reply>
  /** Breaks it: whatever is in flight is rejected, and onLost is not called. */
  destroy(): void
}

/** Bulk strings come as Buffers of their own. */
const AS_BUFFERS = Object.freeze({ [RESP_TYPES.BLOB_STRING]: Buffer })

/** Rejects when nothing comes in time; what it waited for may still come, and is dropped. */
export function answerWithin<T>(clock: Clock, withinMs: number, reply: Promise<T>): Promise<T> {
  return within(clock, withinMs, reply, () => {
    throw new Error(`no answer within ${withinMs} ms`)
  })
}

/**
 * Connects, authenticates and chooses the database, within withinMs; rejects with what stood in the way. onLost is called once
 * if the connection breaks by itself after that, before anything in flight is rejected.
 */
export async function connect(
  endpoint: Endpoint,
  credentials: Credentials,
  { withinMs, clock, onLost }: { withinMs: number; clock: Clock; onLost: (error: Error) => void },
): Promise<Connection> {
  const { username, password, database } = credentials
  const client = createClient({
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    database,
    socket: {
      host: endpoint.host,
      port: endpoint.port,
      connectTimeout: withinMs,
      reconnectStrategy: false,
      ...tlsOptions(endpoint, credentials),
    },
    // RESP 2 has one form for each reply, and a server that pushes nothing unasked.
    RESP: 2,
    // Its own timeout gives up on commands before they are written, and costs an AbortSignal for each.
    commandOptions: { timeout: 0, typeMapping: AS_BUFFERS },
    disableOfflineQueue: true,
    disableClientInfo: true,
  })
  let isStanding = false
  let brokenBy: Error | null = null
  client.on('error', (error: Error) => {
    brokenBy ??= error
    if (!isStanding) return
    isStanding = false
    onLost(error)
    // A reply that cannot be parsed breaks nothing by itself.
    client.destroy()
  })
  try {
    await answerWithin(clock, withinMs, client.connect())
  } catch (error) {
    client.destroy()
    throw asRedisError(error)
  }
  isStanding = true
  const transmit = (args: readonly Argument[]) => client.sendCommand<Reply>(args.map(asBuffer))
  const send = async (args: readonly Argument[]) => {
    try {
      return await transmit(args)
    } catch (error) {
      throw error instanceof ErrorReply ? asRedisError(error) : (brokenBy ?? error)
    }
  }
  return {
    send,
    sendAll(commands, refused) {
      const last = commands.length - 1
      // A promise for each and no more: an append is eight commands, and of seven nobody asks what they answered.
      for (let at = 0; at < last; at++) {
        transmit(commands[at]!).catch((error: unknown) => {
          if (error instanceof ErrorReply) refused(at, new RedisError(error.message))
        })
      }
      return send(commands[last]!)
    },
    destroy() {
      isStanding = false
      client.destroy()
    },
  }
}

function tlsOptions({ host }: Endpoint, { secureContext }: Credentials) {
  if (secureContext === null) return {}
  // TLS names hosts, never addresses (RFC 6066, 3).
  return { tls: true as const, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) }
}

function asBuffer(argument: Argument): string | Buffer {
  if (typeof argument === 'string' || Buffer.isBuffer(argument)) return argument
  return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength)
}

/** Error replies as ours, at any depth; everything else as it is. */
export function asRedisError<T>(value: T): T | RedisError {
  return value instanceof ErrorReply ? new RedisError(value.message) : value
}
