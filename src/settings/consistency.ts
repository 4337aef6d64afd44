// Checks of settings that are well formed but contradict each other. Each check returns the sentence that ends
// startup, or null. The sentence names every key involved, with value and origin; secrets are masked. switches.ts
// runs afterwards and checks whether this version supports the settings.

import {
  FIRST_LISTENER,
  hasSaslListener,
  hasTlsListener,
  isEveryInterface,
  isLoopback,
  kafkaEndpoints,
  usesTls,
} from './endpoints.ts'
import { showDuration, showSize } from './grammar.ts'
import { issuerObjection, providerUriObjection, redirectUriObjection } from './provider-uri.ts'
import { redisTargets, uriObjection } from './redis-target.ts'
import { readPlace } from './remote-place.ts'
import type { Key, Settings, Values } from './settings.ts'
import { fullKey } from './settings.ts'

type Check = (settings: Settings) => string | null

/** `svc.x (1MB, default)`: a key with its value and the origin of the value. */
function tell(settings: Settings, key: Key): string {
  return `${fullKey(key)} (${settings.show(key)}, ${settings.origin(key)})`
}

function got(settings: Settings, key: Key): string {
  return `${fullKey(key)}: got ${settings.show(key)} (${settings.origin(key)})`
}

type NumberKey = { [K in Key]: Values[K] extends number ? K : never }[Key]

/** The first must be below the second. */
function below(lower: NumberKey, upper: NumberKey): Check {
  return settings =>
    settings.get(lower) < settings.get(upper)
      ? null
      : `${got(settings, lower)}, takes less than ${tell(settings, upper)}`
}

/** The first must not be above the second. */
function atMost(lower: NumberKey, upper: NumberKey): Check {
  return settings =>
    settings.get(lower) <= settings.get(upper)
      ? null
      : `${got(settings, lower)}, takes at most ${tell(settings, upper)}`
}

/** When the switch is on, the other keys must have a value. */
function requires(on: Key, ...needed: readonly Key[]): Check {
  return settings => {
    if (settings.get(on) !== true) return null
    const missing = needed.find(key => settings.get(key) === null)
    return missing === undefined
      ? null
      : `${got(settings, on)}, but that requires ${fullKey(missing)}, which is not set`
  }
}

type Mechanism = Values['broker.sasl.mechanisms'][number]

/** Returns whether a client of some listener can choose the mechanism. */
function advertises(settings: Settings, mechanism: Mechanism): boolean {
  const isOffered = hasSaslListener(settings)
  return isOffered && settings.get('broker.sasl.mechanisms').includes(mechanism)
}

/** The listeners that have a security of their own, with the full key of that field. */
function ownSecurities(settings: Settings) {
  return settings.get('broker.listeners').flatMap(({ security }, at) => {
    const origin = settings.origin('broker.listeners', `[${at}].security`)
    return security === null ? [] : [{ key: `${fullKey('broker.listeners')}[${at}].security`, security, origin }]
  })
}

/** The specification's sentence, and one like it for a listener that has a security of its own. */
function needsTls(mechanism: 'PLAIN' | 'OAUTHBEARER'): Check {
  return settings => {
    if (!advertises(settings, mechanism)) return null
    if (settings.get('broker.sasl.enabled') && !settings.get('broker.tls'))
      return `svc.broker.sasl: ${mechanism} mechanism requires svc.broker.tls=true`
    const open = ownSecurities(settings).find(({ security }) => security === 'sasl-plaintext')
    return open === undefined
      ? null
      : `svc.broker.sasl: ${mechanism} mechanism requires ${open.key}=sasl-tls, got ${open.security} (${open.origin})`
  }
}

/** A listener with TLS by its own field needs the files, as `broker.tls` does. */
function checkListenerFiles(settings: Settings): string | null {
  const secured = ownSecurities(settings).find(({ security }) => usesTls(security))
  const missing = (['broker.cert-file', 'broker.key-file'] as const).find(key => settings.get(key) === null)
  if (secured === undefined || missing === undefined) return null
  return `${secured.key}: got ${secured.security} (${secured.origin}), but that requires ${fullKey(missing)}, which is not set`
}

function checkClientCertificates(settings: Settings): string | null {
  const key: Key = 'broker.client-auth-required'
  if (!settings.get(key) || hasTlsListener(settings)) return null
  return `${got(settings, key)}, but that requires svc.broker.tls=true, or a listener whose security is tls or sasl-tls`
}

function mechanismRequires(mechanism: 'OAUTHBEARER' | 'GSSAPI', ...needed: readonly Key[]): Check {
  return settings => {
    const missing = advertises(settings, mechanism) ? needed.find(key => settings.get(key) === null) : undefined
    return missing === undefined
      ? null
      : `svc.broker.sasl: ${mechanism} mechanism requires ${fullKey(missing)}, which is not set`
  }
}

function checkMechanisms(settings: Settings): string | null {
  const mechanisms = settings.get('broker.sasl.mechanisms')
  const key: Key = 'broker.sasl.mechanisms'
  if (mechanisms.length === 0)
    return `${fullKey(key)}: got an empty list (${settings.origin(key)}), takes at least one mechanism`
  const twice = mechanisms.find((mechanism, at) => mechanisms.indexOf(mechanism) !== at)
  return twice === undefined ? null : `${got(settings, key)}, but ${twice} is in the list twice`
}

function checkAcls(settings: Settings): string | null {
  if (!settings.get('broker.acl.enabled') || settings.get('broker.sasl.enabled')) return null
  return `${got(settings, 'broker.acl.enabled')}, but ACLs require svc.broker.sasl.enabled=true`
}

function checkConsoleSso(settings: Settings): string | null {
  if (!settings.get('admin.oauth.enabled')) return null
  if (settings.get('admin.oauth.roles.admin-group') !== null || settings.get('admin.oauth.roles.viewer-group') !== null)
    return null
  return `${got(settings, 'admin.oauth.enabled')}, but that requires svc.admin.oauth.roles.admin-group or svc.admin.oauth.roles.viewer-group, and neither is set`
}

/** The addresses of identity providers use https, so that no machine in between can answer for them. */
function checkProviderUris(settings: Settings): string | null {
  for (const [key, objectionTo] of [
    ['admin.oauth.issuer-uri', issuerObjection],
    ['admin.oauth.jwks-uri', providerUriObjection],
    ['admin.oauth.redirect-uri', redirectUriObjection],
    ['broker.sasl.oauth.issuer-uri', issuerObjection],
    ['broker.sasl.oauth.jwks-uri', providerUriObjection],
  ] as const) {
    const uri = settings.get(key)
    const objection = uri === null ? null : objectionTo(uri)
    if (objection !== null) return `${got(settings, key)}, but it ${objection}`
  }
  return null
}

/**
 * Requires the scope openid. Without it the provider returns no id_token (OpenID Connect Core 1.0, section 3.1.2.1).
 */
function checkScopes(settings: Settings): string | null {
  const key: Key = 'admin.oauth.scopes'
  return settings.get(key).split(' ').includes('openid')
    ? null
    : `${got(settings, key)}, takes scopes with spaces between them, openid among them`
}

function checkMcpToken(settings: Settings): string | null {
  return settings.get('admin.security-enabled') ? requires('mcp.enabled', 'mcp.token')(settings) : null
}

/** The most samples of one series. The broker keeps a series in memory and returns it in one response. */
const MOST_SAMPLES = 10_000

function checkHistory(settings: Settings): string | null {
  const samples = settings.get('admin.metrics-history.retention') / settings.get('admin.metrics-history.interval')
  if (samples < 1) {
    return `${got(settings, 'admin.metrics-history.retention')}, takes at least ${tell(settings, 'admin.metrics-history.interval')}`
  }
  if (samples <= MOST_SAMPLES) return null
  return (
    `${got(settings, 'admin.metrics-history.retention')}, which at ${tell(settings, 'admin.metrics-history.interval')} is ` +
    `${Math.floor(samples)} samples for each series; takes at most ${MOST_SAMPLES}`
  )
}

interface Bound {
  readonly said: string
  readonly origin: string
  readonly host: string | null
  readonly port: number
}

/** Returns the ports that this process binds. Without the Kafka listener it binds no Kafka port. */
function boundPorts(settings: Settings): readonly Bound[] {
  const opened = settings.get('broker.enabled') ? kafkaEndpoints(settings) : []
  const endpoints = opened.map(({ host, port, key, origin }) => {
    return { said: key('port'), origin: origin('port'), host, port }
  })
  const host = settings.get('server.address')
  const registryPort = settings.get('schema-registry.enabled') ? settings.get('schema-registry.port') : null
  return [
    ...endpoints,
    { said: 'server.port', origin: settings.origin('server.port'), host, port: settings.get('server.port') },
    ...(registryPort === null
      ? []
      : [
          {
            said: fullKey('schema-registry.port'),
            origin: settings.origin('schema-registry.port'),
            host,
            port: registryPort,
          },
        ]),
  ]
}

/** Allows port 0 on a loopback address only, as in tests: another machine could not learn the port. */
function checkPortZero(settings: Settings): string | null {
  const nowhere = kafkaEndpoints(settings).find(({ advertisedPort }) => advertisedPort === 0)
  if (nowhere) {
    const { key, origin } = nowhere
    return `${key('advertised-port')}: got 0 (${origin('advertised-port')}), takes a TCP port from 1 to 65535`
  }
  const zero = boundPorts(settings).find(({ host, port }) => port === 0 && !isLoopback(host))
  return zero === undefined
    ? null
    : `${zero.said}: got 0 (${zero.origin}), takes a TCP port from 1 to 65535 (0, any free port, only on a loopback address)`
}

function checkPortsDiffer(settings: Settings): string | null {
  const bound = boundPorts(settings)
  for (const [at, one] of bound.entries()) {
    const other = bound.slice(0, at).find(({ port, host }) => {
      return (
        port !== 0 && port === one.port && (host === one.host || isEveryInterface(host) || isEveryInterface(one.host))
      )
    })
    if (other)
      return `${one.said}: got ${one.port} (${one.origin}), which ${other.said} (${other.origin}) has too; each takes a port of its own`
  }
  return null
}

function checkListenerNames(settings: Settings): string | null {
  // Kafka compares listener names without case.
  const names = kafkaEndpoints(settings).map(({ name }) => name.toUpperCase())
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at) - 1
  if (twice < 0) return null
  const { name } = settings.get('broker.listeners')[twice]!
  const said = `svc.broker.listeners[${twice}].name: got '${name}' (${settings.origin('broker.listeners', `[${twice}].name`)})`
  const other = name.toUpperCase() === FIRST_LISTENER ? 'the first listener' : 'an earlier listener'
  return `${said}, which ${other} has too; each takes a name of its own`
}

/** Checks every pattern, because patterns merge: auto-create and partitions may come from different ones. */
function checkPatternPartitions(settings: Settings): string | null {
  const most = settings.get('max-partitions-per-topic')
  const patterns = settings.get('topics')
  const at = patterns.findIndex(({ partitions }) => partitions !== null && partitions > most)
  if (at < 0) return null
  return `svc.topics[${at}].partitions: got ${patterns[at]!.partitions} (${settings.origin('topics', `[${at}].partitions`)}), takes at most ${tell(settings, 'max-partitions-per-topic')}`
}

function checkPatternRetention(settings: Settings): string | null {
  for (const [at, pattern] of settings.get('topics').entries()) {
    for (const [name, part, whole, show] of [
      ['retention', pattern.localRetention, pattern.retention, showDuration],
      ['retention-bytes', pattern.localRetentionBytes, pattern.retentionBytes, showSize],
    ] as const) {
      if (part === null || whole === null || whole === -1 || (part !== -1 && part <= whole)) continue
      const origin = (field: string) => settings.origin('topics', `[${at}].${field}`)
      const got = `got ${part === -1 ? 'unlimited' : show(part)} (${origin(`local-${name}`)})`
      return `svc.topics[${at}].local-${name}: ${got}, takes at most svc.topics[${at}].${name} (${show(whole)}, ${origin(name)})`
    }
  }
  return null
}

/** A pattern cannot send segments to a remote tier that the broker does not have. */
function checkPatternTier(settings: Settings): string | null {
  for (const [at, { remoteStorageEnabled, cleanupPolicy }] of settings.get('topics').entries()) {
    if (remoteStorageEnabled !== true) continue
    const field = `[${at}].remote-storage-enabled`
    const said = `svc.topics${field}: got true (${settings.origin('topics', field)}), but that requires`
    if (settings.get('storage.remote.path') === null) return `${said} svc.storage.remote.path, which is not set`
    if (cleanupPolicy === 'compact') return `${said} svc.topics[${at}].cleanup-policy=delete, and it is compact`
  }
  return null
}

function checkRemotePath(settings: Settings): string | null {
  const key: Key = 'storage.remote.path'
  const path = settings.get(key)
  const found = path === null ? null : readPlace(path)
  return typeof found === 'string' ? `${got(settings, key)}, but it is no place for objects: ${found}` : null
}

function checkS3(settings: Settings): string | null {
  const endpoint = settings.get('storage.remote.s3.endpoint')
  if (endpoint?.includes('?')) return `${got(settings, 'storage.remote.s3.endpoint')}, but it has a query`
  const keys = ['storage.remote.s3.access-key-id', 'storage.remote.s3.secret-access-key'] as const
  const missing = keys.filter(key => settings.get(key) === null)
  if (missing.length !== 1) return null
  const given = keys.find(key => settings.get(key) !== null)!
  return `${got(settings, given)}, but that requires ${fullKey(missing[0]!)}, which is not set`
}

/** Refuses URIs that the grammar accepts but that the broker cannot use. */
function checkRedisUris(settings: Settings): string | null {
  for (const key of ['redis.uri', 'storage.local.redis.uri'] as const) {
    const uri = settings.get(key)
    const objection = uri === null ? null : uriObjection(uri)
    if (objection !== null) return `${got(settings, key)}, but it ${objection}`
  }
  return null
}

/** Refuses parts of a storage Redis beside svc.redis.uri: streams would go to the primary Redis in spite of them. */
function checkStorageRedis(settings: Settings): string | null {
  if (settings.get('redis.uri') === null || settings.get('storage.local.redis.uri') !== null) return null
  const key = STORAGE_REDIS_PARTS.find(part => settings.get(part) !== null)
  return key === undefined
    ? null
    : `${got(settings, key)}, but ${tell(settings, 'redis.uri')} applies to storage too and replaces it; set svc.storage.local.redis.uri instead`
}

const STORAGE_REDIS_PARTS = [
  'storage.local.redis.host',
  'storage.local.redis.port',
  'storage.local.redis.username',
  'storage.local.redis.password',
] as const

/** A cluster has one database only (Redis Cluster specification). */
function checkClusterDatabase(settings: Settings): string | null {
  const { broker, storage } = redisTargets(settings)
  const wrong = [broker, storage].find(({ isCluster, database }) => isCluster && database !== 0)
  return wrong === undefined
    ? null
    : `${wrong.keys}.uri: got database ${wrong.database}, but ${wrong.keys}.cluster is true and a cluster has database 0 only`
}

/** A WAIT blocks its connection, so it must end before the connection times out. */
function checkWaitTimeout(settings: Settings): string | null {
  const { storage } = redisTargets(settings)
  if (settings.get('storage.local.write.wait-replicas') === 0) return null
  return settings.get('storage.local.write.wait-timeout') < storage.timeoutMs
    ? null
    : `${got(settings, 'storage.local.write.wait-timeout')}, takes less than ${storage.keys}.timeout (${showDuration(storage.timeoutMs)})`
}

function checkStorageLatencies(settings: Settings): string | null {
  const { metrics, keys } = redisTargets(settings).storage
  return metrics.minLatencyMs < metrics.maxLatencyMs
    ? null
    : `${keys}.metrics.min-latency: got ${showDuration(metrics.minLatencyMs)}, takes less than ${keys}.metrics.max-latency (${showDuration(metrics.maxLatencyMs)})`
}

const checks: readonly Check[] = [
  checkPortZero,
  checkPortsDiffer,
  checkListenerNames,
  below('broker.resume-pending-bytes', 'broker.max-pending-bytes'),
  below('broker.global-resume-pending-bytes', 'broker.global-max-pending-bytes'),
  atMost('broker.group-min-session-timeout', 'broker.group-max-session-timeout'),
  below('storage.worker.tick-interval', 'storage.worker.lease-duration'),
  checkHistory,
  atMost('admin.login-throttle.initial-lockout', 'admin.login-throttle.max-lockout'),
  below('redis.metrics.min-latency', 'redis.metrics.max-latency'),
  checkRedisUris,
  checkStorageRedis,
  checkClusterDatabase,
  checkWaitTimeout,
  checkStorageLatencies,
  checkPatternPartitions,
  checkPatternRetention,
  checkRemotePath,
  checkS3,
  checkPatternTier,
  checkMechanisms,
  needsTls('PLAIN'),
  needsTls('OAUTHBEARER'),
  checkAcls,
  mechanismRequires('OAUTHBEARER', 'broker.sasl.oauth.issuer-uri', 'broker.sasl.oauth.audience'),
  mechanismRequires('GSSAPI', 'broker.sasl.gssapi.keytab-file', 'broker.sasl.gssapi.principal'),
  requires('broker.tls', 'broker.cert-file', 'broker.key-file'),
  requires('broker.client-auth-required', 'broker.trust-cert-file'),
  requires('server.tls', 'server.cert-file', 'server.key-file'),
  checkListenerFiles,
  checkClientCertificates,
  requires('admin.oauth.enabled', 'admin.oauth.issuer-uri', 'admin.oauth.client-id', 'admin.oauth.audience'),
  checkConsoleSso,
  checkProviderUris,
  checkScopes,
  checkMcpToken,
]

/** The first contradiction between settings, as a sentence, or null. */
export function checkConsistency(settings: Settings): string | null {
  for (const check of checks) {
    const why = check(settings)
    if (why !== null) return why
  }
  return null
}
