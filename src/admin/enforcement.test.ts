import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSettings } from '../settings/settings.ts'
import { aclNotice, credentialNotice } from './enforcement.ts'

test('the notice about a credential says why no client can authenticate with it', () => {
  const asks = { 'broker.sasl.enabled': true }
  const listener = { name: 'A', port: 9093, host: null, advertisedHost: null, advertisedPort: null } as const
  assert.match(
    credentialNotice(testSettings({}), 'PLAIN')!,
    /^No broker asks Kafka clients for credentials, because .+\.$/,
  )
  assert.match(
    credentialNotice(testSettings(asks), 'PLAIN')!,
    /^No broker offers PLAIN .* svc\.broker\.sasl\.mechanisms\.$/,
  )
  assert.equal(credentialNotice(testSettings(asks), 'SCRAM-SHA-256'), null)
  const secured = testSettings({ 'broker.listeners': [{ ...listener, security: 'sasl-tls' }] })
  assert.equal(credentialNotice(secured, 'SCRAM-SHA-256'), null)
})

test('the notice about a rule says that no broker enforces it, and is null if brokers do', () => {
  assert.match(
    aclNotice(testSettings({}))!,
    /^No broker enforces rules: every Kafka client may do everything, because .+\.$/,
  )
  assert.equal(aclNotice(testSettings({ 'broker.acl.enabled': true })), null)
})
