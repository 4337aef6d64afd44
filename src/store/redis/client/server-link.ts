// One connection of the many to one server, which comes back when it is lost. It keeps what is in flight, notices when
// a reply does not come, and says what became of a command. Which server it is and whether that may be used is
// primary.ts's business.

import { assert } from '../../../base/assert.ts'
import { type Clock, sleep, type Timer } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../store.ts'
import type { Connection } from './connection.ts'
import type { Argument, ControlLink, Reply, SendOptions } from './links.ts'
import { RedisError } from './redis-error.ts'

/** The end of the name under which the server lists the connection. */
export type Purpose = 'write' | 'read' | 'watch'

/** The server that a link belongs to, as the link asks and tells it. */
export interface LinkOwner {
  readonly lacksReplicas: boolean
  readonly address: string
  readonly host: string
  readonly clock: Clock
  readonly random: Random
  readonly timeoutMs: number
  /**
   * A connection to a server that may be used, and the server's description of itself; rejects with the reason, for
   * people.
   */
  connect(purpose: Purpose, onLost: (error: Error) => void): Promise<Connected>
  /** Throws StoreUnavailable when nothing may be sent (the circuit breaker). */
  check(): void
  isUp(link: ServerLink): void
  isDown(link: ServerLink, lost: Lost): void
  couldNotConnect(error: unknown): void
  /** A reply arrived, even if it was an error reply; localAddress is null unless the caller shall pass it on. */
  answered(command: string, tookMs: number, localAddress: string | null): void
  /** A command had no reply within timeoutMs. */
  gaveUp(why: string): void
  /** MOVED or ASK. */
  redirected(error: RedisError): void
}

export interface Connected {
  readonly connection: Connection
  readonly incarnation: string
  readonly localAddress: string | null
}

export interface Lost {
  readonly why: string
  /** Commands in flight, whose outcome is unknown by now. */
  readonly unresolved: number
  readonly localAddress: string | null
}

type Command = readonly Argument[]

const ASKING: Command = ['ASKING']
const OPENING: readonly Command[] = [['MULTI']]
/** ASKING lasts until EXEC when it stands before MULTI (resetClient of redis/src/networking.c). */
const OPENING_ASKING: readonly Command[] = [ASKING, ...OPENING]
const CLOSING: readonly Command[] = [['EXEC']]
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

export class ServerLink implements ControlLink {
  incarnation = ''
  connection = 0
  readonly #owner: LinkOwner
  readonly #purpose: Purpose
  /** Whether the circuit breaker may hold commands back; not on the connection that probes. */
  readonly #isGuarded: boolean
  #standing: Connected | null = null
  #isClosed = false
  #why = 'it was not connected yet'
  /** When each command in flight was sent, oldest first; replies come in that order. */
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

  /** Tries once. */
  async open(): Promise<void> {
    const standing = await this.#owner.connect(this.#purpose, error => this.#lose(error.message))
    if (this.#isClosed) return standing.connection.destroy()
    this.#standing = standing
    this.incarnation = standing.incarnation
    this.connection++
    this.#owner.isUp(this)
  }

  /** Tries until it succeeds or the link is closed. */
  async keepTrying(): Promise<void> {
    for (let failures = 0; !this.#isClosed && this.#standing === null; failures++) {
      try {
        await this.open()
      } catch (error) {
        this.#why = error instanceof Error ? error.message : String(error)
        if (!this.#isClosed) this.#owner.couldNotConnect(error)
        const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
        // Links that were lost together do not all reconnect at the same moment.
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

  /** The same, on a node that a slot is moving to (ASK): each is let through for this once. */
  async sendAsking(args: readonly Argument[], { connection }: SendOptions = {}): Promise<Reply> {
    const standing = this.#take(connection)
    standing.connection.send(ASKING).catch(ignored)
    return await this.#track(String(args[0]), standing, standing.connection.send(args))
  }

  transactionAsking(commands: readonly Command[]): Promise<readonly (Reply | RedisError)[]> {
    return this.#transact(OPENING_ASKING, commands)
  }

  /** Breaks the connection: what is in flight is unknown, and a new one is made. */
  reset(why: string): void {
    this.#standing?.connection.destroy()
    this.#lose(why)
  }

  /** Waits for what is in flight, withinMs at most, and lets go of the connection. */
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
      // EXEC says only that it was aborted; the reason is the first error that came while queuing.
      if (!(error instanceof RedisError) || reason === null) throw error
      if (reason.at === opening.length - 1 && !reason.error.isRefusal) {
        // Without MULTI the commands ran one by one.
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

  /** One timer for all commands in flight: it looks at the oldest and fires again at that one's deadline. */
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

/** For promises whose failure the EXEC or command behind them has too. */
function ignored(): void {}
