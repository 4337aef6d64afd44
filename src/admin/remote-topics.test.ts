import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicPattern } from '../../testing/topic-pattern.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { Topic } from '../log/catalogue.ts'
import { testSettings } from '../settings/settings.ts'
import { checkRemoteTopic } from './remote-topics.ts'

const NEW = ['rewrite', 'remote-tier']
const REMOTE = { 'remote.storage.enable': 'true' }

const broker = (id: number, features: readonly string[], version: string | null = null): BrokerInfo => ({
  ...{ id, incarnation: `start of ${id}`, rack: null, endpoints: [], version, certificates: [] },
  ...{ features, expiryMs: 1_000 },
})

function world({ brokers = [broker(1, NEW)], others = [] as readonly BrokerInfo[], patterns = false } = {}) {
  const topics = patterns ? [topicPattern('*', { remoteStorageEnabled: true })] : []
  const settings = testSettings({ 'storage.remote.path': '/tables', topics })
  return { settings, cluster: { brokers: () => brokers, others: () => others } }
}

test('every living broker must know the remote tier before a topic gets it', () => {
  assert.equal(checkRemoteTopic(world(), 'orders', REMOTE, null), null)
  const old = world({ brokers: [broker(1, NEW), broker(2, ['rewrite'], '0.0.9')] })
  assert.equal(
    checkRemoteTopic(old, 'orders', REMOTE, null)?.message,
    'remote.storage.enable: got true, but broker 2 runs version 0.0.9 without the remote tier; upgrade it first',
  )
  // A broker that starts, or has no listener, may lead partitions later.
  const starting = world({ others: [broker(3, [])] })
  assert.match(checkRemoteTopic(starting, 'orders', REMOTE, null)?.message ?? '', /broker 3 runs a version without/)
})

test('a pattern that gives the tier asks the same', () => {
  const old = world({ brokers: [broker(2, [])], patterns: true })
  assert.equal(checkRemoteTopic(old, 'orders', {}, null)?.name, 'INVALID_CONFIG')
  assert.equal(checkRemoteTopic(old, 'orders', { 'cleanup.policy': 'compact' }, null), null)
})

test('a topic whose former table is being dropped does not get the tier again before', () => {
  const left = { id: 'id', resolved: { remoteStorageEnable: false, remoteLogDeleteOnDisable: true } } as Topic
  const rooms = (version: number) => ({ ...world(), remoteTier: { noticed: () => version } })
  assert.match(checkRemoteTopic(rooms(3), 'orders', REMOTE, left)?.message ?? '', /still being dropped/)
  assert.equal(checkRemoteTopic(rooms(0), 'orders', REMOTE, left), null)
})

test('a topic without the tier, and one that has it already, are not refused', () => {
  const old = world({ brokers: [broker(2, [])] })
  assert.equal(checkRemoteTopic(old, 'orders', {}, null), null)
  const remote = { resolved: { remoteStorageEnable: true } } as Topic
  assert.equal(checkRemoteTopic(old, 'orders', REMOTE, remote), null)
})
