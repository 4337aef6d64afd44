import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownConfig } from '../../../src/api/topics.ts'
import { effectOf } from './config-effects.ts'

test('a change of the remote tier says what becomes of the records there', () => {
  const change = (name: string, value: string, to: string) =>
    effectOf({ config: { name, value, because: null } as ShownConfig, to })
  assert.equal(change('remote.storage.enable', 'false', 'true').isLoss, false)
  const off = change('remote.storage.enable', 'true', 'false')
  assert.equal(off.isLoss, true)
  assert.match(off.text, /^The table of the topic is dropped/)
  assert.equal(change('remote.log.copy.disable', 'false', 'true').isLoss, true)
  assert.equal(change('local.retention.ms', '-2', '60000').isLoss, false)
})

test('a change of the clean-up policy says which records it removes', () => {
  const change = (value: string, to: string) =>
    effectOf({ config: { name: 'cleanup.policy', value, because: null } as ShownConfig, to })
  assert.deepEqual(change('delete', 'compact'), {
    text: 'Of each key only the newest record stays, records without a key go, and new records need a key. Removed records cannot be brought back.',
    isLoss: true,
  })
  assert.match(change('delete', 'delete,compact').text, /^Of each key only the newest record stays/)
  assert.deepEqual(change('compact', 'compact,delete'), {
    text: 'Records older or larger than the retention are deleted soon. Removed records cannot be brought back.',
    isLoss: true,
  })
  assert.equal(change('compact,delete', 'compact').isLoss, false)
})
