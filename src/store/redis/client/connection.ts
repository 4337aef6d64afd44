// One TCP or TLS connection to a Redis server. It connects only once: if it breaks, all commands in flight are
// rejected. server-link.ts reconnects with a new object. The commands of one turn of the event loop are sent in one
// write. Replies come in the order of the commands; nothing else tells which command a reply belongs to.
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

/** The data, beside the address, that every connection to one Redis needs. */
export interface Credentials {
  readonly username: string | null
  readonly password: string | null
  readonly database: number
  /** Null: no TLS. It is created once, because that reads hundreds of certificates. */
  readonly secureContext: SecureContext | null
}

/**
 * Returns the credentials of the settings. With TLS the server must have a certificate that Node, NODE_EXTRA_CA_CERTS
 * or the operating system trusts.
 */
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
   * Sends a command. Rejects with RedisError for an error reply, or with the error that broke the connection.
   * Commands are sent in call order.
   */
  send(args: readonly Argument[]): Promise<Reply>
  /**
   * Sends several commands in this order. Settles with the reply of the last one. Before that, `refused` has been
   * called for each error reply of an earlier command, with the command's index.
   */
  sendAll(commands: readonly (readonly Argument[])[], refused: (at: number, error: RedisError) => void): Promise<Reply>
  /** Breaks the connection: all commands in flight are rejected, and onLost is not called. */
  destroy(): void
}

/** Rejects if the reply does not arrive in time. A later reply is ignored. */
export function answerWithin<T>(clock: Clock, withinMs: number, reply: Promise<T>): Promise<T> {
  return within(clock, withinMs, reply, () => {
    throw new Error(`no answer within ${withinMs} ms`)
  })
}

export interface ConnectOptions {
  readonly withinMs: number
  readonly clock: Clock
  readonly onLost: (error: Error) => void
  /** The name of the connection in the server's CLIENT LIST; no name by default. */
  readonly name?: string
}

/**
 * Connects, authenticates and selects the database within withinMs. Rejects with the reason of a failure. onLost is
 * called once if the connection breaks by itself later, before the commands in flight are rejected.
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

/** The size in bytes of the read buffer. Its bytes are used before the next read. */
const READ_BYTES = 64 * 1024
/** Milliseconds of silence before TCP checks whether the other side is there. */
const KEEP_ALIVE_MS = 30_000

/** Commands whose reply one caller awaits. It is an element of the list of all commands in flight. */
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
  /** True if a write is planned for the end of this turn. */
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
    // Nothing is sent before the certificate is verified.
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

  /**
   * Returns one promise for several commands. It settles with the reply of the last one; of the others only errors
   * are reported.
   */
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
    // The operating system has copied all earlier writes.
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

  /** Ends the connection for good, because it broke or destroy() was called. Only the first reason counts. */
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

/**
 * Ignores an error reply to CLIENT SETNAME: the server or a proxy may not support names, or may not permit this user
 * to set one.
 */
function goNameless(error: unknown): Reply {
  if (error instanceof RedisError) return null
  throw error
}

/**
 * Opens the socket. All reads use one buffer: `take` gets the buffer and the number of new bytes, and must copy bytes
 * that it keeps.
 */
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
  // The TLS server name is a host name, never an address (RFC 6066, 3).
  return connectSecure({ ...options, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) })
}
