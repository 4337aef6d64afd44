import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retentionOf } from './retention.ts'

test('a topic says how long it keeps its records, and where', () => {
  const week = { cleanupPolicy: 'delete', retentionMs: '604800000', retentionBytes: '-1' }
  assert.equal(retentionOf(week, false), 'keeps 7 d in the local tier')
  assert.equal(retentionOf(week, true), 'keeps 7 d in the local tier and in Iceberg')
  assert.equal(
    retentionOf({ ...week, configs: { 'local.retention.ms': '86400000', 'local.retention.bytes': '-2' } }, true),
    'keeps 7 d in Iceberg, 1 d of it also in the local tier',
  )
  assert.equal(
    retentionOf({ ...week, configs: { 'local.retention.ms': '60000', 'local.retention.bytes': '1048576' } }, true),
    'keeps 7 d in Iceberg, 1 min or 1 MiB of each partition of it also in the local tier',
  )
  assert.equal(
    retentionOf({ ...week, retentionBytes: '1073741824' }, false),
    'keeps 7 d in the local tier, and 1 GiB of each partition at most',
  )
  const bySize = { ...week, retentionMs: '-1', retentionBytes: '1073741824' }
  assert.equal(retentionOf(bySize, false), 'keeps 1 GiB of each partition in the local tier')
  assert.equal(retentionOf({ ...week, retentionMs: '-1' }, false), 'keeps all records in the local tier')
  assert.equal(
    retentionOf({ ...week, cleanupPolicy: 'compact' }, false),
    'keeps the last record of each key in the local tier',
  )
  const both = { ...week, cleanupPolicy: 'compact,delete' }
  assert.equal(retentionOf(both, false), 'keeps 7 d in the local tier, of each key only the last record')
  assert.equal(
    retentionOf({ ...both, retentionMs: '-1' }, false),
    'keeps the last record of each key in the local tier',
  )
})
