// One TCP or TLS connection to a Redis server. It connects once and never again: what is in flight when it breaks is
// rejected, and nothing of it lives on in a later connection. Reconnecting is server-link.ts's business. The calls
// in one turn of the event loop goes out in one write; replies come in the order of the commands, which is all that
// tells them apart.
//
//   connecting --connected, TLS trusted--> greeting --AUTH, SELECT, CLIENT SETNAME answered--> standing
//        '------------------------------------'-- broken or destroyed: for good ------------------'

import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectSecure, createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { type Clock, within } from '../../../base/clock.ts'
import type { RedisTarget } from '../../../settings/redis-target.ts'
import { CommandWriter } from './command-writer.ts'
import type { Argument, Reply } from './links.ts'
import { RedisError } from './redis-error.ts'
import { type AnyReply, MalformedReply, ReplyReader } from './reply-reader.ts'

/** Every connection to one Redis needs these beside the address. */
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
  /**
   * Rejects with RedisError for an error reply, with whatever broke the connection otherwise. Call order is the order
   * on the wire.
   */
  send(args: readonly Argument[]): Promise<Reply>
  /**
   * Several, in this order. Resolves to the last one's reply; whatever became of it, `refused` has been called for each
   * error reply before it by then, with its place.
   */
  sendAll(commands: readonly (readonly Argument[])[], refused: (at: number, error: RedisError) => void): Promise<Reply>
  /** Breaks it: all commands in flight are rejected, and onLost is not called. */
  destroy(): void
}

/** Rejects when the reply does not arrive in time; a later reply is dropped. */
export function answerWithin<T>(clock: Clock, withinMs: number, reply: Promise<T>): Promise<T> {
  return within(clock, withinMs, reply, () => {
    throw new Error(`no answer within ${withinMs} ms`)
  })
}

export interface ConnectOptions {
  readonly withinMs: number
  readonly clock: Clock
  readonly onLost: (error: Error) => void
  /** How the server's CLIENT LIST calls the connection; no name by default. */
  readonly name?: string
}

/**
 * Connects, authenticates and chooses the database, within withinMs; rejects with the reason of a failure. onLost is
 * called once if the connection breaks by itself after that, before any command in flight is rejected.
 */
export async function connect(
  endpoint: Endpoint,
  credentials: Credentials,
  { withinMs, clock, onLost, name }: ConnectOptions,
): Promise<Connection> {
  const connection = new SocketConnection(endpoint, credentials.secureContext, onLost)
  try {
    await answerWithin(clock, withinMs, connection.open(credentials, name ?? null))
  } catch (error) {
    connection.destroy()
    throw error
  }
  return connection
}

/** Read at once, and taken from there before the next read. */
const READ_BYTES = 64 * 1024
/** Milliseconds of silence before TCP checks whether the other side is there. */
const KEEP_ALIVE_MS = 30_000

/** Commands whose replies a caller awaits, in a list of all commands in flight. */
interface Exchange {
  readonly commands: number
  answered: number
  readonly refused: ((at: number, error: RedisError) => void) | null
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
  next: Exchange | null
}

class SocketConnection implements Connection {
  readonly #socket: Socket
  readonly #onLost: (error: Error) => void
  readonly #connected = Promise.withResolvers<void>()
  readonly #writer = new CommandWriter()
  readonly #reader = new ReplyReader(reply => this.#take(reply))
  readonly #flush = () => this.#write()
  #isStanding = false
  #brokenBy: Error | null = null
  /** A write is due when this turn has done its work. */
  #isDue = false
  #oldest: Exchange | null = null
  #newest: Exchange | null = null

  constructor(endpoint: Endpoint, secureContext: SecureContext | null, onLost: (error: Error) => void) {
    this.#onLost = onLost
    this.#socket = openSocket(endpoint, secureContext, (bytes, length) => this.#read(bytes, length))
    this.#socket.once(secureContext === null ? 'connect' : 'secureConnect', this.#connected.resolve)
    this.#socket.on('error', error => this.#break(error))
    this.#socket.on('close', () => this.#break(new Error('the connection was closed unexpectedly')))
  }

  async open({ username, password, database }: Credentials, clientName: string | null): Promise<void> {
    // Nothing is sent before the certificate is looked at.
    await this.#connected.promise
    const greetings: Promise<Reply>[] = []
    if (username || password) {
      const name = username ? [username] : []
      greetings.push(this.send(['AUTH', ...name, password ?? '']))
    }
    if (database !== 0) greetings.push(this.send(['SELECT', String(database)]))
    if (clientName !== null) greetings.push(this.send(['CLIENT', 'SETNAME', clientName]).catch(goNameless))
    await Promise.all(greetings)
    if (this.#brokenBy !== null) throw this.#brokenBy
    this.#isStanding = true
  }

  send(args: readonly Argument[]): Promise<Reply> {
    if (this.#brokenBy !== null) return Promise.reject(this.#brokenBy)
    this.#schedule()
    this.#writer.add(args)
    return this.#replied(1, null)
  }

  sendAll(
    commands: readonly (readonly Argument[])[],
    refused: (at: number, error: RedisError) => void,
  ): Promise<Reply> {
    if (this.#brokenBy !== null) return Promise.reject(this.#brokenBy)
    this.#schedule()
    for (let at = 0; at < commands.length; at++) this.#writer.add(commands[at]!)
    return this.#replied(commands.length, refused)
  }

  destroy(): void {
    this.#isStanding = false
    this.#break(new Error('the connection was given up'))
  }

  /** One promise for several commands. Of all commands but the last it reports only errors. */
  #replied(commands: number, refused: Exchange['refused']): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const exchange: Exchange = { commands, answered: 0, refused, resolve, reject, next: null }
      if (this.#newest === null) this.#oldest = exchange
      else this.#newest.next = exchange
      this.#newest = exchange
    })
  }

  #schedule(): void {
    if (this.#isDue) return
    this.#isDue = true
    // The system has copied everything that was written before.
    if (this.#socket.writableLength === 0) this.#writer.reuse()
    process.nextTick(this.#flush)
  }

  #write(): void {
    this.#isDue = false
    const pieces = this.#writer.take()
    if (this.#brokenBy !== null) return
    if (pieces.length === 1) {
      this.#socket.write(pieces[0]!)
      return
    }
    this.#socket.cork()
    for (const piece of pieces) this.#socket.write(piece)
    this.#socket.uncork()
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#brokenBy !== null) return
    try {
      this.#reader.push(bytes, length)
    } catch (error) {
      if (!(error instanceof MalformedReply)) throw error
      this.#break(error)
    }
  }

  #take(reply: AnyReply): void {
    const exchange = this.#oldest
    if (exchange === null) {
      // For example: ERR max number of clients reached, before the first command.
      if (this.#brokenBy === null)
        this.#break(new Error(`it sent an unexpected reply: ${reply instanceof RedisError ? reply.message : reply}`))
      return
    }
    const at = exchange.answered++
    if (exchange.answered < exchange.commands) {
      if (reply instanceof RedisError) exchange.refused!(at, reply)
      return
    }
    this.#oldest = exchange.next
    if (this.#oldest === null) this.#newest = null
    if (reply instanceof RedisError) exchange.reject(reply)
    else exchange.resolve(reply as Reply)
  }

  /** Ends it for good, whether it broke or destroy() was called: the first reason counts. */
  #break(error: Error): void {
    if (this.#brokenBy !== null) return
    this.#brokenBy = error
    this.#connected.reject(error)
    if (this.#isStanding) {
      this.#isStanding = false
      this.#onLost(error)
    }
    let exchange = this.#oldest
    this.#oldest = null
    this.#newest = null
    for (; exchange !== null; exchange = exchange.next) exchange.reject(error)
    this.#socket.destroy()
  }
}

/** A server, or a proxy before it, may know no names, or not let this user give one. */
function goNameless(error: unknown): Reply {
  if (error instanceof RedisError) return null
  throw error
}

/** All reads go through one buffer: `take` gets the number of new bytes, and copies those that it keeps. */
function openSocket(
  { host, port }: Endpoint,
  secureContext: SecureContext | null,
  take: (bytes: Buffer, length: number) => void,
): Socket {
  const onread = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length: number, bytes: Uint8Array) => {
      take(bytes as Buffer, length)
      return true
    },
  }
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, onread }
  if (secureContext === null) return connectPlain(options)
  // TLS names hosts, never addresses (RFC 6066, 3).
  return connectSecure({ ...options, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) })
}
