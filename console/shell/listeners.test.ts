import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KafkaListener } from '../../src/api/capabilities.ts'
import { waysOf } from './listeners.ts'

const listener = (given: Partial<KafkaListener>): KafkaListener => ({
  ...{ brokerId: 1, name: 'PLAINTEXT', host: 'kafka.example', port: 9092, security: 'PLAINTEXT', mechanisms: [] },
  ...{ needsCertificate: false, ...given },
})

test('the brokers of one listener are one way, with all their addresses', () => {
  const ways = waysOf([
    listener({ host: 'one' }),
    listener({ name: 'EXTERNAL', host: 'outside', port: 9093, security: 'SSL', needsCertificate: true }),
    listener({ brokerId: 2, host: 'two' }),
  ])
  assert.deepEqual(
    ways.map(({ name, access: { bootstrap, security }, needsCertificate }) => [
      name,
      bootstrap,
      security,
      needsCertificate,
    ]),
    [
      ['PLAINTEXT', 'one:9092,two:9092', 'PLAINTEXT', false],
      ['EXTERNAL', 'outside:9093', 'SSL', true],
    ],
  )
})

test('an IPv6 address has brackets', () => {
  assert.equal(waysOf([listener({ host: '::1' })])[0]!.access.bootstrap, '[::1]:9092')
})

test('a mechanism with a name and a password comes before one with tokens', () => {
  const [way] = waysOf([listener({ security: 'SASL_SSL', mechanisms: ['OAUTHBEARER', 'SCRAM-SHA-256'] })])
  assert.equal(way!.access.mechanism, 'SCRAM-SHA-256')
  assert.equal(waysOf([listener({})])[0]!.access.mechanism, null)
})

test('a way without settings comes before one with TLS', () => {
  const ways = waysOf([listener({ name: 'OUTSIDE', security: 'SSL' }), listener({ name: 'INSIDE', port: 9094 })])
  assert.deepEqual(
    ways.map(({ name }) => name),
    ['INSIDE', 'OUTSIDE'],
  )
})
