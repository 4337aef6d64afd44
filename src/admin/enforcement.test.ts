import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settings } from '../settings/settings.ts'
import { aclNotice, credentialNotice } from './enforcement.ts'

/** Settings in which every switch is this. */
const switched = (to: boolean) => ({ get: () => to }) as unknown as Settings

test('a change of credentials or rules says that nothing enforces them, until something does', () => {
  assert.match(credentialNotice(switched(false))!, /^No broker asks Kafka clients for credentials, because .+\.$/)
  assert.match(
    aclNotice(switched(false))!,
    /^No broker enforces rules: every Kafka client may do everything, because .+\.$/,
  )
  assert.equal(credentialNotice(switched(true)), null)
  assert.equal(aclNotice(switched(true)), null)
})
