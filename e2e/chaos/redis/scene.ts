// The scene of a chaos run on Redis: brokers on one Redis, a proxy between each broker and Redis, and another between
// each broker and its clients. The scene stays for all rounds; each round has a topic of its own.

import { type Random, seededRandom } from '../../../src/base/random.ts'
import { metadata } from '../../../src/protocol/messages/metadata.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../../testing/process.ts'
import { startProxy, type TcpProxy } from '../../../testing/proxy.ts'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '../../../testing/redis.ts'
import { connect } from '../../../testing/wire.ts'
import { insist } from './insist.ts'

/** How long a broker may be silent before the others take over. */
export const EXPIRY_MS = 2_000

/** How long brokers wait for replicas. */
export const WAIT_MS = 1_000

export interface Node {
  readonly id: number
  readonly broker: BrokerProcess
  readonly toRedis: TcpProxy
  readonly toClients: TcpProxy
}

export interface RedisScene {
  readonly seed: number
  readonly nodes: readonly Node[]
  /** Every server, whatever its role is. */
  readonly servers: readonly RedisServer[]
  /** Whether acknowledged records may be lost while a fault allows it. */
  readonly mayLose: boolean
  /** Resolves to the servers that are primaries at the moment. */
  primaries(): Promise<readonly RedisServer[]>
}

/** A primary with one replica. A fail-over exchanges the two. */
export interface ReplicatedScene extends RedisScene {
  primary: RedisServer
  replica: RedisServer
  /** The proxy between the replica and its primary. */
  readonly replication: TcpProxy
}

export interface ClusterScene extends RedisScene {
  readonly cluster: RedisCluster
}

export interface SceneOptions {
  readonly seed: number
  /** Node flags for every broker. A test switches a safeguard off with them (without.ts). */
  readonly nodeFlags?: readonly string[]
  /** Settings of every broker, in addition to those of the scene. */
  readonly settings?: Readonly<Record<string, string>>
  /** The setting of every Redis; `always` by default. */
  readonly appendfsync?: 'always' | 'everysec'
  /** Acknowledged records may be lost while a fault says so. */
  readonly mayLose?: boolean
}

/** Short timeouts for short rounds. None of them is a safeguard. */
const SETTINGS: Readonly<Record<string, string>> = {
  'svc.broker.expiry': `${EXPIRY_MS}ms`,
  'svc.broker.rebalance-delay': '100ms',
  'svc.redis.timeout': '4s',
  'svc.storage.local.write.connections': '2',
  'svc.storage.local.read.connections': '2',
  'svc.redis.pool.max-wait': '1s',
  'svc.redis.circuit-breaker.open-duration': '300ms',
}

/** Starts three brokers on one Redis, which syncs every write by default. */
export async function openAlone(cleanUp: CleanUp, options: SceneOptions): Promise<RedisScene> {
  const { seed, appendfsync = 'always', mayLose = false } = options
  const redis = await startRedis(cleanUp, { appendfsync })
  const nodes = await startNodes(cleanUp, options, redis.port, {})
  return { seed, nodes, servers: [redis], mayLose, primaries: async () => [redis] }
}

/** Starts three brokers on a primary with one replica; both sync every write by default. */
export async function openReplicated(
  cleanUp: CleanUp,
  options: SceneOptions & { readonly waitReplicas: number },
): Promise<ReplicatedScene> {
  const { seed, waitReplicas, appendfsync = 'always', mayLose = waitReplicas === 0 } = options
  const config = { 'repl-diskless-sync-delay': '0', 'repl-ping-replica-period': '1' }
  const [primary, replica] = await Promise.all(
    [0, 1].map(() => startRedis(cleanUp, { appendfsync, config })) as [Promise<RedisServer>, Promise<RedisServer>],
  )
  const replication = await startProxy({ target: { port: primary.port } })
  cleanUp.after(() => replication.close())
  await follow(primary, replica, replication)
  const settings = {
    'svc.storage.local.write.wait-replicas': String(waitReplicas),
    'svc.storage.local.write.wait-timeout': `${WAIT_MS}ms`,
  }
  const nodes = await startNodes(cleanUp, options, primary.port, settings)
  const servers = [primary, replica]
  const scene: ReplicatedScene = {
    seed,
    nodes,
    servers,
    mayLose,
    primary,
    replica,
    replication,
    primaries: async () => [scene.primary],
  }
  return scene
}

/** Resolves when the replica follows the primary and is in step. */
export async function follow(primary: RedisServer, replica: RedisServer, replication: TcpProxy): Promise<void> {
  replication.retarget(primary.port)
  replication.reset()
  await replication.heal()
  await replica.ask('REPLICAOF', '127.0.0.1', replication.port)
  await inStep(primary)
}

/** Resolves when the replica confirms all writes of its primary until now. */
export async function inStep(primary: RedisServer): Promise<void> {
  await eventually('a replica that is in step', () => isInStep(primary), 60_000)
}

/** Returns whether the replica is in step. WAIT only covers writes of its own connection, so this writes one. */
export async function isInStep(primary: RedisServer): Promise<boolean> {
  return await primary.session(async ask => {
    await ask('PUBLISH', 'in', 'step')
    return Number(await ask('WAIT', '1', '100')) === 1
  })
}

/** Starts three brokers on a cluster of three primaries, each with a replica that the brokers wait for. */
export async function openCluster(cleanUp: CleanUp, options: SceneOptions): Promise<ClusterScene> {
  const cluster = await startRedisCluster(cleanUp, { appendfsync: 'always', replicasEach: 1 })
  const settings = {
    'svc.redis.cluster': 'true',
    'svc.storage.local.write.wait-replicas': '1',
    'svc.storage.local.write.wait-timeout': `${WAIT_MS}ms`,
  }
  const servers = [...cluster.primaries, ...cluster.replicas]
  const nodes = await startNodes(cleanUp, options, cluster.primaries[0]!.port, settings)
  return {
    seed: options.seed,
    nodes,
    servers,
    mayLose: false,
    cluster,
    async primaries() {
      const found: RedisServer[] = []
      for (const server of servers) {
        const [role] = (await server.ask('ROLE')) as readonly unknown[]
        if (role === 'master') found.push(server)
      }
      return found
    },
  }
}

async function startNodes(
  cleanUp: CleanUp,
  { seed, nodeFlags = [], settings: more = {} }: SceneOptions,
  redisPort: number,
  settings: Readonly<Record<string, string>>,
): Promise<readonly Node[]> {
  const random: Random = seededRandom(seed)
  const nodes = await Promise.all(
    [1, 2, 3].map(async id => {
      const toRedis = await startProxy({ target: { port: redisPort }, random })
      cleanUp.after(() => toRedis.close())
      const own = { 'svc.redis.uri': `redis://127.0.0.1:${toRedis.port}`, 'svc.broker.id': String(id) }
      const all = { ...SETTINGS, ...own, ...settings, ...more }
      const broker = await insist(() => startBrokerProcess(cleanUp, { settings: all, nodeFlags }))
      const toClients = await startProxy({ target: { port: broker.port }, random })
      cleanUp.after(() => toClients.close())
      return { id, broker, toRedis, toClients }
    }),
  )
  for (const { id, broker } of nodes) await seesAll(id, broker, nodes.length)
  return nodes
}

/** Resolves when the broker sees all brokers. Brokers that start together may each see fewer at first. */
async function seesAll(id: number, broker: BrokerProcess, count: number): Promise<void> {
  const wire = await connect(broker)
  const look = async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === count
  await eventually(`broker ${id} sees ${count} brokers`, look, 60_000)
  await wire.close()
}
