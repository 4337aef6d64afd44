// One of the connections to a server. It reconnects if the connection is lost, tracks the commands in flight, detects
// missing replies, and reports the outcome of each command. primary.ts checks which server it is and if the broker
// may use it.

import { assert } from '../../../base/assert.ts'
import { type Clock, sleep, type Timer } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../store.ts'
import type { Connection } from './connection.ts'
import type { Argument, ControlLink, Reply, SendOptions } from './links.ts'
import { RedisError } from './redis-error.ts'

/** The end of the connection's name in the server's list. */
export type Purpose = 'write' | 'read' | 'watch'

/** The interface of a link to the server that it belongs to. */
export interface LinkOwner {
  readonly lacksReplicas: boolean
  readonly address: string
  readonly host: string
  readonly clock: Clock
  readonly random: Random
  readonly timeoutMs: number
  /**
   * Resolves to a connection to a server that may be used, and that server's data. Rejects with the reason, for
   * people.
   */
  connect(purpose: Purpose, onLost: (error: Error) => void): Promise<Connected>
  /** Throws StoreUnavailable if no command may be sent (the circuit breaker). */
  check(): void
  isUp(link: ServerLink): void
  isDown(link: ServerLink, lost: Lost): void
  couldNotConnect(error: unknown): void
  /**
   * Tells that a reply arrived, even if it was an error reply. localAddress is null unless the metrics are labelled
   * with it.
   */
  answered(command: string, tookMs: number, localAddress: string | null): void
  /** Tells that a command got no reply within timeoutMs. */
  gaveUp(why: string): void
  /** Tells that the server replied MOVED or ASK. */
  redirected(error: RedisError): void
}

export interface Connected {
  readonly connection: Connection
  readonly incarnation: string
  readonly localAddress: string | null
}

export interface Lost {
  readonly why: string
  /** The number of commands in flight. Their outcome is unknown. */
  readonly unresolved: number
  readonly localAddress: string | null
}

type Command = readonly Argument[]

const ASKING: Command = ['ASKING']
const OPENING: readonly Command[] = [['MULTI']]
/** ASKING before MULTI is valid until EXEC (resetClient of redis/src/networking.c). */
const OPENING_ASKING: readonly Command[] = [ASKING, ...OPENING]
const CLOSING: readonly Command[] = [['EXEC']]
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

export class ServerLink implements ControlLink {
  incarnation = ''
  connection = 0
  readonly #owner: LinkOwner
  readonly #purpose: Purpose
  /** Whether the circuit breaker may block commands; false on the connection that probes. */
  readonly #isGuarded: boolean
  #standing: Connected | null = null
  #isClosed = false
  #why = 'it was not connected yet'
  /** The time at which each command in flight was sent, oldest first. Replies come in that order. */
  readonly #sentAtMs: number[] = []
  #deadline: Timer | null = null
  #onIdle: (() => void) | null = null

  constructor(owner: LinkOwner, purpose: Purpose) {
    this.#owner = owner
    this.#purpose = purpose
    this.#isGuarded = purpose !== 'watch'
  }

  get address(): string {
    return this.#owner.address
  }

  get host(): string {
    return this.#owner.host
  }

  get lacksReplicas(): boolean {
    return this.#owner.lacksReplicas
  }

  get isConnected(): boolean {
    return this.#standing !== null
  }

  /** Tries to connect once. */
  async open(): Promise<void> {
    const standing = await this.#owner.connect(this.#purpose, error => this.#lose(error.message))
    if (this.#isClosed) return standing.connection.destroy()
    this.#standing = standing
    this.incarnation = standing.incarnation
    this.connection++
    this.#owner.isUp(this)
  }

  /** Tries to connect until it succeeds or the link is closed. */
  async keepTrying(): Promise<void> {
    for (let failures = 0; !this.#isClosed && this.#standing === null; failures++) {
      try {
        await this.open()
      } catch (error) {
        this.#why = error instanceof Error ? error.message : String(error)
        if (!this.#isClosed) this.#owner.couldNotConnect(error)
        const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
        // The pause is random, so that links that were lost together do not all reconnect at the same moment.
        await sleep(this.#owner.clock, pauseMs / 2 + this.#owner.random.below(pauseMs))
      }
    }
  }

  async send(args: readonly Argument[], { connection }: SendOptions = {}): Promise<Reply> {
    const standing = this.#take(connection)
    return await this.#track(String(args[0]), standing, standing.connection.send(args))
  }

  transaction(commands: readonly Command[]): Promise<readonly (Reply | RedisError)[]> {
    return this.#transact(OPENING, commands)
  }

  /** The same as send(), on a node that a slot is migrating to (ASK): ASKING lets one command through. */
  async sendAsking(args: readonly Argument[], { connection }: SendOptions = {}): Promise<Reply> {
    const standing = this.#take(connection)
    standing.connection.send(ASKING).catch(ignored)
    return await this.#track(String(args[0]), standing, standing.connection.send(args))
  }

  transactionAsking(commands: readonly Command[]): Promise<readonly (Reply | RedisError)[]> {
    return this.#transact(OPENING_ASKING, commands)
  }

  /** Breaks the connection: the outcome of the commands in flight is unknown. The link then reconnects. */
  reset(why: string): void {
    this.#standing?.connection.destroy()
    this.#lose(why)
  }

  /** Waits at most withinMs for the commands in flight, then closes the connection. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true
    if (this.#sentAtMs.length > 0) {
      const idle = Promise.withResolvers<void>()
      this.#onIdle = idle.resolve
      const timer = this.#owner.clock.timer(withinMs, idle.resolve)
      await idle.promise
      timer.cancel()
    }
    this.#deadline?.cancel()
    this.#standing?.connection.destroy()
    this.#standing = null
  }

  check(): void {
    this.#owner.check()
  }

  #take(connection = this.connection): Connected {
    if (this.#isGuarded) this.check()
    if (this.#standing === null) throw new StoreUnavailable(`no connection to Redis at ${this.address}: ${this.#why}`)
    if (connection !== this.connection)
      throw new StoreUnavailable(`the connection to Redis at ${this.address} was replaced by a new one`)
    return this.#standing
  }

  /** `opening` ends with MULTI. */
  async #transact(opening: readonly Command[], commands: readonly Command[]): Promise<readonly (Reply | RedisError)[]> {
    const standing = this.#take()
    let reason: { readonly at: number; readonly error: RedisError } | null = null as typeof reason
    const replying = standing.connection.sendAll([...opening, ...commands, ...CLOSING], (at, error) => {
      reason ??= { at, error }
    })
    let replies: Reply
    try {
      replies = await this.#track('EXEC', standing, replying)
    } catch (error) {
      // The error reply of EXEC says only that the transaction was aborted. The reason is the first error while
      // queuing.
      if (!(error instanceof RedisError) || reason === null) throw error
      if (reason.at === opening.length - 1 && !reason.error.isRefusal) {
        // Redis refused MULTI, so the commands ran one by one.
        const message = `Redis at ${this.address} refused MULTI: ${reason.error.message}`
        throw new OutcomeUnknown(message, { cause: reason.error })
      }
      this.#noteRedirection(reason.error)
      throw reason.error
    }
    assert(Array.isArray(replies) && replies.length === commands.length, 'EXEC answers every command')
    return replies
  }

  #track(command: string, standing: Connected, reply: Promise<Reply>): Promise<Reply> {
    const { clock, timeoutMs } = this.#owner
    const sentAtMs = clock.monotonic()
    this.#sentAtMs.push(sentAtMs)
    this.#deadline ??= clock.timer(timeoutMs, () => this.#checkDeadline())
    const settled = (isAnswered: boolean) => {
      if (isAnswered) this.#owner.answered(command, clock.monotonic() - sentAtMs, standing.localAddress)
      this.#sentAtMs.shift()
      if (this.#sentAtMs.length === 0) this.#onIdle?.()
    }
    return reply.then(
      value => {
        settled(true)
        return value
      },
      (error: unknown) => {
        settled(error instanceof RedisError)
        if (error instanceof RedisError) {
          this.#noteRedirection(error)
          throw error
        }
        throw new OutcomeUnknown(`${command} was sent to Redis at ${this.address}, and no reply came: ${this.#why}`, {
          cause: error,
        })
      },
    )
  }

  #noteRedirection(error: RedisError): void {
    if (error.code === 'MOVED' || error.code === 'ASK') this.#owner.redirected(error)
  }

  /**
   * Checks the oldest command in flight. There is one timer for all commands: it fires again at the deadline of the
   * oldest one.
   */
  #checkDeadline(): void {
    this.#deadline = null
    const [oldestMs] = this.#sentAtMs
    if (oldestMs === undefined) return
    const { clock, timeoutMs } = this.#owner
    const leftMs = oldestMs + timeoutMs - clock.monotonic()
    if (leftMs > 0) {
      this.#deadline = clock.timer(leftMs, () => this.#checkDeadline())
      return
    }
    const why = `no reply within ${timeoutMs} ms`
    this.#owner.gaveUp(why)
    this.reset(why)
  }

  #lose(why: string): void {
    if (this.#standing === null) return
    const { localAddress } = this.#standing
    this.#standing = null
    this.#why = why
    if (this.#isClosed) return
    this.#owner.isDown(this, { why, unresolved: this.#sentAtMs.length, localAddress })
    void this.keepTrying()
  }
}

/** Ignores the failure of a promise: the EXEC or the command after it fails too. */
function ignored(): void {}
