// Starts real redis-server processes on free ports of 127.0.0.1, in folders that are removed with the test: a single
// server, a primary with replicas, or a cluster. A test can stop, kill, pause and restart each server on its data.
// The commands of a test use connections of their own, never the connections under test. Without redis-server the
// tests are skipped with a reason.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, RESP_TYPES } from '@redis/client'
import { assert } from '../src/base/assert.ts'
import type { CleanUp } from './broker.ts'
import type { Certificate } from './certificate.ts'
import { endWithUs } from './end-with-us.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { hasProgram } from './programs.ts'

/** Why no Redis can start here, for a test's `skip`; false if it can. */
export const noRedis: string | false = hasProgram('redis-server')
  ? false
  : 'SKIPPED redis: apt-get install redis-server (7.0 or newer)'

export interface RedisOptions {
  /** The `appendfsync` of the append-only file; without it there is no such file. */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  readonly password?: string
  /**
   * Lines of an ACL file (`user ketch on >secret ~ketch:* +@all`). The `default` user stays unchanged unless a line
   * names it.
   */
  readonly acl?: readonly string[]
  /** TLS with a certificate for 127.0.0.1; the server then has no plain port. */
  readonly tls?: Certificate
  readonly port?: number
  /** Other settings of redis.conf: `{ maxmemory: '64mb', 'repl-diskless-sync': 'no' }`. */
  readonly config?: Readonly<Record<string, string>>
}

export interface RedisServer {
  readonly host: '127.0.0.1'
  /** The port stays the same after a restart. */
  readonly port: number
  readonly uri: string
  readonly folder: string
  readonly pid: number
  /** Returns everything that the server has printed, since its first start. */
  output(): string
  /** Sends one command. Resolves with text, a number, a list of them, or null. Rejects with the server's error. */
  ask(...args: readonly (string | number)[]): Promise<unknown>
  /** Sends many commands on one connection. Bulk strings are Buffers. */
  session<T>(work: (ask: RedisServer['ask']) => Promise<T>): Promise<T>
  /** Resolves with a field of INFO, such as `master_replid`. */
  info(field: string): Promise<string>
  /** Sends the signal and resolves when the server has ended. SIGTERM saves as redis.conf says, SIGKILL does not. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /**
   * Starts the server again on the same folder and port, with `config` in addition. Resolves when the server answers,
   * even with LOADING.
   */
  start(config?: Readonly<Record<string, string>>): Promise<void>
  /** Resolves when the server has read its files, or the data from its primary. */
  loaded(): Promise<void>
  /** Sends SIGSTOP: the server keeps its sockets and does not answer until resume(). */
  pause(): void
  resume(): void
}

/** Starts one server and resolves when it answers. */
export async function startRedis(cleanUp: CleanUp, options: RedisOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-redis-'))
  const port = options.port ?? (await freePort())
  const aclFile = join(folder, 'users.acl')
  if (options.acl) {
    // An ACL file replaces requirepass.
    const guard = options.password === undefined ? [] : [`user default on >${options.password} ~* &* +@all`]
    await writeFile(aclFile, [...guard, ...options.acl].map(line => `${line}\n`).join(''))
  }
  const base = configOf(options, { folder, port, aclFile })
  let child: ChildProcess
  let output = ''
  let gone: Promise<void> = Promise.resolve()
  let isRunning = false

  const ask = async (args: readonly (string | number)[]) => {
    const client = await connectAdmin(port, options)
    try {
      return await client.sendCommand(args.map(String))
    } finally {
      client.destroy()
    }
  }

  const start = async (config: Readonly<Record<string, string>> = {}) => {
    assert(!isRunning, `the Redis on port ${port} is running`)
    const args = Object.entries({ ...base, ...config }).flatMap(([key, value]) => [`--${key}`, value])
    const from = output.length
    child = spawn('redis-server', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    endWithUs(child)
    isRunning = true
    child.stdout!.on('data', chunk => (output += chunk))
    child.stderr!.on('data', chunk => (output += chunk))
    gone = new Promise(resolve => {
      const end = () => {
        isRunning = false
        resolve()
      }
      child.on('close', end)
      child.on('error', error => {
        output += error.message
        end()
      })
    })
    await eventually(
      `a Redis that answers on port ${port}`,
      async () => {
        if (!isRunning) throw new Error(`redis-server ended; it printed:\n${output.slice(from)}`)
        const answers = await ask(['PING']).then(
          () => true,
          (error: Error) => !/ECONNREFUSED|closed/i.test(error.message),
        )
        return answers || (await pause(5, false))
      },
      60_000,
    )
  }

  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    child.kill('SIGCONT')
    child.kill(signal)
    await gone
  }

  cleanUp.after(async () => {
    if (isRunning) await stop('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  await start()
  const credentials = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`
  return {
    host: '127.0.0.1',
    port,
    uri: `${options.tls ? 'rediss' : 'redis'}://${credentials}127.0.0.1:${port}`,
    folder,
    get pid() {
      assert(child.pid !== undefined, 'the server was started')
      return child.pid
    },
    output: () => output,
    ask: (...args) => ask(args),
    async session(work) {
      const client = (await connectAdmin(port, options)).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
      try {
        return await work((...args) => client.sendCommand(args.map(String)))
      } finally {
        client.destroy()
      }
    },
    async info(field) {
      const found = new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(String(await ask(['INFO'])))
      assert(found !== null, `INFO has ${field}`)
      return found[1]!
    },
    stop,
    start,
    loaded: () =>
      patiently(`a Redis on port ${port} that has loaded`, () =>
        ask(['PING']).then(
          () => true,
          (error: Error) => {
            if (error.message.startsWith('LOADING')) return false
            throw error
          },
        ),
      ),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

function configOf(
  { appendfsync, password, acl, tls, config }: RedisOptions,
  { folder, port, aclFile }: { folder: string; port: number; aclFile: string },
): Record<string, string> {
  return {
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    'enable-debug-command': 'local',
    ...(tls
      ? {
          port: '0',
          'tls-port': String(port),
          'tls-cert-file': tls.certificateFile,
          'tls-key-file': tls.keyFile,
          'tls-ca-cert-file': tls.certificateFile,
          'tls-auth-clients': 'no',
          'tls-replication': 'yes',
          'tls-cluster': 'yes',
        }
      : { port: String(port) }),
    appendonly: appendfsync === undefined ? 'no' : 'yes',
    ...(appendfsync === undefined ? {} : { appendfsync }),
    ...(password === undefined ? {} : { requirepass: password, masterauth: password }),
    ...(acl === undefined ? {} : { aclfile: aclFile }),
    ...config,
  }
}

async function connectAdmin(port: number, { password, tls }: RedisOptions) {
  // The certificate check of the test's own connection is not under test.
  const secure = tls ? { tls: true as const, rejectUnauthorized: false } : {}
  const client = createClient({
    ...(password === undefined ? {} : { password }),
    socket: { host: '127.0.0.1', port, reconnectStrategy: false, ...secure },
    RESP: 2,
    disableClientInfo: true,
  })
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  client.on('error', failed.reject)
  await Promise.race([client.connect(), failed.promise])
  return client
}

/** Checks the condition every 20 ms, because each check opens a connection. */
async function patiently(what: string, condition: () => Promise<boolean>): Promise<void> {
  const look = async () => (await condition()) || (await pause(20, false))
  await eventually(what, look, 60_000)
}

export interface Replicated {
  readonly primary: RedisServer
  readonly replicas: readonly RedisServer[]
}

/** Starts a primary and replicas. Resolves when their first synchronisation is done. */
export async function startReplicated(
  cleanUp: CleanUp,
  options: RedisOptions & { replicas?: number; replicaConfig?: Readonly<Record<string, string>> } = {},
): Promise<Replicated> {
  const { replicas: count = 1, replicaConfig, ...common } = options
  const fast = { 'repl-diskless-sync-delay': '0', 'repl-ping-replica-period': '1' }
  const primary = await startRedis(cleanUp, { ...common, config: { ...fast, ...common.config } })
  const config = { ...fast, ...common.config, ...replicaConfig, replicaof: `127.0.0.1 ${primary.port}` }
  const replicas: RedisServer[] = []
  for (let at = 0; at < count; at++) replicas.push(await startRedis(cleanUp, { ...common, config }))
  // A replica counts as online before it has loaded its data, and acknowledges nothing until then.
  await patiently(`${count} replicas that are in step`, async () => {
    await primary.ask('PUBLISH', 'in', 'step')
    return Number(await primary.ask('WAIT', String(count), '100')) === count
  })
  return { primary, replicas }
}

export interface RedisCluster {
  readonly primaries: readonly RedisServer[]
  readonly replicas: readonly RedisServer[]
  /** Primaries without a slot. */
  readonly spares: readonly RedisServer[]
  /** The URI of one node, from which clients find the others. */
  readonly uri: string
  readonly slotsOf: (primary: RedisServer) => readonly [first: number, last: number]
  /**
   * Moves a slot with its keys, key by key, as redis-cli's reshard does. `midway` runs while some keys are on one
   * server and some on the other: clients get ASK and TRYAGAIN. `begun` runs before the first key moves, `arrived`
   * after the last.
   */
  move(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    midway?: () => Promise<void>,
    others?: { begun?: () => Promise<void>; arrived?: () => Promise<void> },
  ): Promise<void>
}

const SLOTS = 16_384

/**
 * Starts a cluster whose primaries share the slots evenly, in order. Resolves when every node reports
 * `cluster_state:ok`.
 */
export async function startRedisCluster(
  cleanUp: CleanUp,
  options: RedisOptions & { primaries?: number; replicasEach?: number; spares?: number } = {},
): Promise<RedisCluster> {
  const { primaries: count = 3, replicasEach = 0, spares = 0, ...common } = options
  const startNode = async () => {
    const busPort = await freePort()
    const config = {
      'cluster-enabled': 'yes',
      'cluster-port': String(busPort),
      'cluster-node-timeout': '2000',
      // A primary that gave its last slot away stays a primary.
      'cluster-allow-replica-migration': 'no',
      'repl-diskless-sync-delay': '0',
      ...common.config,
    }
    return { server: await startRedis(cleanUp, { ...common, config }), busPort }
  }
  const nodes: { server: RedisServer; busPort: number }[] = []
  for (let at = 0; at < count * (1 + replicasEach) + spares; at++) nodes.push(await startNode())
  const [first, ...others] = nodes
  assert(first !== undefined, 'a cluster has a node')
  const primaries = nodes.slice(0, count).map(({ server }) => server)
  const replicas = nodes.slice(count, count * (1 + replicasEach)).map(({ server }) => server)
  const spare = nodes.slice(count * (1 + replicasEach)).map(({ server }) => server)
  const slots = new Map<RedisServer, readonly [number, number]>()
  for (const [at, server] of primaries.entries()) {
    const range = [Math.floor((SLOTS * at) / count), Math.floor((SLOTS * (at + 1)) / count) - 1] as const
    slots.set(server, range)
    await server.ask('CLUSTER', 'SET-CONFIG-EPOCH', at + 1)
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', ...range)
  }
  for (const { server, busPort } of others) await first.server.ask('CLUSTER', 'MEET', server.host, server.port, busPort)
  const everyNode = async (what: string, holds: (server: RedisServer) => Promise<boolean>) => {
    for (const { server } of nodes) await patiently(`${what} on port ${server.port}`, () => holds(server))
  }
  const ids = await Promise.all(nodes.map(async ({ server }) => String(await server.ask('CLUSTER', 'MYID'))))
  await everyNode('a node that knows the others', async server => {
    // Until the handshake with a node ends, it is listed under another id.
    const known = String(await server.ask('CLUSTER', 'NODES'))
    return ids.every(id => known.includes(id))
  })
  for (const [at, replica] of replicas.entries()) {
    const of = primaries[at % count]!
    await replica.ask('CLUSTER', 'REPLICATE', String(await of.ask('CLUSTER', 'MYID')))
  }
  await everyNode('a cluster that is well', async server => {
    return /cluster_state:ok/.test(String(await server.ask('CLUSTER', 'INFO')))
  })
  for (const replica of replicas)
    await patiently('a replica in step', async () => (await replica.info('master_link_status')) === 'up')
  return {
    primaries,
    replicas,
    spares: spare,
    uri: primaries[0]!.uri,
    slotsOf: primary => slots.get(primary)!,
    async move(slot, from, to, midway = async () => {}, { begun, arrived } = {}) {
      const id = async (server: RedisServer) => String(await server.ask('CLUSTER', 'MYID'))
      await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await id(from))
      await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await id(to))
      const migrateSome = async (count: number) => {
        const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, count)) as string[]
        if (keys.length > 0) await from.ask('MIGRATE', to.host, to.port, '', 0, 5000, 'KEYS', ...keys)
      }
      await begun?.()
      await migrateSome(1)
      await midway()
      await migrateSome(1_000_000)
      await arrived?.()
      // A primary may have become a replica since the start. A replica accepts slot information only from its
      // primary.
      for (const server of new Set([to, from, ...primaries, ...spare])) {
        const [role] = (await server.ask('ROLE')) as readonly unknown[]
        if (role === 'master') await server.ask('CLUSTER', 'SETSLOT', slot, 'NODE', await id(to))
      }
    },
  }
}
