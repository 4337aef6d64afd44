import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaEndpoints } from './endpoints.ts'
import type { ListenerSettings, Values } from './settings.ts'
import { testSettings } from './settings.ts'

test('clients get the advertised endpoint, else the bound one, and localhost if every interface is bound', () => {
  const cases: readonly [Partial<Values>, string, number | null][] = [
    [{}, 'localhost', null],
    [{ 'broker.host': '::' }, 'localhost', null],
    [{ 'broker.host': '127.0.0.1' }, '127.0.0.1', null],
    [{ 'broker.advertised-host': 'kafka.example.com', 'broker.advertised-port': 443 }, 'kafka.example.com', 443],
  ]
  for (const [values, advertisedHost, advertisedPort] of cases) {
    const [first] = kafkaEndpoints(testSettings(values))
    assert.deepEqual(
      [first!.name, first!.advertisedHost, first!.advertisedPort],
      ['PLAINTEXT', advertisedHost, advertisedPort],
    )
  }
})

test('a further listener binds its own host or broker.host, and never advertises the first one’s advertised host', () => {
  const nothing = { host: null, advertisedHost: null, advertisedPort: null, security: null }
  const listeners: readonly ListenerSettings[] = [
    { ...nothing, name: 'inner', port: 9093 },
    { ...nothing, name: 'outer', port: 9094, host: '10.0.0.1' },
    {
      name: 'far',
      port: 9095,
      host: '0.0.0.0',
      advertisedHost: 'kafka.example.com',
      advertisedPort: 19095,
      security: null,
    },
  ]
  const settings = testSettings({
    'broker.host': '127.0.0.1',
    'broker.advertised-host': 'first.example.com',
    'broker.advertised-port': 443,
    'broker.listeners': listeners,
  })
  const endpoints = kafkaEndpoints(settings).slice(1)
  assert.deepEqual(
    endpoints.map(({ name, host, port, advertisedHost, advertisedPort }) => [
      name,
      host,
      port,
      advertisedHost,
      advertisedPort,
    ]),
    [
      ['inner', '127.0.0.1', 9093, '127.0.0.1', null],
      ['outer', '10.0.0.1', 9094, '10.0.0.1', null],
      ['far', '0.0.0.0', 9095, 'kafka.example.com', 19095],
    ],
  )
  assert.equal(endpoints[1]!.key('port'), 'svc.broker.listeners[1].port')
})

test('a listener that says nothing of its security has the TLS and SASL of the broker', () => {
  const listener = { name: 'inner', host: null, port: 9093, advertisedHost: null, advertisedPort: null }
  const securities = (values: Partial<Values>, security: ListenerSettings['security'] = null) =>
    kafkaEndpoints(testSettings({ ...values, 'broker.listeners': [{ ...listener, security }] })).map(
      endpoint => endpoint.security,
    )
  assert.deepEqual(securities({}), ['plaintext', 'plaintext'])
  assert.deepEqual(securities({ 'broker.tls': true }), ['tls', 'tls'])
  assert.deepEqual(securities({ 'broker.sasl.enabled': true }), ['sasl-plaintext', 'sasl-plaintext'])
  const both = { 'broker.tls': true, 'broker.sasl.enabled': true }
  assert.deepEqual(securities(both), ['sasl-tls', 'sasl-tls'])
  assert.deepEqual(securities(both, 'plaintext'), ['sasl-tls', 'plaintext'])
})
