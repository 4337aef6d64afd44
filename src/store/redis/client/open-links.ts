// All connections to one Redis. It chooses the primary and the connection for each key, limits the calls that run at
// once with a pool, and keeps a cluster's map of slots. It reads the map again whenever a reply or a lost connection
// shows that it may have changed. A Redis without cluster mode is one primary with all slots.

import { sleep, type Timer } from '../../../base/clock.ts'
import type { ObservedChild } from '../../../telemetry/metrics.ts'
import { StoreOpenError } from '../../open-error.ts'
import { type BreakerState, isStoreFailure, StoreUnavailable, strictest } from '../../store.ts'
import { BREAKER_MOVES } from './breaker.ts'
import { explainFailure, isAway } from './connect-failure.ts'
import { connect, credentialsOf } from './connection.ts'
import type {
  Argument,
  ControlLink,
  Durability,
  IncarnationChange,
  Link,
  RedisLinks,
  Reply,
  SendOptions,
} from './links.ts'
import { CONNECT_MS, Primary, type PrimaryOptions } from './primary.ts'
import { RedisError } from './redis-error.ts'
import type { ServerLink } from './server-link.ts'
import { Slots } from './slots.ts'
import { objectionToCluster, parseRedirection, parseSlots, SLOTS, type SlotRange, slotOf } from './topology.ts'

/**
 * Connects to all primaries. Throws StoreOpenError, and leaves nothing open, if one of them cannot be used. If a
 * primary of a cluster is unreachable, it waits, because the cluster may repair itself or may still be starting.
 */
export async function openRedisLinks(options: Omit<PrimaryOptions, 'credentials'>): Promise<OpenRedisLinks> {
  const links = new OpenRedisLinks({ ...options, credentials: credentialsOf(options.target) })
  try {
    await links.open()
  } catch (error) {
    await links.close()
    throw error
  }
  return links
}

/** The most redirections that one read follows. */
const MOST_REDIRECTIONS = 5
/** The milliseconds between two reads of a cluster's map of slots. */
const REFRESH_PAUSE_MS = 200
const ASK_MS = 2000
/** The milliseconds for which connections to a node without slots stay open after the last ASK that named it. */
const IMPORTING_MS = 60_000

/** How many milliseconds a start waits for a cluster that is not complete. */
const INCOMPLETE_MS = 60_000
const INCOMPLETE_POLL_MS = 500
const PROGRESS_LOG_MS = 5000

type Side = 'writes' | 'reads'
const ACQUISITIONS = Object.freeze(['success', 'timeout', 'error'] as const)
type Acquisition = (typeof ACQUISITIONS)[number]

export class OpenRedisLinks implements RedisLinks {
  readonly #options: PrimaryOptions
  readonly #slots: Slots
  readonly #primaries = new Map<string, Primary>()
  /** The primary of each slot. */
  readonly #owners: (Primary | null)[] = new Array(SLOTS).fill(null)
  /** The nodes that ASK named, and when it did. They may not have a slot yet. */
  readonly #importing = new Map<Primary, number>()
  readonly #asking = new WeakMap<ServerLink, AskingLink>()
  readonly #acquisitions = new Map<Acquisition, ObservedChild>()
  readonly #listeners: ((change: IncarnationChange) => void)[] = []
  /** Called whenever a connection comes up or a slot moves. */
  readonly #stirred = new Set<() => void>()
  #isRefreshing = false
  #isClosed = false

  constructor(options: PrimaryOptions) {
    this.#options = options
    this.#slots = new Slots(options.target.pool.size, options.clock)
    const { metrics, target } = options
    if (options.carriesStreams) {
      metrics.sample('svc.storage.local.pool.pending', {}, () => this.#slots.pending)
      // The series exist from the start: a dashboard shows no increase for a series that begins with its first event.
      for (const result of ACQUISITIONS) metrics.child('svc.storage.local.pool.acquire', { result })
    }
    for (const to of BREAKER_MOVES) metrics.child('svc.redis.breaker_moves', { client: target.client, to })
    metrics.sample('svc.redis.connections', { client: target.client }, () =>
      [...this.#primaries.values()].reduce((sum, { connections }) => sum + connections, 0),
    )
  }

  async open(): Promise<void> {
    const { target, clock, logger } = this.#options
    if (!target.isCluster) {
      const primary = this.#primaryAt(target)
      this.#owners.fill(primary)
      return await primary.open()
    }
    const opened = new Set<Primary>()
    const fromMs = clock.monotonic()
    for (let ranges = await this.#askFirstSlots(); ; ranges = (await this.#askKnown()) ?? ranges) {
      this.#assign(ranges)
      const missing = (await this.#openPrimaries(opened)) ?? (await this.#askWhole())
      if (missing === null) return
      const waitedMs = clock.monotonic() - fromMs
      if (waitedMs >= INCOMPLETE_MS) throw missing
      const waited = `${Math.round(waitedMs / 1000)} of ${INCOMPLETE_MS / 1000} s`
      logger
        .named('store.redis')
        .limited('redis.incomplete', PROGRESS_LOG_MS)
        .warn(`waiting for the whole Redis Cluster, ${waited}: ${missing.message}`)
      await sleep(clock, INCOMPLETE_POLL_MS)
    }
  }

  /** Opens the primaries. Returns the reason if one cannot be reached, or null. Throws if one must not be used. */
  async #openPrimaries(opened: Set<Primary>): Promise<StoreOpenError | null> {
    const opening = [...this.#primaries].map(async ([key, primary]) => {
      if (opened.has(primary)) return null
      try {
        await primary.open()
        opened.add(primary)
        return null
      } catch (error) {
        if (!(error instanceof StoreOpenError) || !isAway(error.cause)) throw error
        // By the next attempt another primary may have its slots.
        this.#primaries.delete(key)
        await primary.close()
        return error
      }
    })
    return (await Promise.all(opening)).find(error => error !== null) ?? null
  }

  /**
   * Returns why the cluster refuses keys, or null. The cluster accepts a restored primary only after some time; until
   * then no primary serves any slot (cluster-require-full-coverage).
   */
  async #askWhole(): Promise<StoreOpenError | null> {
    for (const { control, address } of this.#primaries.values()) {
      try {
        const objection = objectionToCluster(await control.send(['CLUSTER', 'INFO']))
        if (objection !== null) return new StoreOpenError(`Redis at ${address} ${objection}`)
      } catch (error) {
        // A Redis user without the permission for the command continues without the answer.
        if (error instanceof RedisError && error.code === 'NOPERM') continue
        if (!isStoreFailure(error)) throw error
        return new StoreOpenError(error.message, { cause: error })
      }
    }
    return null
  }

  get isCluster(): boolean {
    return this.#options.target.isCluster
  }

  get breaker(): BreakerState {
    return strictest([...this.#primaries.values()].map(({ breaker }) => breaker.state))
  }

  get description(): string {
    const { target } = this.#options
    const known = this.durability()
    const versions = [...new Set(known.map(({ version }) => version))].join(', ')
    const fsync = (one: Durability) =>
      one.appendonly ? `appendfsync ${one.appendfsync ?? 'not known'}` : 'no append-only file'
    const promises = [...new Set(known.map(fsync))].join(', ')
    const where = known.map(({ address }) => address).join(', ')
    return `Redis ${versions} at ${where}${target.isCluster ? ' (cluster)' : ''}${target.tls ? ' over TLS' : ''}, ${promises}`
  }

  durability(): readonly Durability[] {
    return [...this.#primaries.values()].flatMap(({ durability }) => durability ?? [])
  }

  write(key: string): Link {
    const slot = slotOf(key)
    return this.#linkOf(slot, 'writes') ?? absentLink(slot)
  }

  read(key: string): Link {
    return new FollowingLink(this, key)
  }

  async borrow<T>(key: string, work: (link: Link) => Promise<T>): Promise<T> {
    const { clock, target } = this.#options
    const { maxWaitMs, size } = target.pool
    const startedAtMs = clock.monotonic()
    // Usually both the slot and the connection are available, and no wait is necessary.
    if (!this.#slots.takeFree() && !(await this.#slots.take(maxWaitMs))) {
      this.#acquired('timeout', startedAtMs)
      throw new StoreUnavailable(`no connection of the pool came free within ${maxWaitMs} ms; all ${size} are in use`)
    }
    try {
      const slot = slotOf(key)
      let link: Link
      try {
        link =
          this.#ready(this.#owners[slot] ?? null, slot, 'writes') ??
          (await this.connected(slot, 'writes', Math.max(0, maxWaitMs - (clock.monotonic() - startedAtMs))))
      } catch (error) {
        this.#acquired('error', startedAtMs)
        throw error
      }
      this.#acquired('success', startedAtMs)
      return await work(link)
    } finally {
      this.#slots.giveBack()
    }
  }

  primaries(): readonly ControlLink[] {
    return [...this.#primaries.values()].map(({ control }) => control)
  }

  onIncarnation(listener: (change: IncarnationChange) => void): void {
    this.#listeners.push(listener)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#primaries.values()].map(primary => primary.close()))
  }

  /**
   * Resolves to the connection to the slot's primary once it is open. Throws StoreUnavailable if that takes too long
   * or the circuit breaker is open.
   */
  async connected(slot: number, side: Side, withinMs = this.#options.target.pool.maxWaitMs): Promise<ServerLink> {
    return await this.#standing(() => this.#owners[slot] ?? null, slot, side, withinMs)
  }

  /**
   * Resolves to the connection for one read of a key that has moved to another primary before its slot, as an ASK
   * error says.
   */
  async askedRead(slot: number, refusal: RedisError, askedHost: string): Promise<ServerLink> {
    return await this.#asked(slot, refusal, askedHost, 'reads')
  }

  async asked(key: string, refusal: RedisError): Promise<Link> {
    const slot = slotOf(key)
    const link = await this.#asked(slot, refusal, this.#owners[slot]?.host ?? '', 'writes')
    // There is one AskingLink for each connection, so that writes of one turn on it share a WAIT.
    const known = this.#asking.get(link)
    if (known !== undefined) return known
    const asking = new AskingLink(link)
    this.#asking.set(link, asking)
    return asking
  }

  async #asked(slot: number, { message }: RedisError, askedHost: string, side: Side): Promise<ServerLink> {
    const primary = this.#joined(parseRedirection(message, askedHost))
    this.#importing.set(primary, this.#options.clock.monotonic())
    return await this.#standing(() => primary, slot, side, this.#options.target.pool.maxWaitMs)
  }

  /** Returns the connection that a read of the slot would take, whether it is open or not. */
  currentRead(slot: number): Link {
    return this.#linkOf(slot, 'reads') ?? absentLink(slot)
  }

  /** Reads the cluster's map of slots again in the background. Calls that come meanwhile share the same read. */
  refresh(): void {
    if (!this.#options.target.isCluster || this.#isClosed || this.#isRefreshing) return
    this.#isRefreshing = true
    void this.#refresh()
  }

  async #standing(find: () => Primary | null, slot: number, side: Side, withinMs: number): Promise<ServerLink> {
    let isLate = false
    let timer: Timer | null = null
    try {
      for (;;) {
        const owner = find()
        const link = this.#ready(owner, slot, side)
        if (link !== null) return link
        if (isLate) {
          const where = owner === null ? `a primary of slot ${slot}` : owner.address
          const why = `no connection to Redis at ${where} within ${withinMs} ms`
          owner?.gaveUp(why)
          this.refresh()
          throw new StoreUnavailable(why)
        }
        const stirred = Promise.withResolvers<void>()
        this.#stirred.add(stirred.resolve)
        timer ??= this.#options.clock.timer(withinMs, () => {
          isLate = true
          this.#stir()
        })
        await stirred.promise
      }
    } finally {
      timer?.cancel()
    }
  }

  /** Returns the connection if it is open, else null. Throws StoreUnavailable if the circuit breaker is open. */
  #ready(owner: Primary | null, slot: number, side: Side): ServerLink | null {
    if (owner === null) return null
    owner.check()
    const link = chosen(owner[side], slot)
    return link.isConnected ? link : null
  }

  #acquired(result: Acquisition, sinceMs: number): void {
    const { clock, metrics } = this.#options
    let acquisition = this.#acquisitions.get(result)
    if (acquisition === undefined) {
      acquisition = metrics.child('svc.storage.local.pool.acquire', { result })
      this.#acquisitions.set(result, acquisition)
    }
    acquisition.observe(clock.monotonic() - sinceMs)
  }

  #linkOf(slot: number, side: Side): ServerLink | null {
    const owner = this.#owners[slot]
    return owner ? chosen(owner[side], slot) : null
  }

  #stir(): void {
    const woken = [...this.#stirred]
    this.#stirred.clear()
    for (const wake of woken) wake()
  }

  #primaryAt({ host, port }: { host: string; port: number }): Primary {
    const key = `${host}:${port}`
    const known = this.#primaries.get(key)
    if (known !== undefined) return known
    const primary = new Primary({ host, port }, this.#options, {
      changed: () => this.#stir(),
      incarnationChanged: change => {
        for (const listener of this.#listeners) listener(change)
      },
      redirected: (error, askedHost) => this.#redirected(error, askedHost),
      inTrouble: () => this.refresh(),
    })
    this.#primaries.set(key, primary)
    return primary
  }

  #redirected(error: RedisError, askedHost: string): void {
    if (error.code === 'MOVED') {
      const moved = parseRedirection(error.message, askedHost)
      this.#owners[moved.slot] = this.#joined(moved)
      this.#stir()
    }
    this.refresh()
  }

  /** Returns the primary at this address. If it is not known yet, creates it. */
  #joined(endpoint: { host: string; port: number }): Primary {
    const isNew = !this.#primaries.has(`${endpoint.host}:${endpoint.port}`)
    const primary = this.#primaryAt(endpoint)
    if (isNew && !this.#isClosed) primary.start()
    return primary
  }

  #assign(ranges: readonly SlotRange[]): void {
    const owners = new Set<Primary>()
    this.#owners.fill(null)
    for (const { first, last, host, port } of ranges) {
      const primary = this.#primaryAt({ host, port })
      owners.add(primary)
      this.#owners.fill(primary, first, last + 1)
    }
    const nowMs = this.#options.clock.monotonic()
    for (const [key, primary] of this.#primaries) {
      const askedAtMs = this.#importing.get(primary) ?? Number.NEGATIVE_INFINITY
      if (owners.has(primary) || nowMs - askedAtMs < IMPORTING_MS) continue
      this.#importing.delete(primary)
      this.#primaries.delete(key)
      void primary.close()
    }
  }

  async #refresh(): Promise<void> {
    await sleep(this.#options.clock, REFRESH_PAUSE_MS)
    this.#isRefreshing = false
    const ranges = (await this.#askKnown()) ?? (await this.#askFirstSlots().catch(() => null))
    if (ranges === null || this.#isClosed) return
    const before = new Set(this.#primaries.values())
    this.#assign(ranges)
    for (const primary of this.#primaries.values()) if (!before.has(primary)) primary.start()
    this.#stir()
  }

  async #askKnown(): Promise<readonly SlotRange[] | null> {
    for (const { control, host } of this.#primaries.values()) {
      if (!control.isConnected) continue
      const reply = await Promise.race([
        control.send(['CLUSTER', 'SLOTS']).catch(() => null),
        sleep(this.#options.clock, ASK_MS).then(() => null),
      ])
      const ranges = reply === null ? [] : parseSlots(reply, host)
      if (ranges.length > 0) return ranges
    }
    return null
  }

  /** Reads the map of slots from the address in the settings. The cluster may know that node by another name. */
  async #askFirstSlots(): Promise<readonly SlotRange[]> {
    const { target, credentials, clock, clientName } = this.#options
    const name = `${clientName}-slots`
    const address = `${target.host}:${target.port}`
    try {
      const connection = await connect(target, credentials, {
        name,
        withinMs: Math.min(CONNECT_MS, target.timeoutMs),
        clock,
        onLost: () => {},
      })
      try {
        const ranges = parseSlots(await connection.send(['CLUSTER', 'SLOTS']), target.host)
        if (ranges.length === 0) throw new Error('it knows of no slots: the cluster is not made yet')
        return ranges
      } finally {
        connection.destroy()
      }
    } catch (error) {
      throw new StoreOpenError(explainFailure(error, address, target), { cause: error })
    }
  }
}

/** Returns the one of a primary's connections that the slot uses. */
function chosen(links: readonly ServerLink[], slot: number): ServerLink {
  return links[slot % links.length]!
}

/** A link for writes to a node to which their slot migrates. */
class AskingLink implements Link {
  readonly #link: ServerLink

  constructor(link: ServerLink) {
    this.#link = link
  }

  get address(): string {
    return this.#link.address
  }

  get incarnation(): string {
    return this.#link.incarnation
  }

  get connection(): number {
    return this.#link.connection
  }

  get lacksReplicas(): boolean {
    return this.#link.lacksReplicas
  }

  async send(args: readonly Argument[], options?: SendOptions): Promise<Reply> {
    return await this.#link.sendAsking(args, options)
  }

  async transaction(commands: readonly (readonly Argument[])[]): Promise<readonly (Reply | RedisError)[]> {
    return await this.#link.transactionAsking(commands)
  }
}

/**
 * A link for reads. It waits for the connection and follows the cluster's redirections. If it sends a read again, the
 * first one was not executed.
 */
class FollowingLink implements Link {
  readonly #links: OpenRedisLinks
  readonly #slot: number

  constructor(links: OpenRedisLinks, key: string) {
    this.#links = links
    this.#slot = slotOf(key)
  }

  get address(): string {
    return this.#links.currentRead(this.#slot).address
  }

  get incarnation(): string {
    return this.#links.currentRead(this.#slot).incarnation
  }

  get connection(): number {
    return this.#links.currentRead(this.#slot).connection
  }

  get lacksReplicas(): boolean {
    return this.#links.currentRead(this.#slot).lacksReplicas
  }

  async send(args: readonly Argument[], options?: SendOptions): Promise<Reply> {
    return await this.#follow(
      link => link.send(args, options),
      link => link.sendAsking(args),
    )
  }

  async transaction(commands: readonly (readonly Argument[])[]): Promise<readonly (Reply | RedisError)[]> {
    return await this.#follow(
      link => link.transaction(commands),
      link => link.transactionAsking(commands),
    )
  }

  async #follow<T>(here: (link: ServerLink) => Promise<T>, asking: (link: ServerLink) => Promise<T>): Promise<T> {
    for (let redirections = 0; ; redirections++) {
      const link = await this.#links.connected(this.#slot, 'reads')
      try {
        return await here(link)
      } catch (error) {
        if (!(error instanceof RedisError) || redirections === MOST_REDIRECTIONS) throw error
        if (error.code === 'ASK') return await asking(await this.#links.askedRead(this.#slot, error, link.host))
        if (error.code !== 'MOVED') throw error
      }
    }
  }
}

/** Returns a link for a slot that no primary has. Every command on it rejects. */
function absentLink(slot: number): Link {
  const refuse = () => Promise.reject(new StoreUnavailable(`no primary of the Redis Cluster has slot ${slot}`))
  const known = { address: 'nowhere', incarnation: '', connection: 0, lacksReplicas: false }
  return { ...known, send: refuse, transaction: refuse }
}
