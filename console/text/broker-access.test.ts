import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KafkaListener } from '../../src/api/capabilities.ts'
import { accessOf } from './broker-access.ts'

const listener = (brokerId: number, name: string, values: Partial<KafkaListener> = {}): KafkaListener => {
  const fields = { brokerId, name, host: `b${brokerId}.example`, port: 9092, needsCertificate: false }
  return { ...fields, security: 'PLAINTEXT', mechanisms: [], ...values }
}

test('commands reach all brokers through the listener that needs the fewest settings', () => {
  const listeners = [
    listener(1, 'SECURE', { security: 'SASL_SSL', mechanisms: ['PLAIN', 'SCRAM-SHA-256'] }),
    listener(1, 'PLAIN'),
    listener(2, 'PLAIN', { host: '::1', port: 9093 }),
  ]
  assert.deepEqual(accessOf({ brokerId: 1, listeners }, 'http://here', 'ada'), {
    bootstrap: 'b1.example:9092,[::1]:9093',
    security: 'PLAINTEXT',
    mechanism: null,
    url: 'http://here',
    apiUser: 'ada',
  })
  const secure = accessOf({ brokerId: 1, listeners: listeners.slice(0, 1) }, 'http://here', null)
  assert.equal(secure?.security, 'SASL_SSL')
  assert.equal(secure?.mechanism, 'SCRAM-SHA-256')
})

test('a broker without a listener for clients gives no commands', () => {
  assert.equal(accessOf({ brokerId: 1, listeners: [listener(2, 'PLAIN')] }, 'http://here', null), null)
})
