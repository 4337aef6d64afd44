// The real brokers and the real store of one run, together with the model's state. Operations send their requests
// through it. It knows which broker leads a partition or coordinates a group, starts and stops brokers, and waits
// until the cluster is healthy. It checks only one thing itself: a cluster without faults must come to agree.

import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { assert } from '../../src/base/assert.ts'
import { systemClock, within } from '../../src/base/clock.ts'
import { KAFKA_STORAGE_ERROR, LEADER_NOT_AVAILABLE, NONE, NOT_LEADER_OR_FOLLOWER } from '../../src/protocol/errors.ts'
import { findCoordinator } from '../../src/protocol/messages/find-coordinator.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import type { Api, RequestInput, ResponseOf } from '../../src/protocol/schema.ts'
import { type Key, settingsTable, type Values } from '../../src/settings/settings.ts'
import { startBroker, type TestBroker } from '../broker.ts'
import { type BrokerProcess, startBrokerProcess } from '../process.ts'
import { startProxy, type TcpProxy } from '../proxy.ts'
import type { RedisServer } from '../redis.ts'
import { connect, type Wire } from '../wire.ts'
import { Difference, shown } from './difference.ts'
import { GroupModel } from './group-model.ts'
import type { LogModel, RetentionRule } from './log-model.ts'

export type StoreName = 'embedded' | 'redis'

/** The configuration of a run, which follows from its seed. */
export interface Plan {
  readonly store: StoreName
  readonly brokers: number
  /**
   * True if each broker is a process of its own, which can be killed. Otherwise brokers run in this process and start
   * sooner.
   */
  readonly areProcesses: boolean
  /** True if the brokers have the HTTP side, which takes longer to start. */
  readonly hasHttp: boolean
  /** The fsync mode of the embedded store. */
  readonly fsync: 'always' | 'interval'
}

export interface TopicModel {
  readonly name: string
  readonly id: string
  readonly logs: LogModel[]
  readonly rules: RetentionRule[]
  isAppendTime: boolean
  maxMessageBytes: number
}

/** One broker of the scene. */
export interface Peer {
  readonly id: number
  /** The proxy between the broker and Redis; null on the embedded store. */
  readonly proxy: TcpProxy | null
  running: TestBroker | BrokerProcess | null
  wire: Promise<Wire> | null
}

/** Errors after which a client tries again. In a cluster without faults they occur only while a leader moves. */
export const PASSING: ReadonlySet<number> = new Set([
  LEADER_NOT_AVAILABLE.code,
  NOT_LEADER_OR_FOLLOWER.code,
  KAFKA_STORAGE_ERROR.code,
])

const TOPIC_NAMES = ['orders', 'events', 'audit']
const GROUP_NAMES = ['readers', 'loaders']

/** Small values, so that the periodic work of a broker happens within a run. */
const SETTINGS: Readonly<Record<string, string>> = {
  'admin.security-enabled': 'false',
  'broker.expiry': '3s',
  'broker.produce-timeout': '30s',
  'broker.offsets-retention-check-interval': '100ms',
  'redis.circuit-breaker.open-duration': '100ms',
  'redis.timeout': '10s',
  'storage.local.embedded.journal-file-bytes': '1MB',
  'storage.local.read.connections': '2',
  'storage.local.tail-cache-bytes': '256KB',
  'storage.local.write.connections': '2',
  'storage.worker.lease-duration': '2s',
  'storage.worker.tick-interval': '100ms',
}

const NOISE_BYTES = 256 * 1024
const LONGEST_MS = 30_000

export class Scene {
  readonly plan: Plan
  readonly peers: Peer[] = []
  /** The existing topics by name. */
  readonly topics = new Map<string, TopicModel>()
  /** Names and ids of topics that are created or deleted while brokers end. It is unknown whether they exist. */
  readonly uncertain = new Set<string>()
  /** The deleted topics. */
  readonly gone: TopicModel[] = []
  readonly groups: readonly GroupModel[] = GROUP_NAMES.map(name => new GroupModel(name))
  readonly topicNames: readonly string[] = TOPIC_NAMES
  /** One line for each operation, for the report. */
  readonly trace: string[] = []
  readonly redis: RedisServer | null
  readonly #namespace: string
  readonly #bytes: Buffer
  readonly #afters: (() => Promise<void>)[] = []
  readonly #processes = new Map<Peer, BrokerProcess>()
  /** The leader's broker id, by `topic id:partition`. */
  readonly #leaders = new Map<string, number>()
  #folder = ''
  #batches = 0

  private constructor(plan: Plan, redis: RedisServer | null, namespace: string, seed: number) {
    this.plan = plan
    this.redis = redis
    this.#namespace = namespace
    this.#bytes = createHash('shake256', { outputLength: NOISE_BYTES }).update(String(seed)).digest()
  }

  /** Starts the brokers. `redis` belongs to the caller; other runs may have used it. */
  static async open(plan: Plan, seed: number, redis: RedisServer | null, namespace: string): Promise<Scene> {
    const scene = new Scene(plan, redis, namespace, seed)
    try {
      scene.#folder = await mkdtemp(join(tmpdir(), 'ketch-model-'))
      for (let i = 0; i < plan.brokers; i++) {
        const proxy = redis === null ? null : await startProxy({ target: { port: redis.port } })
        scene.peers.push({ id: i + 1, proxy, running: null, wire: null })
        await scene.start(scene.peers[i]!)
      }
      await scene.ready()
      return scene
    } catch (error) {
      await scene.close()
      throw error
    }
  }

  async close(): Promise<void> {
    for (const peer of this.peers) {
      await peer.proxy?.heal()
      await this.disconnect(peer)
    }
    for (const after of this.#afters.reverse()) await after()
    for (const { proxy } of this.peers) await proxy?.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  get running(): readonly Peer[] {
    return this.peers.filter(peer => peer.running !== null)
  }

  /**
   * True if a slow broker may lose the leadership of a partition, with an error to the client. This happens only on a
   * shared store.
   */
  get mayMove(): boolean {
    return this.plan.store === 'redis'
  }

  /** Adds a line to the report. */
  note(line: string): void {
    this.trace.push(line)
  }

  /** Returns a tag that no other batch of the run has. */
  nextTag(): string {
    return `b${++this.#batches}.`
  }

  /** Returns `length` bytes that do not compress, from an offset of the noise. */
  noise(from: number, length: number): Buffer {
    return this.#bytes.subarray(Math.min(from, NOISE_BYTES - length)).subarray(0, length)
  }

  // ---- brokers

  async start(peer: Peer): Promise<void> {
    const settings: Record<string, string> = { ...SETTINGS, 'broker.id': String(peer.id) }
    if (peer.proxy !== null) {
      const own = { 'redis.host': '127.0.0.1', 'redis.port': String(peer.proxy.port), namespace: this.#namespace }
      Object.assign(settings, own, { 'storage.local.engine': 'redis' })
    } else {
      Object.assign(settings, { 'storage.local.engine': 'embedded', 'storage.local.embedded.fsync': this.plan.fsync })
    }
    const cleanUp = { after: (end: () => Promise<void>) => void this.#afters.push(end) }
    const known = this.#processes.get(peer)
    if (known !== undefined) {
      await known.start()
      peer.running = known
    } else if (this.plan.areProcesses) {
      const full = Object.fromEntries(Object.entries(settings).map(([key, text]) => [`svc.${key}`, text]))
      peer.running = await startBrokerProcess(cleanUp, { settings: full, folder: this.#folder })
      this.#processes.set(peer, peer.running)
    } else {
      const values = Object.fromEntries(Object.entries(settings).map(([key, text]) => [key, parsed(key as Key, text)]))
      const { hasHttp } = this.plan
      const options = { dir: this.#folder, hasHttp }
      peer.running = await startBroker(cleanUp, { ...values, topics: [] } as Partial<Values>, options)
    }
  }

  /** Stops a broker: `close` shuts it down, `kill` ends it like a power failure. */
  async stop(peer: Peer, how: 'close' | 'kill'): Promise<void> {
    const { running } = peer
    assert(running !== null, 'the broker runs')
    peer.running = null
    if ('kill' in running) await running.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
    else await running.broker.close()
    await this.disconnect(peer)
    this.#leaders.clear()
  }

  // ---- requests

  /** Sends a request. Rejects if the connection ends before the answer. */
  async ask<A extends Api>(peer: Peer, api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    const wire = await this.wire(peer)
    const late = () => new Difference(`${api.name} ${version} has no answer after ${LONGEST_MS} ms: ${shown(body)}`)
    const answer = await within(systemClock, LONGEST_MS, wire.send(api, version, body), late)
    if (answer instanceof Difference) throw answer
    return answer
  }

  /** Returns the only connection to the broker, so that requests arrive in the order in which they were sent. */
  wire(peer: Peer): Promise<Wire> {
    if (peer.running === null) return Promise.reject(new Error(`broker ${peer.id} does not run`))
    peer.wire ??= connect({ port: peer.running.port })
    return peer.wire
  }

  async disconnect(peer: Peer): Promise<void> {
    const wire = await peer.wire?.catch(() => null)
    peer.wire = null
    await wire?.close()
  }

  /** Returns the leader of a partition, as it was when the cluster was healthy last. */
  leader(topic: TopicModel, partition: number): Peer {
    const id = this.#leaders.get(`${topic.id}:${partition}`)
    return this.running.find(peer => peer.id === id) ?? this.running[0]!
  }

  async coordinator(group: GroupModel): Promise<Peer> {
    const answer = await this.ask(this.running[0]!, findCoordinator, 2, { key: group.name, keyType: 0 })
    return this.running.find(peer => peer.id === answer.nodeId) ?? this.running[0]!
  }

  /** Repeats the attempt until it returns a value other than undefined. Throws a Difference if this takes too long. */
  async until<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
    const endMs = systemClock.monotonic() + LONGEST_MS
    let error: unknown
    while (systemClock.monotonic() < endMs) {
      try {
        const found = await attempt()
        if (found !== undefined) return found
      } catch (cause) {
        if (cause instanceof Difference) throw cause
        error = cause
        for (const peer of this.peers) await this.disconnect(peer)
      }
      await pause(10)
    }
    throw new Difference(`this did not happen in time: ${what}${error === undefined ? '' : ` (${error})`}`)
  }

  /** Repeats the request until its answer has no passing error. If no leader can move, the first answer counts. */
  settled<T extends { readonly errorCode: number }>(what: string, ask: () => Promise<T>): Promise<T> {
    if (!this.mayMove) return ask()
    return this.until(what, async () => {
      const answer = await ask()
      if (!PASSING.has(answer.errorCode)) return answer
      await this.ready()
      return undefined
    })
  }

  /**
   * Resolves when every broker sees every other, all brokers see the topics of the model, and all partitions and
   * groups answer without an error.
   */
  async ready(): Promise<void> {
    await this.until('the brokers agree on who lives, which topics there are, and who leads them', () => this.#agree())
    for (const topic of this.topics.values()) {
      for (const partition of topic.logs.keys()) {
        await this.until(`${topic.name}-${partition} answers where it ends`, async () => {
          const asked = { partitionIndex: partition, timestamp: -1 }
          const body = { replicaId: -1, topics: [{ name: topic.name, partitions: [asked] }] }
          const answer = await this.ask(this.leader(topic, partition), listOffsets, 4, body)
          if (answer.topics[0]!.partitions[0]!.errorCode === NONE) return true
          await this.#agree()
          return undefined
        })
      }
    }
    for (const group of this.groups) {
      await this.until(`group ${group.name} answers what it committed`, async () => {
        const body = { groupId: group.name, topics: null }
        const answer = await this.ask(await this.coordinator(group), offsetFetch, 5, body)
        return answer.errorCode === NONE ? true : undefined
      })
    }
  }

  /** Resolves with the topic of this name when all brokers return the same; null if no topic has this name. */
  async findTopic(name: string): Promise<{ id: string; partitions: number } | null> {
    const { found } = await this.until(`the brokers agree on topic ${name}`, async () => {
      const views: string[] = []
      let last: { id: string; partitions: number } | null = null
      for (const peer of this.running) {
        const { topics } = await this.ask(peer, metadata, 12, { topics: null })
        const topic = topics.find(each => each.name === name)
        last = topic === undefined ? null : { id: topic.topicId, partitions: topic.partitions.length }
        views.push(last?.id ?? '')
      }
      return new Set(views).size === 1 ? { found: last } : undefined
    })
    return found
  }

  async #agree(): Promise<true | undefined> {
    const expected = [...this.topics.values()].map(({ name, id, logs }) => `${name} ${id} ${logs.length}`).sort()
    const ids = this.running.map(peer => peer.id).join()
    const views: string[] = []
    for (const peer of this.running) {
      const { brokers, topics: all } = await this.ask(peer, metadata, 12, { topics: null })
      const topics = all.filter(({ name }) => !this.uncertain.has(name!))
      if (
        ids !==
        brokers
          .map(each => each.nodeId)
          .sort()
          .join()
      )
        return undefined
      const found = topics.map(each => `${each.name} ${each.topicId} ${each.partitions.length}`).sort()
      if (found.join() !== expected.join()) return undefined
      const led: string[] = []
      for (const { topicId, partitions } of topics) {
        for (const { partitionIndex, leaderId, errorCode } of partitions) {
          if (errorCode !== NONE) return undefined
          led.push(`${topicId}:${partitionIndex} ${leaderId}`)
          this.#leaders.set(`${topicId}:${partitionIndex}`, leaderId)
        }
      }
      views.push(led.sort().join())
    }
    return new Set(views).size === 1 ? true : undefined
  }
}

function parsed(key: Key, text: string): unknown {
  const { shape } = settingsTable[key]
  assert(shape.kind === 'one', `${key} takes one value`)
  return shape.type.parse(text)
}
