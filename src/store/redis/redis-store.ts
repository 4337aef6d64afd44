// The store port on Redis 7.0 or newer, a single server or a cluster. streams.ts has the streams, documents.ts the
// documents, functions.lua the decisions inside Redis, client/links.ts the connections. docs/reference/redis-keys.md
// describes the keys.

import { type Clock, sleep, type Timer, within } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { StoreOpenError } from '../open-error.ts'
import {
  isStoreFailure,
  type Pong,
  type Space,
  type Store,
  StoreUnavailable,
  type StreamId,
  strictest,
} from '../store.ts'
import { type ControlLink, followAsk, type Link, type RedisLinks } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'
import { objectionToCluster } from './client/topology.ts'
import { createDocuments } from './documents.ts'
import { fcall, loadFunctions, withFunctions } from './functions.ts'
import { keysOf } from './keys.ts'
import { refuse } from './refusals.ts'
import { createRounds } from './rounds.ts'
import { Streams } from './streams.ts'

export interface RedisStoreOptions {
  /** The connections for streams (`storage`) and for documents (`broker`). Usually both are the same object. */
  readonly links: { readonly storage: RedisLinks; readonly broker: RedisLinks }
  /** The prefix of every key. */
  readonly namespace: string
  /**
   * The number of replicas of the streams' Redis that must have a write before it is acknowledged; 0: the primary
   * alone.
   */
  readonly waitReplicas: number
  readonly waitTimeoutMs: number
  /**
   * How many milliseconds an opening under a new incarnation waits for a broker that led before; VOUCH_MS by default.
   */
  readonly vouchMs?: number
  readonly clock: Clock
  readonly random: Random
  /** Gets sentences for the operator. */
  readonly report: (message: string) => void
  /** Called with the number of lost offsets, after a stream has lost its end and the loss was reported. */
  readonly onLostEnd: (offsets: number) => void
}

/** The version of the format that docs/reference/redis-keys.md describes. */
const FORMAT = '3'

/** The format before, which has no rewrites. A store of this format becomes one of FORMAT when it is opened. */
const FORMER_FORMAT = '2'

/** The milliseconds between two checks if streams have moved to another primary. */
const LOOK_MS = 2_000

/** The milliseconds after which running brokers are connected again and have seen the new incarnation. */
const VOUCH_MS = 3_000

/** Opens the store. It owns the links: they are closed with the store, and also if this function throws. */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const {
    links,
    namespace,
    waitReplicas: replicas,
    waitTimeoutMs: timeoutMs,
    clock,
    random,
    report,
    onLostEnd,
  } = options
  const { vouchMs = VOUCH_MS } = options
  const { storage, broker } = links
  const distinct = [...new Set([storage, broker])]
  const keys = keysOf(namespace)
  const rounds = createRounds({ replicas, timeoutMs, clock })
  const streams = new Streams({ links: storage, keys, rounds, replicas, clock, random, vouchMs, report, onLostEnd })
  // Replicas are required only where the streams are. A separate Redis of documents needs none.
  const ofDocuments =
    broker === storage ? { rounds, replicas } : { rounds: createRounds({ replicas: 0, timeoutMs, clock }), replicas: 0 }
  const documents = createDocuments({ links: broker, keys, ...ofDocuments })
  const closeLinks = () => Promise.all(distinct.map(each => each.close()))
  try {
    for (const each of distinct) {
      await loadFunctions(each).catch(error => refuse(error, 'loading the functions'))
      await checkFormat(each, keys.format)
    }
  } catch (error) {
    await closeLinks()
    throw error
  }
  const news = new News()
  const look = async () => news.tell(await streams.renew())
  storage.onIncarnation(() => void look())
  // If another primary takes over a slot, no server has a new incarnation, so the timer looks for it.
  let looking: Timer
  const lookLater = () => {
    looking = clock.timer(LOOK_MS, () => void look().then(lookLater))
  }
  lookLater()

  /** Set by close(): later calls are refused. */
  let isClosed = false
  const running = new Set<Promise<unknown>>()
  function call<T>(verb: () => Promise<T>): Promise<T> {
    if (isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
    const outcome = verb()
    const end = () => void running.delete(settled)
    const settled: Promise<void> = outcome.then(end, end)
    running.add(settled)
    return outcome
  }

  let closing: Promise<void> | null = null
  async function close(): Promise<void> {
    isClosed = true
    looking.cancel()
    await Promise.all(running)
    await streams.close()
    await closeLinks()
    news.end()
  }

  return {
    description: `${distinct.map(({ description }) => description).join('; documents on ')}, under ${namespace}:`,
    get breaker() {
      return strictest(distinct.map(({ breaker }) => breaker))
    },
    create: ids =>
      call(async () => {
        await keepFormat(storage, keys.format)
        await streams.create(ids)
      }),
    remove: ids => call(() => streams.remove(ids)),
    streams: () => call(() => streams.list()),
    space: () => call(() => spaceOf(storage)),
    usage: ids => call(() => streams.usage(ids)),
    async ping(withinMs) {
      const pings = distinct.flatMap(each => {
        const part = each === broker ? 'redis' : 'storage-redis'
        return each.primaries().map(link => pingOne(link, each, { part, withinMs, clock, isClosed: () => isClosed }))
      })
      return await Promise.all(pings)
    },
    open: (id, known, floor) => call(() => streams.open(id, known, floor)),
    append: append => call(() => streams.append(append)),
    read: (id, from, limits) => call(() => streams.read(id, from, limits)),
    trim: (id, epoch, before, rows) => call(() => streams.trim(id, epoch, before, rows)),
    rewrite: rewrite => call(() => streams.rewrite(rewrite)),
    remake: (id, epoch, end) => call(() => streams.remake(id, epoch, end)),
    load: (kind, name) => call(() => documents.load(kind, name)),
    version: (kind, name) => call(() => documents.version(kind, name)),
    list: kind => call(() => documents.list(kind)),
    names: kind => call(() => documents.names(kind)),
    commit: commit =>
      call(async () => {
        if (commit.expect === 0) await keepFormat(broker, keys.format)
        return await documents.commit(commit)
      }),
    confirm: (id, epoch) => call(() => streams.confirm(id, epoch)),
    renewed: () => news.next(),
    close: () => (closing ??= close()),
  }
}

/** Collects the streams that must be opened again, until a caller requests them. */
class News {
  #told = new Set<StreamId>()
  #isOver = false
  #arrived = Promise.withResolvers<void>()

  tell(streams: readonly StreamId[]): void {
    if (streams.length === 0) return
    for (const stream of streams) this.#told.add(stream)
    this.#arrived.resolve()
  }

  end(): void {
    this.#isOver = true
    this.#arrived.resolve()
  }

  async next(): Promise<readonly StreamId[] | null> {
    await this.#arrived.promise
    if (this.#isOver) return null
    const streams = [...this.#told]
    this.#told.clear()
    this.#arrived = Promise.withResolvers()
    return streams
  }
}

/**
 * Writes the format if the key is missing, before anything else if the store was emptied while brokers run. Raises the
 * format before.
 */
async function keepFormat(links: RedisLinks, key: string): Promise<void> {
  // A full Redis refuses even a SET that would change nothing.
  const found = await followAsk(links, key, links.write(key), link => link.send(['GET', key])).catch(error =>
    refuse(error, `reading ${key}`),
  )
  const change =
    found === null
      ? ['SET', key, FORMAT, 'NX']
      : String(found) === FORMER_FORMAT
        ? fcall('raiseformat', [key], [FORMER_FORMAT, FORMAT])
        : null
  if (change === null) return
  const write = () => followAsk(links, key, links.write(key), link => link.send(change))
  await withFunctions(links, write).catch(error => refuse(error, `writing ${key}`))
}

async function checkFormat(links: RedisLinks, key: string): Promise<void> {
  await keepFormat(links, key)
  const link = links.read(key)
  const found = String(await link.send(['GET', key]).catch(error => refuse(error, `reading ${key}`)))
  if (found !== FORMAT) {
    throw new StoreOpenError(
      `${key} at ${link.address} is ${JSON.stringify(found)}; this version of Ketch reads and writes format ${FORMAT}, and raises format ${FORMER_FORMAT}`,
    )
  }
}

/** The milliseconds between two attempts of a ping while its connection is being restored. */
const PING_POLL_MS = 100

/**
 * Sends PING on the connection that the circuit breaker does not block. If the connection is lost, waits for the next
 * one while there is time. A cluster node replies to PING even while it refuses every key, so its cluster state is
 * checked too.
 */
async function pingOne(
  link: ControlLink,
  links: RedisLinks,
  at: { part: Pong['part']; withinMs: number; clock: Clock; isClosed: () => boolean },
): Promise<Pong> {
  const { part, withinMs, clock, isClosed } = at
  const { address } = link
  const startedAtMs = clock.monotonic()
  const leftMs = () => withinMs - (clock.monotonic() - startedAtMs)
  const ask = async (): Promise<string | null> => {
    for (;;) {
      if (isClosed()) return 'the store is closed'
      const failure = await link.send(['PING']).then(() => null, failureOf)
      if (failure === null) return heldBack(link) ?? (links.isCluster ? await askCluster(link) : null)
      if (!(failure instanceof StoreUnavailable) || leftMs() <= PING_POLL_MS) return failure.message
      await sleep(clock, PING_POLL_MS)
    }
  }
  const failure = await within(clock, withinMs, ask(), () => `no answer to PING within ${withinMs} ms`)
  const { warnings = [], ...facts } = links.durability().find(each => each.address === address) ?? {}
  return { part, place: address, failure, tookMs: clock.monotonic() - startedAtMs, durability: { facts, warnings } }
}

/** Returns why every command except PING still fails although the server is reachable again; null if none fails. */
function heldBack(link: ControlLink): string | null {
  try {
    link.check()
    return null
  } catch (error) {
    return failureOf(error).message
  }
}

/**
 * Returns why the cluster refuses keys, according to this node. Returns null if it does not refuse them, or if the
 * broker's Redis user may not read the state.
 */
async function askCluster(link: Link): Promise<string | null> {
  const info = await link.send(['CLUSTER', 'INFO']).catch(failureOf)
  if (!(info instanceof Error)) return objectionToCluster(info)
  return info instanceof RedisError && info.code === 'NOPERM' ? null : info.message
}

/**
 * Returns the reason why a command failed: the server's error reply (LOADING, NOPERM) or its absence. Throws every
 * other error.
 */
function failureOf(error: unknown): Error {
  if (error instanceof RedisError || isStoreFailure(error)) return error
  throw error
}

/** Returns the space of all primaries together. The size is unknown if a primary has no maxmemory. */
async function spaceOf(links: RedisLinks): Promise<Space> {
  const memories = await Promise.all(links.primaries().map(memoryOf))
  const place = memories.map(({ address }) => address).join(', ')
  if (memories.some(({ max }) => max === 0)) return { place, totalBytes: -1, usableBytes: -1 }
  const sum = (pick: (memory: (typeof memories)[number]) => number) =>
    memories.reduce((total, memory) => total + pick(memory), 0)
  return {
    place,
    totalBytes: sum(({ max }) => max),
    usableBytes: sum(({ max, used }) => Math.max(0, max - used)),
  }
}

async function memoryOf(link: Link): Promise<{ address: string; used: number; max: number }> {
  const info = String(
    await link.send(['INFO', 'memory']).catch(error => refuse(error, 'while asking for its memory limits')),
  )
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
  return { address: link.address, used: field('used_memory'), max: field('maxmemory') }
}
