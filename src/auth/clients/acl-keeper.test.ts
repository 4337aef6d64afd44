import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { seededRandom } from '../../base/random.ts'
import { type Store, StoreUnavailable, UnreadableDocument } from '../../store/store.ts'
import { openAclKeeper } from './acl-keeper.ts'
import type { Grant } from './acl-rules.ts'
import { watchRules } from './rule-watch.ts'

const read: Grant = { resourceType: 'TOPIC', resource: 'orders', operation: 'READ' }
const write: Grant = { ...read, operation: 'WRITE' }

async function open(isShared = true) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const told: string[] = []
  const join = (on: Store) =>
    openAclKeeper({
      ...{ store: on, clock, random: seededRandom(1), isShared },
      unreadable: ({ what, result }) => void told.push(`${what}: ${result}`),
    })
  const put = async (principal: string, text: string) => {
    const expect = await store.version('acl', principal)
    await store.commit({
      kind: 'acl',
      name: principal,
      expect,
      changes: [{ key: 'document', value: Buffer.from(text) }],
    })
  }
  return { clock, store, told, join, put, one: await join(store), other: await join(store.beside()) }
}

test('the views of two brokers agree as soon as each has looked', async () => {
  const { one, other } = await open()
  assert.equal(await one.change('ada', () => [read]), true)
  assert.deepEqual([...one.current().grants], [['ada', [read]]])
  assert.equal(other.current().grants.size, 0)
  await other.catchUp()
  assert.deepEqual([...other.current().grants], [['ada', [read]]])
  const before = other.current()
  await other.catchUp()
  assert.equal(other.current(), before, 'a look where nothing changed makes no new snapshot')
  assert.equal(await other.change('ada', grants => [...grants, write]), true)
  assert.equal(await one.change('ada', grants => grants.filter(each => each.operation === 'WRITE')), true)
  await other.catchUp()
  assert.deepEqual([...other.current().grants], [['ada', [write]]])
  assert.equal(await other.change('ada', () => []), true)
  await one.catchUp()
  assert.equal(one.current().grants.size, 0)
  assert.deepEqual([...before.grants], [['ada', [read]]], 'a snapshot never changes')
})

test('rules that another program writes are taken over, and those that cannot be read grant nothing', async () => {
  const { one, put, told } = await open()
  await put('ada', '{"topics":{"orders":["READ"]}}')
  await put('bob', '[]')
  await one.catchUp()
  await one.catchUp()
  assert.deepEqual([...one.current().grants], [['ada', [read]]])
  assert.ok(one.current().unreadable.get('bob') instanceof UnreadableDocument)
  assert.deepEqual(told, ['the rules of "bob": they count for nothing'])
  await assert.rejects(
    one.change('bob', () => [read]),
    UnreadableDocument,
  )
  await put('bob', '{"topics":{"orders":["WRITE"]}}')
  await one.catchUp()
  assert.deepEqual([...one.current().grants.keys()], ['ada', 'bob'])
  assert.equal(one.current().unreadable.size, 0)
})

test('while the store is away the snapshot stays, and the next look shows a change that was made meanwhile', async () => {
  const { store, one } = await open()
  await one.change('ada', () => [read])
  store.faults.failNext('list', 'unavailable')
  await assert.rejects(one.catchUp(), StoreUnavailable)
  assert.deepEqual([...one.current().grants.keys()], ['ada'])
  store.faults.failNext('list', 'unavailable')
  assert.equal(await one.change('bob', () => [read]), true)
  await one.catchUp()
  assert.deepEqual([...one.current().grants.keys()], ['ada', 'bob'])
  store.faults.failNext('commit', 'unavailable')
  await assert.rejects(
    one.change('cy', () => [read]),
    StoreUnavailable,
  )
})

test('a broker that is alone on its store sends no request to catch up', async () => {
  const { store, one } = await open(false)
  await one.change('ada', () => [read])
  const { list } = store.calls
  await one.catchUp()
  assert.equal(store.calls.list, list)
})

test('the rules that another broker writes are followed, also after the store was away, until the watch ends', async () => {
  const { clock, store, one, other } = await open()
  const watch = watchRules(other, clock)
  await one.change('ada', () => [read])
  await clock.advance(1000)
  assert.deepEqual([...other.current().grants.keys()], ['ada'])
  store.faults.failNext('list', 'unavailable')
  await clock.advance(1000)
  await one.change('bob', () => [read])
  await clock.advance(1000)
  assert.deepEqual([...other.current().grants.keys()], ['ada', 'bob'])
  watch.close()
  await one.change('cy', () => [read])
  await clock.advance(5000)
  assert.deepEqual([...other.current().grants.keys()], ['ada', 'bob'])
})
