import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { makeCertificate, noOpenssl } from '../../../testing/certificate.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { freePort } from '../../../testing/free-port.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import type { Capabilities } from '../../api/capabilities.ts'
import { CAPABILITIES } from '../../api/words.ts'

const OPEN = { 'admin.security-enabled': false } as const
const PATH = '/api/v1/capabilities'

test('a broker tells its build, its store, its capabilities, its listeners and its limits', async t => {
  const { url, port } = await startBroker(t, OPEN, { hasHttp: true })
  const ask = askHttp(url)
  const { version, build, clusterId, capabilities, listeners, ...shown } = await ask<Capabilities>(PATH)
  assert.deepEqual(build, (await ask<{ build: unknown }>('/actuator/info')).build)
  assert.equal(version, build.version)
  assert.match(clusterId, /^[\w-]{22}$/)
  assert.deepEqual(capabilities.map(({ id }) => id).toSorted(), [...CAPABILITIES].sort())
  assert.deepEqual(capabilities[0], {
    ...{ id: 'tls', label: 'TLS', state: 'off', setting: 'svc.broker.tls' },
    because: 'svc.broker.tls is false (default).',
  })
  const plain = { name: 'PLAINTEXT', host: '127.0.0.1', security: 'PLAINTEXT' } as const
  assert.deepEqual(listeners, [{ brokerId: 0, ...plain, port, mechanisms: [], needsCertificate: false }])
  const { description } = shown.store
  assert.match(description, /embedded store/)
  assert.deepEqual(shown, {
    ...{ brokerId: 0, namespace: null, store: { engine: 'embedded', description } },
    limits: {
      ...{ maxPartitionsPerTopic: 128, maxPartitions: 100_000, sessionMs: 8 * 3_600_000 },
      metricsHistory: { intervalMs: 15_000, retentionMs: 3_600_000 },
    },
  })
})

test('every listener is shown with the security that its clients need', { skip: noOpenssl }, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const listener = { host: null, advertisedHost: null, advertisedPort: null } as const
  const { url, port } = await startBroker(
    t,
    {
      ...OPEN,
      'broker.sasl.enabled': true,
      'broker.sasl.mechanisms': ['PLAIN', 'SCRAM-SHA-256'],
      'broker.cert-file': certificateFile,
      'broker.key-file': keyFile,
      'broker.client-auth-required': true,
      'broker.trust-cert-file': certificateFile,
      'broker.listeners': [
        { ...listener, name: 'OPEN', port: ports[0], security: 'plaintext' },
        { ...listener, name: 'TLS', port: ports[1], security: 'tls' },
        { ...listener, name: 'BOTH', port: ports[2], security: 'sasl-tls', advertisedHost: 'kafka.example' },
      ],
      'admin.metrics-history.enabled': false,
    },
    { hasHttp: true },
  )
  const { listeners, capabilities, limits } = await askHttp(url)<Capabilities>(PATH)
  const both = ['PLAIN', 'SCRAM-SHA-256']
  assert.deepEqual(
    listeners.map(({ name, host, port: shown, security, mechanisms, needsCertificate }) => {
      return [name, `${host}:${shown}`, security, mechanisms, needsCertificate]
    }),
    [
      ['PLAINTEXT', `127.0.0.1:${port}`, 'SASL_PLAINTEXT', both, false],
      ['OPEN', `127.0.0.1:${ports[0]}`, 'PLAINTEXT', [], false],
      ['TLS', `127.0.0.1:${ports[1]}`, 'SSL', [], true],
      ['BOTH', `kafka.example:${ports[2]}`, 'SASL_SSL', both, true],
    ],
  )
  assert.deepEqual(
    capabilities.slice(0, 2).map(({ id, state, because }) => [id, state, because]),
    [
      ['tls', 'on', null],
      ['sasl', 'on', null],
    ],
  )
  assert.equal(limits.metricsHistory, null)
})

test('the listeners of the other brokers come after those of the broker that answers', async t => {
  const cluster = createCluster(t, OPEN, { hasHttp: true })
  const one = await cluster.start(1)
  const two = await cluster.start(2)
  await cluster.agreed([one, two], [1, 2])
  const { listeners, brokerId } = await askHttp(two.url)<Capabilities>(PATH)
  assert.deepEqual([brokerId, ...listeners.map(each => [each.brokerId, each.port])], [2, [2, two.port], [1, one.port]])
})

test('on Redis the store and the namespace of its keys are named', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const { url } = await startBroker(t, { ...OPEN, 'redis.uri': redis.uri, namespace: 'shop' }, { hasHttp: true })
  const { namespace, store } = await askHttp(url)<Capabilities>(PATH)
  assert.deepEqual([namespace, store.engine], ['shop', 'redis'])
  assert.match(store.description, new RegExp(`^Redis .* at 127.0.0.1:${redis.port},`))
})
