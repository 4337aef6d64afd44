// Checks that each setting of the specification exists under its name and has its default. The table says them a second
// time on purpose: a change of settings.ts that breaks the configuration of an operator must fail here.

import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { type Key, keys, settingsTable, testSettings } from './settings.ts'

const CORES = 'CPU cores'

/** The default as an operator writes it, or the words of the specification. Null: unset. */
const SPECIFIED: Readonly<Record<string, string | null>> = {
  'max-partitions-per-topic': '128',
  namespace: 'svc',
  'admin.anonymous-prometheus': 'false',
  'admin.bootstrap': 'true',
  'admin.first-run-setup-enabled': 'true',
  'admin.username': 'admin',
  'admin.security-enabled': 'true',
  'admin.jwt.expiry': '8h',
  'admin.jwt.secret': null,
  'admin.login-throttle.max-failures': '10',
  'admin.login-throttle.initial-lockout': '30s',
  'admin.login-throttle.max-lockout': '15m',
  'admin.metrics-history.enabled': 'true',
  'admin.metrics-history.interval': '15s',
  'admin.metrics-history.retention': '1h',
  'admin.metrics-history.max-series': '10000',
  'admin.segment-inspection.queue-capacity': '8',
  'admin.segment-inspection.threads': '8',
  'admin.segment-inspection.timeout': '5s',
  'admin.segment-inspection.ttl': '10s',
  'admin.oauth.enabled': 'false',
  'admin.oauth.issuer-uri': null,
  'admin.oauth.client-id': null,
  'admin.oauth.client-secret': null,
  'admin.oauth.audience': null,
  'admin.oauth.jwks-uri': null,
  'admin.oauth.clock-skew': '30s',
  'admin.oauth.provider-name': 'SSO',
  'admin.oauth.redirect-uri': null,
  'admin.oauth.scopes': 'openid profile',
  'admin.oauth.username-claim': 'preferred_username',
  'admin.oauth.roles.admin-group': null,
  'admin.oauth.roles.viewer-group': null,
  'admin.oauth.roles.claim': 'groups',
  'broker.enabled': 'true',
  'broker.host': '0.0.0.0',
  'broker.port': '9092',
  'broker.advertised-host': null,
  'broker.advertised-port': null,
  'broker.id': '0',
  'broker.stack': 'netty',
  'broker.boss-threads': '1',
  'broker.worker-threads': '0',
  'broker.tls': 'false',
  'broker.cert-file': null,
  'broker.key-file': null,
  'broker.key-password': null,
  'broker.client-auth-required': 'false',
  'broker.trust-cert-file': null,
  'broker.drain-timeout': '5s',
  'broker.fetch-max-wait': '500ms',
  'broker.fetch-partition-max-bytes': '1MB',
  'broker.global-max-pending-bytes': '400MB',
  'broker.global-resume-pending-bytes': '200MB',
  'broker.max-pending-bytes': '100MB',
  'broker.resume-pending-bytes': '50MB',
  'broker.max-request-bytes': '100MB',
  'broker.in-flight-limit': '500',
  'broker.group-reclaim-min-idle': '1m',
  'broker.produce-timeout': '5s',
  'broker.producer-id-expiration': '1d',
  'broker.rebalance-delay': '3s',
  'broker.rebalance-threads': `max(2, ${CORES})`,
  'broker.response-queue-timeout': '10s',
  'broker.acl.enabled': 'false',
  'broker.metrics.group-lag-cardinality-cap': '1000',
  'broker.metrics.group-lag-refresh-interval': '15s',
  'broker.metrics.offset-cardinality-cap': '10000',
  'broker.metrics.offset-refresh-interval': '15s',
  'broker.sasl.enabled': 'false',
  'broker.sasl.mechanisms': 'SCRAM-SHA-256',
  'broker.sasl.gssapi.keytab-file': null,
  'broker.sasl.gssapi.principal': null,
  'broker.sasl.gssapi.service-name': 'kafka',
  'broker.sasl.oauth.issuer-uri': null,
  'broker.sasl.oauth.audience': null,
  'broker.sasl.oauth.jwks-uri': null,
  'broker.sasl.oauth.clock-skew': '30s',
  'broker.sasl.oauth.principal-claim': 'sub',
  'broker.sasl.oauth.groups-claim': null,
  'broker.sasl.oauth.tenant-claim': null,
  'broker.sasl.oauth.max-reauth': '5m',
  'mcp.enabled': 'false',
  'mcp.token': null,
  'ui.enabled': 'true',
  'redis.uri': null,
  'redis.host': 'localhost',
  'redis.port': '6379',
  'redis.username': null,
  'redis.password': null,
  'redis.cluster': 'false',
  'redis.io-threads': CORES,
  'redis.timeout': '1m',
  'redis.circuit-breaker.enabled': 'true',
  'redis.circuit-breaker.log-interval': '30s',
  'redis.circuit-breaker.open-duration': '30s',
  'redis.metrics.enabled': 'false',
  'redis.metrics.histogram': 'false',
  'redis.metrics.local-distinction': 'false',
  'redis.metrics.max-latency': '5m',
  'redis.metrics.min-latency': '1ms',
  'redis.pool.max-wait': '3s',
  'redis.pool.size': '32',
  'schema-registry.enabled': 'true',
  'schema-registry.default-compatibility': 'backward',
  'schema-registry.validate-produce': 'true',
  'storage.local.compression.codec': 'none',
  'storage.local.compression.dictionary.max-sample-bytes': '16777216',
  'storage.local.compression.dictionary.sample-count': '10000',
  'storage.local.compression.dictionary.size-bytes': '65536',
  'storage.local.read.connections': '8',
  'storage.local.write.connections': '8',
  'storage.local.write.wait-replicas': '0',
  'storage.local.write.wait-timeout': '1s',
  'storage.remote.path': null,
  'storage.remote.iceberg.row-group-size': '128MB',
  'storage.remote.iceberg.target-file-size': '128MB',
  'storage.remote.iceberg.offload.threads': '4',
  'storage.remote.iceberg.read.queue-capacity': '64',
  'storage.remote.iceberg.read.threads': '4',
  'storage.remote.metrics.enabled': 'true',
  'storage.remote.s3.endpoint': null,
  'storage.remote.s3.path-style-access': null,
  'storage.remote.s3.region': null,
  'storage.remote.s3.access-key-id': null,
  'storage.remote.s3.secret-access-key': null,
  'storage.worker.enabled': 'true',
  'storage.worker.lease-duration': '2m',
  'storage.worker.tick-concurrency': '8',
  'storage.worker.tick-interval': '1m',
  'storage.worker.offload-jobs.max-attempts': '5',
  'storage.worker.offload-jobs.retention-count': '1000',
  'server.port': '8080',
  'logging.structured.format.console': null,
}

/** Keys of the specification that are lists or maps, all of them empty by default. */
const EMPTY = ['topics', 'broker.listeners', 'storage.remote.metrics.common-tags', 'logging.level']

/** Keys of the specification whose default it leaves to the program. */
const OPEN = [
  'admin.password',
  'server.address',
  'management.endpoint.health.probes.enabled',
  'management.endpoints.web.exposure.include',
]

test('each setting has the specified name and default', () => {
  for (const [key, text] of Object.entries(SPECIFIED)) {
    const setting = settingsTable[key as Key]
    assert.ok(setting, `there is no setting ${key}`)
    if (text === null) assert.equal(setting.fallback(), null, key)
    else assert.equal(setting.fallbackText, text, key)
  }
  const settings = testSettings()
  for (const key of EMPTY) assert.deepEqual([...(settings.get(key as Key) as Iterable<unknown>)], [], key)
  assert.equal(settings.get('redis.io-threads'), availableParallelism())
  assert.equal(settings.get('broker.rebalance-threads'), Math.max(2, availableParallelism()))
})

test('each setting of redis has an override for storage', () => {
  const own = keys.filter(key => key.startsWith('redis.'))
  assert.deepEqual(
    keys.filter(key => key.startsWith('storage.local.redis.')),
    own.map(key => `storage.local.${key}`),
  )
  for (const key of own) {
    const override = settingsTable[`storage.local.${key}` as Key]
    assert.deepEqual([override.shape, override.fallback()], [settingsTable[key].shape, null], key)
  }
})

test('each setting is one of the specification or is marked as an addition', () => {
  const specified = new Set([...Object.keys(SPECIFIED), ...EMPTY, ...OPEN])
  const unmarked = keys.filter(key => settingsTable[key].ours !== true && !key.startsWith('storage.local.redis.'))
  assert.deepEqual([...unmarked].sort(), [...specified].sort())
})
