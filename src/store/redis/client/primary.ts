// One Redis server and all connections to it: those for writes, those for reads, and one that watches the server. It
// checks the server's role, its history (master_replid) and its settings at each connect and every few seconds. It
// owns the circuit breaker, and logs events of all its connections once.

import { type Clock, sleep } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { RedisTarget } from '../../../settings/redis-target.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Metrics } from '../../../telemetry/metrics.ts'
import { StoreOpenError } from '../../open-error.ts'
import { type Breaker, createBreaker, noBreaker } from './breaker.ts'
import { explainFailure, UnusableServer } from './connect-failure.ts'
import { answerWithin, type Connection, type Credentials, connect, type Endpoint } from './connection.ts'
import { ENDING_TRANSACTION, FileRewrite, hasFormerFile } from './file-rewrite.ts'
import type { Durability, IncarnationChange, Reply } from './links.ts'
import { RedisError } from './redis-error.ts'
import {
  askDurability,
  askInfo,
  evictionObjection,
  evictionWarning,
  replicasIn,
  type ServerInfo,
  versionObjection,
} from './server-info.ts'
import { type Connected, type LinkOwner, type Lost, type Purpose, ServerLink } from './server-link.ts'

export interface PrimaryOptions {
  readonly target: RedisTarget
  readonly credentials: Credentials
  /** False for a Redis of documents alone. */
  readonly carriesStreams: boolean
  readonly writeConnections: number
  readonly readConnections: number
  /** `write.wait-replicas`; 0 on a Redis of documents alone. */
  readonly waitReplicas: number
  /** The beginning of the connections' names in the server's CLIENT LIST, before their purpose: `ketch-1`. */
  readonly clientName: string
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
}

/** The events that the owner of all servers of one Redis gets. */
export interface PrimaryEvents {
  /** A connection was opened, or another connection now serves a slot. */
  changed(): void
  incarnationChanged(change: IncarnationChange): void
  redirected(error: RedisError, host: string): void
  /** The server cannot be reached or is not a primary: the cluster may have another primary now. */
  inTrouble(): void
}

/** The most milliseconds for a connect with the first INFO, even if the timeout of commands is longer. */
export const CONNECT_MS = 5000
const WATCH_MS = 2000
/** The timeout in milliseconds of INFO and PING on the connection that carries nothing else. */
const PROBE_MS = 2000
/** How many milliseconds the report of a new history waits for connections that do not come back. */
const ANNOUNCE_MS = 1000
const LOADING_POLL_MS = 500
/** How many milliseconds a loading Redis may make no progress. */
const STANDSTILL_MS = 60_000
const REPLICAS_POLL_MS = 250
/** How many milliseconds a start waits for replicas that are connected but have confirmed nothing yet. */
const JOINING_MS = 3_000
const PROGRESS_LOG_MS = 5000
const CLOSE_MS = 5000

/** Ignores an error reply: the broker's Redis user may not read settings. */
function untold(error: unknown): Reply {
  if (error instanceof RedisError) return []
  throw error
}

export class Primary implements LinkOwner {
  readonly address: string
  readonly host: string
  readonly clock: Clock
  readonly random: Random
  readonly timeoutMs: number
  readonly writes: readonly ServerLink[]
  readonly reads: readonly ServerLink[]
  readonly control: ServerLink
  readonly breaker: Breaker
  readonly #endpoint: Endpoint
  readonly #options: PrimaryOptions
  readonly #events: PrimaryEvents
  readonly #log: Logger
  readonly #fileRewrite: FileRewrite
  /** The server process whose append-only file is known to end without an open transaction. */
  #ended: { readonly runId: string; readonly done: Promise<void> } | null = null
  #replid: string | null = null
  /** A new history that is not reported yet, because all connections must show it first. */
  #change: IncarnationChange | null = null
  #durability: Durability | null = null
  readonly #warned = new Set<string>()
  /** The number of replicas in reach; infinite until it is known. */
  #replicas = Number.POSITIVE_INFINITY
  /** The number of evicted keys since the server started, as last seen. */
  #evictedKeys = 0
  #isEvictionTold = false
  readonly #down = new Set<ServerLink>()
  #downSinceMs = 0
  #isClosed = false

  constructor(endpoint: Endpoint, options: PrimaryOptions, events: PrimaryEvents) {
    const { target, clock, random, logger, writeConnections, readConnections } = options
    this.address = endpoint.host.includes(':')
      ? `[${endpoint.host}]:${endpoint.port}`
      : `${endpoint.host}:${endpoint.port}`
    this.host = endpoint.host
    this.clock = clock
    this.random = random
    this.timeoutMs = target.timeoutMs
    this.#endpoint = endpoint
    this.#options = options
    this.#events = events
    this.#log = logger.named('store.redis').within({ redis: this.address, client: target.client })
    const many = (count: number, purpose: Purpose) => Array.from({ length: count }, () => new ServerLink(this, purpose))
    this.writes = many(writeConnections, 'write')
    this.reads = many(readConnections, 'read')
    this.control = new ServerLink(this, 'watch')
    this.#fileRewrite = new FileRewrite({
      address: this.address,
      ask: args => this.#bounded(this.control.send(args), PROBE_MS),
      clock,
      log: this.#log,
    })
    this.breaker = target.breaker.isEnabled ? this.#createBreaker() : noBreaker
  }

  /** The durability by the server's settings; null until they were read. */
  get durability(): Durability | null {
    if (this.#durability === null || !this.lacksReplicas) return this.#durability
    return { ...this.#durability, warnings: [...this.#durability.warnings, this.#shortage()] }
  }

  /** True if fewer replicas are in reach than writes must reach. */
  get lacksReplicas(): boolean {
    return this.#replicas < this.#options.waitReplicas
  }

  get connections(): number {
    return this.#links().filter(({ isConnected }) => isConnected).length
  }

  /**
   * Opens every connection, with one attempt each. Throws StoreOpenError if one fails, or if the server must not be
   * used.
   */
  async open(): Promise<void> {
    try {
      await this.control.open()
      await this.#awaitJoining()
      const durability = await this.#askDurability()
      const eviction = evictionObjection(durability.maxmemoryPolicy)
      if (eviction !== null) throw new UnusableServer(eviction)
      this.#tell(durability)
      if (this.lacksReplicas) await this.#awaitWrites()
      await Promise.all([...this.writes, ...this.reads].map(link => link.open()))
    } catch (error) {
      throw new StoreOpenError(explainFailure(error, this.address, this.#options.target), { cause: error })
    }
    this.#watchOn()
  }

  /** Opens the connections in the background, for a server that joined later. */
  start(): void {
    for (const link of this.#links()) void link.keepTrying()
    this.#watchOn()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.breaker.close()
    await Promise.all(this.#links().map(link => link.close(CLOSE_MS)))
  }

  async connect(purpose: Purpose, onLost: (error: Error) => void): Promise<Connected> {
    const { target, credentials, clientName } = this.#options
    const connection = await connect(this.#endpoint, credentials, {
      name: `${clientName}-${purpose}`,
      withinMs: Math.min(CONNECT_MS, this.timeoutMs),
      clock: this.clock,
      onLost,
    })
    try {
      const info = await this.#askUntilLoaded(connection)
      const objection = versionObjection(info) ?? this.#roleObjection(info)
      if (objection !== null) throw new UnusableServer(objection)
      await this.#endTransaction(connection, info)
      const localAddress = target.metrics.tellsLocalAddresses ? await this.#askLocalAddress(connection) : null
      this.#saw(info.replid)
      return { connection, incarnation: info.replid, localAddress }
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  check(): void {
    this.breaker.check()
  }

  isUp(link: ServerLink): void {
    const isAgain = link.connection > 1
    if (isAgain) this.#options.metrics.count('svc.redis.reconnects', { client: this.#options.target.client })
    if (this.#down.delete(link) && this.#down.size === 0) {
      const tookMs = Math.round(this.clock.monotonic() - this.#downSinceMs)
      this.#log.info(`all connections to Redis at ${this.address} are open again`, { tookMs })
    }
    if (link === this.control) {
      this.#fileRewrite.begin()
      void this.#rewriteFile()
      if (isAgain) void this.#checkAgain()
    }
    this.#announceWhenShown()
    this.#events.changed()
  }

  isDown(link: ServerLink, { why, unresolved, localAddress }: Lost): void {
    if (this.#down.size === 0) {
      this.#downSinceMs = this.clock.monotonic()
      this.#log.warn(`a connection to Redis at ${this.address} is lost: ${why}`, { unresolved })
    }
    this.#down.add(link)
    // The next connection has another port. Labels of old connections would accumulate.
    if (localAddress !== null) this.#options.metrics.forget('local', localAddress)
  }

  couldNotConnect(error: unknown): void {
    const why = explainFailure(error, this.address, this.#options.target)
    this.#log.limited('redis.connect', PROGRESS_LOG_MS).warn(`no connection to Redis yet: ${why}`)
    this.#events.inTrouble()
  }

  answered(command: string, tookMs: number, localAddress: string | null): void {
    this.breaker.succeeded()
    const { target, metrics } = this.#options
    if (!target.metrics.isEnabled) return
    const name = target.client === 'broker' ? 'svc.redis.command' : 'svc.storage.local.redis.command'
    metrics.observe(name, { command: command.toUpperCase(), local: localAddress ?? '' }, tookMs)
  }

  gaveUp(why: string): void {
    this.breaker.failed(why)
  }

  redirected(error: RedisError): void {
    this.#events.redirected(error, this.host)
  }

  #links(): readonly ServerLink[] {
    return [this.control, ...this.writes, ...this.reads]
  }

  /**
   * Waits until the server has loaded its data, as long as it makes progress: only a person who knows the data can
   * say how long that may take.
   */
  async #askUntilLoaded(connection: Connection): Promise<ServerInfo> {
    let fromMs = this.clock.monotonic()
    let before = -1
    for (;;) {
      const info = await this.#bounded(
        askInfo(args => connection.send(args)),
        CONNECT_MS,
      )
      if (!info.isLoading || this.#isClosed) return info
      if (info.loadedBytes > before) fromMs = this.clock.monotonic()
      before = Math.max(before, info.loadedBytes)
      if (this.clock.monotonic() - fromMs >= STANDSTILL_MS)
        throw new UnusableServer(
          `is loading its data and has made no progress for ${STANDSTILL_MS / 1000} s: ${info.loadingProgress}`,
        )
      this.#log
        .limited('redis.loading', PROGRESS_LOG_MS)
        .info(`Redis at ${this.address} is loading its data: ${info.loadingProgress}`)
      await sleep(this.clock, LOADING_POLL_MS)
    }
  }

  /** Logs one line if too few replicas are left, and one when there are enough again. */
  #sawReplicas(replicas: number): void {
    const before = this.lacksReplicas
    this.#replicas = replicas
    if (this.lacksReplicas === before) return
    if (before) this.#log.info(`Redis at ${this.address} has ${replicas} replicas again: produce requests are taken`)
    else this.#log.warn(`Redis at ${this.address}: ${this.#shortage()}`)
  }

  #shortage(): string {
    return (
      `it has ${this.#replicas} replicas and svc.storage.local.write.wait-replicas is ${this.#options.waitReplicas}: ` +
      'until they are there, produce requests and commits of groups are refused'
    )
  }

  /**
   * Waits a short time for replicas that are joining: replicas that start together with the broker are not a
   * shortage.
   */
  async #awaitJoining(): Promise<void> {
    const { waitReplicas } = this.#options
    for (const fromMs = this.clock.monotonic(); waitReplicas > 0; await sleep(this.clock, REPLICAS_POLL_MS)) {
      const info = await this.#askReplication()
      if (replicasIn(info) >= waitReplicas || replicasIn(info, { orJoin: true }) < waitReplicas) return
      if (this.clock.monotonic() - fromMs >= JOINING_MS) return
    }
  }

  async #askReplication(): Promise<ServerInfo> {
    return await this.#bounded(
      askInfo(args => this.control.send(args), 'replication'),
      CONNECT_MS,
    )
  }

  /**
   * Waits until the server accepts writes. With min-replicas-to-write and too few replicas it refuses them, and a
   * broker that cannot write cannot start.
   */
  async #awaitWrites(): Promise<void> {
    const asked = this.control.send(['CONFIG', 'GET', 'min-replicas-to-write']).catch(untold)
    const [, text] = (await this.#bounded(asked, CONNECT_MS)) as readonly Reply[]
    const least = Number(text ?? 0)
    for (let isTold = false; !this.#isClosed; await sleep(this.clock, REPLICAS_POLL_MS)) {
      const { fields } = await this.#askReplication()
      if (Number(fields.get('min_slaves_good_slaves') ?? least) >= least) return
      if (!isTold)
        this.#log.warn(`Redis at ${this.address} takes no writes (min-replicas-to-write ${least}): the start waits`)
      isTold = true
    }
  }

  /**
   * Ends an open transaction in the append-only file. It runs once for each server process, before any other write
   * (file-rewrite.ts).
   */
  async #endTransaction(connection: Connection, info: ServerInfo): Promise<void> {
    if (!hasFormerFile(info)) return
    const runId = info.fields.get('run_id') ?? ''
    if (this.#ended?.runId !== runId) {
      const ending = connection.sendAll([...ENDING_TRANSACTION], () => {})
      this.#ended = { runId, done: this.#bounded(ending, CONNECT_MS).then(() => {}) }
    }
    try {
      await this.#ended.done
    } catch (error) {
      // A Redis that is full or refuses writes has no later write that could be cut off. After any other error the
      // next connect tries again.
      if (error instanceof RedisError) return
      this.#ended = null
      throw error
    }
  }

  async #rewriteFile(): Promise<void> {
    try {
      await this.#fileRewrite.look()
    } catch {
      // The check is repeated every few seconds.
    }
  }

  #roleObjection({ role, isCluster, fields }: ServerInfo): string | null {
    const { target } = this.#options
    if (isCluster !== target.isCluster)
      return isCluster
        ? `is a node of a cluster, and ${target.keys}.cluster is false; set it to true`
        : `is no cluster, and ${target.keys}.cluster is true; set it to false`
    if (role === 'master') return null
    return `is a replica of ${fields.get('master_host')}:${fields.get('master_port')}; ${target.keys} takes the primary`
  }

  /** Resolves to this connection's own address as the server sees it. */
  async #askLocalAddress(connection: Connection): Promise<string> {
    const reply = String(await this.#bounded(connection.send(['CLIENT', 'INFO']), CONNECT_MS))
    return /\baddr=(\S+)/.exec(reply)?.[1] ?? ''
  }

  #bounded<T>(reply: Promise<T>, withinMs: number): Promise<T> {
    return answerWithin(this.clock, withinMs, reply)
  }

  /** Notes the history that a connection sees. If it is a new one, every other connection checks again. */
  #saw(replid: string): void {
    const before = this.#replid
    if (before === replid) return
    this.#replid = replid
    if (before === null) return
    this.#log.warn(`Redis at ${this.address} has another history: its master_replid changed`, { before, after: replid })
    this.#options.metrics.count('svc.redis.incarnations', { client: this.#options.target.client })
    for (const link of this.#links()) if (link.isConnected) void this.#verify(link)
    this.#change = { address: this.address, before: this.#change?.before ?? before, after: replid }
    this.clock.timer(ANNOUNCE_MS, () => this.#announce())
  }

  #announce(): void {
    const change = this.#change
    if (change === null || this.#isClosed) return
    this.#change = null
    this.#events.incarnationChanged(change)
  }

  #announceWhenShown(): void {
    if (this.#links().every(({ isConnected, incarnation }) => isConnected && incarnation === this.#replid))
      this.#announce()
  }

  /**
   * Checks which server a connection leads to. It may still lead to the earlier server (a proxy, an address that
   * moved).
   */
  async #verify(link: ServerLink): Promise<void> {
    const { connection } = link
    try {
      const { replid, role } = await askInfo(args => link.send(args, { connection }), 'replication')
      if (link.connection !== connection) return
      if (replid === this.#replid && role === 'master') {
        link.incarnation = replid
        this.#announceWhenShown()
      } else link.reset('it leads to another server than the newest connection')
    } catch {
      // The connection is down or blocked by the circuit breaker. In both cases it is checked before it is used
      // again.
      link.reset('it could not be asked which server it leads to')
    }
  }

  #watchOn(): void {
    this.clock.timer(WATCH_MS, async () => {
      if (this.#isClosed) return
      await this.#watch()
      this.#watchOn()
    })
  }

  async #watch(): Promise<void> {
    if (this.breaker.state === 'open' || this.breaker.state === 'half-open') return
    const { control } = this
    if (!control.isConnected) return this.breaker.failed(`no connection to Redis at ${this.address}`)
    const { connection } = control
    try {
      const info = await this.#bounded(
        askInfo(args => control.send(args), 'replication', 'memory', 'stats'),
        PROBE_MS,
      )
      const { replid, role, fields } = info
      if (control.connection !== connection) return
      if (role !== 'master') {
        this.#events.inTrouble()
        for (const link of this.#links()) link.reset(`Redis at ${this.address} is now a replica`)
        return
      }
      control.incarnation = replid
      this.#saw(replid)
      this.#sawReplicas(replicasIn(info))
      this.#evictedKeys = Number(fields.get('evicted_keys') ?? 0)
      // The settings of a server that joined later have not been read yet either.
      if (this.#durability?.maxmemoryPolicy !== (fields.get('maxmemory_policy') ?? null)) void this.#checkAgain()
      await this.#rewriteFile()
    } catch (error) {
      const why = `Redis at ${this.address} did not answer INFO: ${error instanceof Error ? error.message : error}`
      this.breaker.failed(why)
      if (control.connection === connection) control.reset(why)
    }
  }

  async #checkAgain(): Promise<void> {
    try {
      this.#tell(await this.#askDurability())
    } catch (error) {
      this.#log
        .limited('redis.durability', PROGRESS_LOG_MS)
        .warn(`Redis at ${this.address} did not answer the check of its configuration`, { error })
    }
  }

  async #askDurability(): Promise<Durability> {
    const { credentials, waitReplicas, clientName } = this.#options
    return await askDurability(this.address, args => this.#bounded(this.control.send(args), CONNECT_MS), {
      waitReplicas,
      askReplica: async (host, port) => {
        const connection = await connect(
          { host, port },
          { ...credentials, database: 0 },
          { name: `${clientName}-probe`, withinMs: PROBE_MS, clock: this.clock, onLost: () => {} },
        )
        try {
          return await this.#bounded(
            askInfo(args => connection.send(args), 'replication'),
            PROBE_MS,
          )
        } finally {
          connection.destroy()
        }
      },
    })
  }

  /** Logs each warning once. A warning that has gone and comes back is logged again. */
  #tell(durability: Durability): void {
    this.#durability = durability
    this.#sawReplicas(durability.connectedReplicas)
    this.#tellEviction(durability)
    for (const warning of durability.warnings) {
      if (!this.#warned.has(warning)) this.#log.warn(`durability of Redis at ${this.address}: ${warning}`)
    }
    this.#warned.clear()
    for (const warning of durability.warnings) this.#warned.add(warning)
  }

  /**
   * Logs an error if the server may evict keys. A start refuses such a server; a running broker logs that Redis may
   * delete anything from now on.
   */
  #tellEviction({ maxmemoryPolicy }: Durability): void {
    const objection = evictionObjection(maxmemoryPolicy)
    if ((objection !== null) === this.#isEvictionTold) return
    this.#isEvictionTold = objection !== null
    if (objection === null) {
      this.#log.info(`Redis at ${this.address} no longer drops keys of the broker`, {
        maxmemoryPolicy,
        evictedSinceItsStart: this.#evictedKeys,
      })
      return
    }
    this.#warned.add(evictionWarning(objection))
    this.#log.error(
      `Redis at ${this.address} ${objection}: set it back at once with CONFIG SET maxmemory-policy noeviction, and in its redis.conf; give it more maxmemory, or delete records`,
    )
  }

  #createBreaker(): Breaker {
    const { target, metrics } = this.#options
    const { openMs, logIntervalMs } = target.breaker
    return createBreaker({
      clock: this.clock,
      openMs,
      probe: async () => {
        if (!this.control.isConnected) throw new Error(`no connection to Redis at ${this.address}`)
        const { connection } = this.control
        try {
          await this.#bounded(this.control.send(['PING']), PROBE_MS)
        } catch (error) {
          if (this.control.connection === connection) this.control.reset('it did not answer PING')
          throw error
        }
      },
      onMove: (state, why) => {
        metrics.count('svc.redis.breaker_moves', { client: target.client, to: state })
        this.#log
          .limited('redis.breaker', logIntervalMs)
          .warn(`the circuit breaker of Redis at ${this.address} is ${state}: ${why}`)
        // Otherwise commands in flight would wait for their whole timeout on connections that may be dead.
        if (state === 'open') for (const link of this.#links()) if (link !== this.control) link.reset(why)
        this.#events.changed()
      },
    })
  }
}
