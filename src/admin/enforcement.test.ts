import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settings } from '../settings/settings.ts'
import { aclNotice, credentialNotice } from './enforcement.ts'

/** Returns settings in which every switch has this value. */
const switched = (to: boolean) => ({ get: () => to }) as unknown as Settings

test('the notices say that no broker enforces credentials and rules, and are null if brokers do', () => {
  assert.match(credentialNotice(switched(false))!, /^No broker asks Kafka clients for credentials, because .+\.$/)
  assert.match(
    aclNotice(switched(false))!,
    /^No broker enforces rules: every Kafka client may do everything, because .+\.$/,
  )
  assert.equal(credentialNotice(switched(true)), null)
  assert.equal(aclNotice(switched(true)), null)
})
