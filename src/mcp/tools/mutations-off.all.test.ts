// With svc.mcp.mutations-enabled=false no sequence of calls changes the store. The same calls with changes on must
// change something, or the test would show nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callAtRandom, changesNothing, changingTools } from '../../../testing/agent-random-calls.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { newFolder } from '../../../testing/store-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { openEmbeddedStore } from '../../store/embedded/embedded-store.ts'

const CALLS = 250

test('with changes off no sequence of calls of hundreds changes the embedded store', async t => {
  const store = await openEmbeddedStore({
    ...{ path: newFolder(t), clock: systemClock, fsync: 'interval', fsyncIntervalMs: 1_000 },
    report: () => {},
  })
  await changesNothing(t, CALLS, { openStore: async () => store, store })
})

test('with changes off no sequence of calls changes Redis', { skip: noRedis }, async t => {
  const { uri } = await startRedis(t)
  const { store } = await openTestStore(t, { 'redis.uri': uri })
  const other = await openTestStore(t, { 'redis.uri': uri })
  await changesNothing(t, CALLS, { openStore: async () => store, store: other.store, isShared: true })
})

test('with changes on the same calls change the store, through several tools', async t => {
  const { before, after, answered } = await callAtRandom(t, CALLS, {})
  assert.notDeepEqual(after.contents, before.contents)
  const used = changingTools.map(({ name }) => name).filter(name => answered.has(name))
  assert.ok(used.length >= 4, `only ${used}`)
  // Whatever they did, no tool reaches the users and the levels of loggers.
  const usersIn = ({ contents }: typeof before) =>
    Object.entries(contents.documents).filter(([name]) => /^(console|acl|credential|quotas) /.test(name))
  assert.deepEqual(usersIn(after), usersIn(before))
  assert.deepEqual(after.view.loggers, before.view.loggers)
})
