// Reads a Redis server's description of itself. It judges if the broker may use the server, and how the server's
// settings weaken the durability of an acknowledgement (docs/guides/durability.md). primary.ts decides what to do
// then.

import type { Argument, Durability, Reply } from './links.ts'
import { RedisError } from './redis-error.ts'

/** The oldest version with Functions, `XADD NOMKSTREAM` and a multi-part append-only file. */
const OLDEST_VERSION = [7, 0] as const

export type Ask = (args: readonly Argument[]) => Promise<Reply>

/** The fields of INFO that the broker uses. */
export interface ServerInfo {
  readonly version: string
  readonly role: string
  /**
   * The id of the history that the server's data belongs to. It is different after a server has lost data, and on
   * another server.
   */
  readonly replid: string
  readonly isCluster: boolean
  readonly isLoading: boolean
  /** The progress of loading, for people. */
  readonly loadingProgress: string
  /** The number of loaded bytes. */
  readonly loadedBytes: number
  readonly fields: ReadonlyMap<string, string>
}

export async function askInfo(ask: Ask, ...sections: string[]): Promise<ServerInfo> {
  const text = String(await ask(['INFO', ...sections]))
  const fields = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1))
  }
  const field = (name: string) => fields.get(name) ?? ''
  return {
    version: field('redis_version'),
    role: field('role'),
    replid: field('master_replid'),
    isCluster: field('cluster_enabled') === '1',
    isLoading: field('loading') === '1',
    loadingProgress: `${field('loading_loaded_perc') || '0'} %, ${field('loading_eta_seconds') || '?'} s to go`,
    loadedBytes: Number(field('loading_loaded_bytes') || 0),
    fields,
  }
}

/** Returns why the broker cannot use this server at all, or null. */
export function versionObjection({ version }: ServerInfo): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor < OLDEST_VERSION[1])
  return isOld ? `is Redis ${version}, which is too old; takes Redis ${OLDEST_VERSION.join('.')} or newer` : null
}

/**
 * Returns the objection to a maxmemory-policy under which Redis may evict whole partitions, acknowledged or not; else
 * null.
 */
export function evictionObjection(policy: string | null): string | null {
  return policy?.startsWith('allkeys-')
    ? `has maxmemory-policy ${policy}, under which it drops whole partitions when memory is short; takes noeviction`
    : null
}

/** Returns the same objection as a warning of durability. */
export function evictionWarning(objection: string): string {
  return `it ${objection}`
}

/** The most seconds since a replica was last heard of. A replica that is silent for longer is not counted. */
const LONGEST_LAG_S = 10

/**
 * Returns how many replicas are in step and were heard of recently. With `orJoin` it also counts replicas that are
 * connected but have confirmed nothing yet; a replica needs a second for that.
 */
export function replicasIn({ fields }: ServerInfo, { orJoin } = { orJoin: false }): number {
  let count = 0
  for (const [name, value] of fields) {
    if (!/^slave\d+$/.test(name)) continue
    const field = (of: string) => new RegExp(`\\b${of}=([\\w-]+)`).exec(value)?.[1]
    // A replica that is still loading has confirmed nothing.
    const hasConfirmed = orJoin || Number(field('offset')) > 0
    if (field('state') === 'online' && hasConfirmed && Number(field('lag')) <= LONGEST_LAG_S) count++
  }
  return count
}

/** Reads every setting that can weaken durability. A server that refuses to tell gets a warning of its own. */
export async function askDurability(
  address: string,
  ask: Ask,
  {
    waitReplicas,
    askReplica,
  }: { waitReplicas: number; askReplica: (host: string, port: number) => Promise<ServerInfo> },
): Promise<Durability> {
  const info = await askInfo(ask)
  const config = await askConfig(ask)
  const appendonly = info.fields.get('aof_enabled') === '1'
  const maxmemoryPolicy = info.fields.get('maxmemory_policy') ?? null
  const appendfsync = typeof config === 'string' ? null : (config.get('appendfsync') ?? null)
  const connectedReplicas = replicasIn(info)
  const warnings: string[] = []
  if (!appendonly)
    warnings.push(
      'appendonly is no: when the Redis process ends, everything since its last snapshot is lost, acknowledged or not; set appendonly yes and appendfsync always',
    )
  else if (appendfsync === 'no')
    warnings.push(
      'appendfsync is no: a power loss takes what the kernel has not written yet, about 30 s of acknowledged records; set appendfsync always',
    )
  else if (appendfsync === 'everysec') {
    warnings.push(
      'appendfsync is everysec: up to about 2 s of acknowledged records are lost when the machine stops, or when the Redis process is killed during a slow sync; set appendfsync always',
    )
    if (waitReplicas > 0)
      warnings.push(
        `appendfsync is everysec with svc.storage.local.write.wait-replicas=${waitReplicas}: a primary that restarts before a failover comes back without its last second, and its replicas copy the loss; set appendfsync always`,
      )
  }
  if (typeof config === 'string') {
    warnings.push(
      `it does not tell its settings (CONFIG GET: ${config}), so appendfsync, no-appendfsync-on-rewrite and min-replicas-to-write are not known here`,
    )
  } else {
    if (appendonly && config.get('no-appendfsync-on-rewrite') === 'yes')
      warnings.push(
        'no-appendfsync-on-rewrite is yes: nothing is synced for as long as the append-only file is rewritten; set it to no',
      )
    if (waitReplicas > 0 && config.get('min-replicas-to-write') === '0')
      warnings.push(
        `min-replicas-to-write is 0 with svc.storage.local.write.wait-replicas=${waitReplicas}: a primary cut off from its replicas goes on accepting writes that no broker will acknowledge; set min-replicas-to-write ${waitReplicas}`,
      )
  }
  const eviction = evictionObjection(maxmemoryPolicy)
  if (eviction !== null) warnings.push(evictionWarning(eviction))
  warnings.push(...(await priorityWarnings(info, askReplica)))
  return {
    address,
    version: info.version,
    appendonly,
    appendfsync,
    maxmemoryPolicy,
    connectedReplicas,
    warnings,
  }
}

/** Returns the settings, or the server's error text if it refuses (an ACL, a managed service). */
async function askConfig(ask: Ask): Promise<ReadonlyMap<string, string> | string> {
  const names = ['appendfsync', 'no-appendfsync-on-rewrite', 'min-replicas-to-write']
  const config = new Map<string, string>()
  try {
    for (const name of names) {
      const [, value] = (await ask(['CONFIG', 'GET', name])) as readonly Reply[]
      if (value !== undefined) config.set(name, String(value))
    }
  } catch (error) {
    if (error instanceof RedisError) return error.message
    throw error
  }
  return config
}

/**
 * Returns warnings about replica priorities. Sentinel and Cluster choose a replica by its priority first and by its
 * data second, so priorities must be equal.
 */
async function priorityWarnings(
  { fields }: ServerInfo,
  askReplica: (host: string, port: number) => Promise<ServerInfo>,
): Promise<readonly string[]> {
  const priorities = new Map<string, string>()
  const silent: string[] = []
  for (const [name, value] of fields) {
    const [, host, port] = /^slave\d+$/.test(name) ? (/ip=([^,]+),port=(\d+)/.exec(value) ?? []) : []
    if (host === undefined) continue
    const address = `${host}:${port}`
    try {
      priorities.set(address, (await askReplica(host, Number(port))).fields.get('slave_priority') ?? '?')
    } catch {
      silent.push(address)
    }
  }
  const warnings: string[] = []
  if (new Set(priorities.values()).size > 1) {
    const list = [...priorities].map(([address, priority]) => `${address} has ${priority}`).join(', ')
    warnings.push(
      `replica-priority differs (${list}): a failover takes the lowest number before the replica that has the most; set them equal`,
    )
  }
  if (silent.length > 0 && priorities.size + silent.length > 1)
    warnings.push(`replica-priority of ${silent.join(', ')} is not known: no connection from here`)
  return warnings
}
