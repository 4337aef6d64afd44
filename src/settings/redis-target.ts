// The Redis for the broker's own state and the Redis for its streams. `svc.redis.*` describes both; a key that is set
// under `svc.storage.local.redis.*` replaces it for the streams. A URI replaces host, port, username and password.
// store/redis makes the connections.

import type { Settings, Values } from './settings.ts'

export interface RedisTarget {
  /** The kind of traffic; labels of metrics and log lines use it. */
  readonly client: 'broker' | 'storage'
  /** The prefix of its keys in messages. */
  readonly keys: 'svc.redis' | 'svc.storage.local.redis'
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly username: string | null
  readonly password: string | null
  /** Always 0 in a cluster. */
  readonly database: number
  readonly isCluster: boolean
  readonly timeoutMs: number
  readonly breaker: { readonly isEnabled: boolean; readonly logIntervalMs: number; readonly openMs: number }
  readonly metrics: {
    readonly isEnabled: boolean
    readonly hasHistograms: boolean
    readonly tellsLocalAddresses: boolean
    readonly minLatencyMs: number
    readonly maxLatencyMs: number
  }
  readonly pool: { readonly size: number; readonly maxWaitMs: number }
}

export interface RedisTargets {
  readonly broker: RedisTarget
  /** The same object as `broker` if no setting makes the two different. */
  readonly storage: RedisTarget
}

export function redisTargets(settings: Settings): RedisTargets {
  const broker = targetOf('broker', name => primary(settings, name))
  const storage = targetOf('storage', name => inherited(settings, name))
  const { client: _one, keys: _two, ...ofBroker } = broker
  const { client: _three, keys: _four, ...ofStorage } = storage
  return { broker, storage: JSON.stringify(ofBroker) === JSON.stringify(ofStorage) ? broker : storage }
}

type RedisName = {
  [K in keyof Values]: K extends `redis.${infer Name}`
    ? `storage.local.redis.${Name}` extends keyof Values
      ? Name
      : never
    : never
}[keyof Values]
type Get = <N extends RedisName>(name: N) => Values[`redis.${N}`]

function primary<N extends RedisName>(settings: Settings, name: N): Values[`redis.${N}`] {
  return settings.get(`redis.${name}`) as Values[`redis.${N}`]
}

function inherited<N extends RedisName>(settings: Settings, name: N): Values[`redis.${N}`] {
  const own = settings.get(`storage.local.redis.${name}`) as Values[`redis.${N}`] | null
  return own ?? primary(settings, name)
}

function targetOf(client: RedisTarget['client'], get: Get): RedisTarget {
  const uri = get('uri')
  const where = uri === null ? null : parseRedisUri(uri)
  return {
    client,
    keys: client === 'broker' ? 'svc.redis' : 'svc.storage.local.redis',
    ...(where ?? {
      host: get('host'),
      port: get('port'),
      tls: false,
      username: get('username'),
      password: get('password'),
      database: 0,
    }),
    isCluster: get('cluster'),
    timeoutMs: get('timeout'),
    breaker: {
      isEnabled: get('circuit-breaker.enabled'),
      logIntervalMs: get('circuit-breaker.log-interval'),
      openMs: get('circuit-breaker.open-duration'),
    },
    metrics: {
      isEnabled: get('metrics.enabled'),
      hasHistograms: get('metrics.histogram'),
      tellsLocalAddresses: get('metrics.local-distinction'),
      minLatencyMs: get('metrics.min-latency'),
      maxLatencyMs: get('metrics.max-latency'),
    },
    pool: { size: get('pool.size'), maxWaitMs: get('pool.max-wait') },
  }
}

/** The smallest first bound in ms. A min-latency of 0 would never double. */
const SHORTEST_LATENCY_MS = 0.1

/**
 * Returns upper bounds in seconds for the latencies of commands: each twice the one before, from the shortest to the
 * longest. Returns no bounds if the histograms are off.
 */
export function latencyBuckets({ metrics }: RedisTarget): readonly number[] {
  const { isEnabled, hasHistograms, minLatencyMs, maxLatencyMs } = metrics
  if (!isEnabled || !hasHistograms) return []
  const bounds: number[] = []
  for (let ms = Math.max(minLatencyMs, SHORTEST_LATENCY_MS); ms < maxLatencyMs; ms *= 2) bounds.push(ms / 1000)
  return [...bounds, maxLatencyMs / 1000]
}

type Where = Pick<RedisTarget, 'host' | 'port' | 'tls' | 'username' | 'password' | 'database'>

/**
 * Returns the target that a URI names (the redis and rediss schemes as registered with IANA):
 * `redis://user:password@host:port/database`. Each part but the host is optional. The setting's grammar has checked
 * that the text is a URI; uriObjection() finds the other errors.
 */
export function parseRedisUri(uri: string): Where {
  const { protocol, username, password, hostname, port, pathname } = new URL(uri)
  return {
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : decodeURIComponent(hostname),
    port: port === '' ? 6379 : Number(port),
    tls: protocol === 'rediss:',
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
    database: Number(pathname.slice(1)),
  }
}

/** Returns the objection to a well-formed URI that this broker cannot use, as the end of a sentence; null if it can. */
export function uriObjection(uri: string): string | null {
  const { username, password, pathname, search, hash } = new URL(uri)
  if (search !== '' || hash !== '') return 'takes no ? and no # after the database'
  if (!/^\/?$|^\/(0|[1-9]\d{0,4})$/.test(pathname)) return 'takes the number of a database after the host, as /0'
  for (const part of [username, password]) {
    try {
      decodeURIComponent(part)
    } catch {
      return 'takes user and password percent-encoded'
    }
  }
  return null
}
