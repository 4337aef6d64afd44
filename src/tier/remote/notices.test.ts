import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { seededRandom } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { Notices, type TableNotice } from './notices.ts'

const NOTICE: TableNotice = {
  topicName: 'orders',
  version: 3,
  fence: 1,
  sweptAtMs: 5,
  droppedAtMs: null,
  foreign: null,
}
const WAITING = {
  segments: 1,
  bytes: 2,
  oldestSealedAtMs: 3,
  suspended: 0,
  passed: 0,
  segmentsPerMin: 0,
  bytesPerMin: 0,
}

function open(store: Store, clock = new SimulatedClock()) {
  const changed: string[][] = []
  const named: string[] = []
  const notices = new Notices({
    ...{ store, clock, random: seededRandom(1) },
    unreadable: ({ what }) => named.push(what),
    changed: ids => changed.push([...ids]),
  })
  return { notices, changed, named }
}

test('a broker that follows hears of each table whose version has changed, once', async () => {
  const contents = createMemoryStore(new SimulatedClock())
  const [one, two] = [open(contents), open(contents.beside())]
  await one.notices.change(() => ({ tables: new Map([['a', NOTICE]]), worker: { atMs: 9, ...WAITING } }))
  await two.notices.follow()
  assert.deepEqual(two.notices.state.tables.get('a'), NOTICE)
  assert.deepEqual(two.notices.state.worker, { atMs: 9, ...WAITING })
  await one.notices.change(({ tables }) => ({
    tables: new Map([
      ['a', { ...tables.get('a')!, fence: 2 }],
      ['b', NOTICE],
    ]),
  }))
  await two.notices.follow()
  await two.notices.follow()
  await one.notices.change(() => ({ tables: new Map([['a', null]]) }))
  await two.notices.follow()
  assert.deepEqual(two.changed, [['a'], ['b'], ['a']])
  assert.deepEqual([...two.notices.state.tables.keys()], ['b'])
  assert.deepEqual(two.changed, one.changed)
})

test('a change that decides for nothing writes nothing', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const { notices } = open(store)
  assert.equal(await notices.change(() => null), true)
  assert.equal(await store.version('tier', 'notices'), 0)
})

test('notices that cannot be read are named once, left as they are, and the former ones stay', async () => {
  for (const [key, value] of [
    ['notices', '{"format":2}'],
    ['a', '{"version":-1}'],
    ['a', '[]'],
    ['worker', '{"segments":"many"}'],
  ] as const) {
    const store = createMemoryStore(new SimulatedClock())
    const { notices, named, changed } = open(store)
    await notices.change(() => ({ tables: new Map([['b', NOTICE]]) }))
    const version = await store.version('tier', 'notices')
    const changes = [{ key, value: Buffer.from(value) }]
    await store.commit({ kind: 'tier', name: 'notices', expect: version, changes })
    await notices.follow()
    assert.equal(await notices.change(() => ({ tables: new Map([['c', NOTICE]]) })), false)
    assert.deepEqual([named.length > 0, notices.state.tables.get('b')], [true, NOTICE], value)
    assert.deepEqual(changed, [['b']])
    assert.equal((await store.load('tier', 'notices'))!.fields.has('c'), false)
  }
})
