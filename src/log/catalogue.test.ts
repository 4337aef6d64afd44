import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, openLogWorld } from '../../testing/sim/logs.ts'
import { seededRandom } from '../base/random.ts'
import {
  INVALID_CONFIG,
  isRefusal,
  MESSAGE_TOO_LARGE,
  type Refusal,
  TOPIC_ALREADY_EXISTS,
  UNKNOWN_TOPIC_ID,
} from '../protocol/errors.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { OutcomeUnknown, StoreUnavailable, streamId } from '../store/store.ts'
import { openCatalogue, type Topic } from './catalogue.ts'

const orders = { name: 'orders', partitions: 3, configs: { 'retention.ms': '1000' } }
const said = (answers: readonly (Topic | Refusal)[]) => answers.map(answer => answer.name)

test('the cluster id is created once and kept', async t => {
  const world = await openLogWorld(t)
  const { clusterId } = world.catalogue.current()
  assert.match(clusterId, /^[A-Za-z0-9_-]{22}$/)
  assert.equal((await world.restart()).catalogue.current().clusterId, clusterId)
})

test('topics survive a restart as they were', async t => {
  const world = await openLogWorld(t)
  const [made] = await world.catalogue.add([orders])
  const { topics, topicsById, version } = (await world.restart()).catalogue.current()
  assert.deepEqual(topics.get('orders'), made)
  assert.equal(topicsById.get((made as Topic).id), topics.get('orders'))
  assert.equal(topics.get('orders')!.resolved.retentionMs, 1000)
  assert(version > 0)
})

test('a snapshot never changes; the next one has a higher version', async t => {
  const { catalogue } = await openLogWorld(t)
  const before = catalogue.current()
  await catalogue.add([orders])
  assert.deepEqual([before.topics.size, catalogue.current().topics.size], [0, 1])
  assert(catalogue.current().version > before.version)
})

test('a topic created again under the same name is another topic', async t => {
  const { catalogue, store } = await openLogWorld(t)
  const [first] = (await catalogue.add([orders])) as Topic[]
  assert.deepEqual(said(await catalogue.remove([first!.id])), ['orders'])
  const [second] = (await catalogue.add([orders])) as Topic[]
  assert.notEqual(first!.id, second!.id)
  assert.deepEqual(said(await catalogue.remove([first!.id])), [UNKNOWN_TOPIC_ID.name])
  assert.equal(catalogue.current().topics.get('orders')?.id, second!.id)
  assert.deepEqual(
    [...(await store.streams())].sort(),
    [0, 1, 2].map(index => streamId(second!.id, index)),
  )
})

test('of two topics with one name only the first is created, in one call and in two', async t => {
  const { catalogue } = await openLogWorld(t)
  const once = catalogue.add([orders, { ...orders, partitions: 1 }])
  const again = catalogue.add([orders, { ...orders, name: 'payments' }])
  assert.deepEqual(said(await once), ['orders', TOPIC_ALREADY_EXISTS.name])
  assert.deepEqual(said(await again), [TOPIC_ALREADY_EXISTS.name, 'payments'])
  assert.equal(catalogue.current().topics.get('orders')?.partitions, 3)
})

test('when the store refuses, no topic is created, and the next attempt works', async t => {
  const { catalogue, store } = await openLogWorld(t)
  for (const verb of ['create', 'commit'] as const) {
    store.faults.failNext(verb, 'unavailable')
    await assert.rejects(catalogue.add([orders]), StoreUnavailable)
    assert.equal(catalogue.current().topics.size, 0)
  }
  assert(!isRefusal((await catalogue.add([orders]))[0]))
})

for (const fault of ['unknown-lost', 'unknown-done'] as const) {
  test(`a creation and a removal whose outcome is unknown (${fault}) are settled by looking`, async t => {
    const world = await openLogWorld(t)
    const { catalogue, store } = world
    store.faults.failNext('commit', fault)
    const [made] = (await catalogue.add([orders])) as Topic[]
    assert.equal(made!.name, 'orders')
    assert.notEqual(world.logs.partition(made!.id, 2), null)
    store.faults.failNext('commit', fault)
    assert.deepEqual(said(await catalogue.remove([made!.id])), ['orders'])
    assert.equal(catalogue.current().topics.size, 0)
    assert.equal(world.logs.partition(made!.id, 2), null)
    assert.deepEqual(await store.streams(), [])
  })
}

test('when even the next load fails the caller gets the error, and the catalogue loads again by itself', async t => {
  const { catalogue, store, logs, clock } = await openLogWorld(t)
  const [payments] = (await catalogue.add([{ ...orders, name: 'payments' }])) as Topic[]
  const looked = () => [...catalogue.current().topics.keys()]
  store.faults.failNext('commit', 'unknown-done')
  store.faults.failNext('load', 'unavailable', 3)
  await assert.rejects(catalogue.add([orders]), OutcomeUnknown)
  assert.deepEqual(looked(), ['payments'])
  await clock.advance(10_000)
  assert.deepEqual(looked(), ['payments', 'orders'])
  assert.notEqual(logs.partition(catalogue.current().topics.get('orders')!.id, 0), null)

  store.faults.failNext('commit', 'unknown-done')
  store.faults.failNext('load', 'unavailable', 3)
  await assert.rejects(catalogue.remove([payments!.id]), OutcomeUnknown)
  await clock.advance(10_000)
  assert.deepEqual(looked(), ['orders'])
  await catalogue.remove([catalogue.current().topics.get('orders')!.id])
  assert.deepEqual(await store.streams(), [])
})

test('when even the next load fails the next change loads first', async t => {
  const world = await openLogWorld(t)
  world.store.faults.failNext('commit', 'unknown-done')
  world.store.faults.failNext('load', 'unavailable')
  await assert.rejects(world.catalogue.add([orders]), OutcomeUnknown)
  const creations = world.store.calls.create
  assert.deepEqual(said(await world.catalogue.add([orders])), [TOPIC_ALREADY_EXISTS.name])
  assert.equal(world.store.calls.create, creations)
  assert.notEqual(world.logs.partition(world.catalogue.current().topics.get('orders')!.id, 0), null)
})

test('a change by another writer is loaded before the own change is decided again', async t => {
  const world = await openLogWorld(t)
  const other = await openLogWorld(t, { store: world.store, clock: world.clock })
  await other.catalogue.add([orders])
  assert.deepEqual(said(await world.catalogue.add([orders, { ...orders, name: 'payments' }])), [
    TOPIC_ALREADY_EXISTS.name,
    'payments',
  ])
  assert.deepEqual([...world.catalogue.current().topics.keys()].sort(), ['orders', 'payments'])
  assert.equal((await world.store.streams()).length, 6, 'the streams of the topic that lost are removed')
})

test('streams that no topic owns are removed at start', async t => {
  const world = await openLogWorld(t)
  await world.create('orders')
  await world.store.create([streamId('AAAAAAAAAAAAAAAAAAAAAQ', 0)])
  const next = await world.restart()
  assert.deepEqual(await next.store.streams(), [streamId(next.catalogue.current().topics.get('orders')!.id, 0)])
})

test('streams that could not be removed with their topic are removed later', async t => {
  const { catalogue, clock, store } = await openLogWorld(t)
  const [topic] = (await catalogue.add([orders])) as Topic[]
  store.faults.failNext('remove', 'unavailable', 2)
  assert.deepEqual(said(await catalogue.remove([topic!.id])), ['orders'])
  assert.equal((await store.streams()).length, 3)
  await clock.advance(3_000)
  assert.deepEqual(await store.streams(), [])
})

test('an unreadable topic is not created again, keeps its streams, and is removed when it is deleted by name', async t => {
  const world = await openLogWorld(t)
  const { version } = (await world.store.load('catalogue', 'topics'))!
  const id = 'AAAAAAAAAAAAAAAAAAAAbQ'
  const changes = [{ key: 'topic:odd', value: Buffer.from(JSON.stringify({ id, shards: 7 })) }]
  await world.store.create([`${id}:0`])
  await world.store.commit({ kind: 'catalogue', name: 'topics', expect: version, changes })
  const { catalogue, store } = await world.restart()
  assert.deepEqual([...catalogue.current().unreadable], [['odd', id]])
  const made = await catalogue.add(['odd', 'even'].map(name => ({ name, partitions: 1, configs: {} })))
  assert.deepEqual(
    made.map(each => (isRefusal(each) ? each.name : each.name)),
    ['TOPIC_ALREADY_EXISTS', 'even'],
  )
  assert((await store.streams()).includes(`${id}:0`))
  assert.deepEqual([...(await catalogue.discard(['odd', 'even']))], ['odd'])
  assert(!(await store.streams()).includes(`${id}:0`))
  const [again] = await catalogue.add([{ name: 'odd', partitions: 1, configs: {} }])
  assert(!isRefusal(again!))
})

test('a topic that can no longer be read keeps its earlier form, and cannot be changed', async t => {
  const world = await openLogWorld(t)
  const topic = await world.create('orders')
  const { version } = (await world.store.load('catalogue', 'topics'))!
  const value = Buffer.from('garbage')
  await world.store.commit({
    kind: 'catalogue',
    name: 'topics',
    expect: version,
    changes: [{ key: 'topic:orders', value }],
  })
  await world.catalogue.catchUp()
  assert.equal(isRefusal(await world.partition('orders').append(batchOf(), 0)), false)
  const [changed] = await world.catalogue.change([topic.id], () => ({ partitions: 2 }))
  assert.equal(isRefusal(changed!) && changed.name, 'KAFKA_STORAGE_ERROR')
  assert.equal((await world.store.load('catalogue', 'topics'))!.fields.get('topic:orders')!.toString(), 'garbage')
  const restarted = await world.restart()
  assert.equal(restarted.catalogue.current().topics.size, 0)
  assert.equal((await restarted.store.streams()).length, 1)
})

test('new overrides act at once on open partitions, and survive a restart', async t => {
  const world = await openLogWorld(t)
  const topic = await world.create('orders', { 'retention.ms': '1000', 'max.message.bytes': '50' })
  const tooLarge = await world.partition('orders').append(batchOf(), 0)
  assert.equal(isRefusal(tooLarge) && tooLarge.name, MESSAGE_TOO_LARGE.name)
  const before = world.catalogue.current()
  const [changed] = await world.catalogue.change([topic.id], ({ configs }) => ({
    configs: { 'retention.ms': configs['retention.ms']!, 'message.timestamp.type': 'LogAppendTime' },
  }))
  assert.deepEqual((changed as Topic).configs, { 'retention.ms': '1000', 'message.timestamp.type': 'LogAppendTime' })
  assert(world.catalogue.current().version > before.version)
  assert.equal(before.topics.get('orders'), topic)
  const appended = await world.partition('orders').append(batchOf(), 0)
  assert.equal(isRefusal(appended) ? appended.message : appended.logAppendTimeMs, world.clock.now())
  const { topics } = (await world.restart()).catalogue.current()
  assert.deepEqual(topics.get('orders'), changed)
})

test('a change that is refused or changes nothing writes nothing, and an unknown topic is refused', async t => {
  const { catalogue, create } = await openLogWorld(t)
  const { id } = await create('orders', { 'retention.ms': '1000' })
  const { version } = catalogue.current()
  const answers = await catalogue.change([id, 'unknown'], () => INVALID_CONFIG)
  assert.deepEqual(said(answers), [INVALID_CONFIG.name, UNKNOWN_TOPIC_ID.name])
  assert.deepEqual(said(await catalogue.change([id], topic => ({ configs: { ...topic.configs } }))), ['orders'])
  assert.equal(catalogue.current().version, version)
})

test('partitions see overrides that another writer changed, and the next change is decided on them', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders')
  const other = await openCatalogue(world.store, world.settings, world.clock, seededRandom(1))
  await other.change([id], () => ({ configs: { 'retention.ms': '1' } }))
  const asked: Topic['configs'][] = []
  await world.catalogue.change([id], ({ configs }) => {
    asked.push(configs)
    return { configs: { ...configs, 'retention.bytes': '2' } }
  })
  assert.deepEqual(asked, [{}, { 'retention.ms': '1' }])
  const { retentionMs, retentionBytes } = world.partition('orders').state.topic.resolved
  assert.deepEqual([retentionMs, retentionBytes], [1, 2])
})

test('a change that looks empty here is made if another writer has changed the topic', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders', { 'retention.ms': '1' })
  const open = () => openCatalogue(world.store, world.settings, world.clock, seededRandom(1), async () => false)
  const [behind, other] = [await open(), await open()]
  await other.change([id], () => ({ configs: { 'retention.ms': '2' } }))
  await behind.change([id], () => ({ configs: { 'retention.ms': '1' } }))
  await other.catchUp()
  assert.deepEqual(other.current().topicsById.get(id)!.configs, { 'retention.ms': '1' })
  await other.remove([id])
  assert.deepEqual(said(await behind.change([id], ({ configs }) => ({ configs }))), [UNKNOWN_TOPIC_ID.name])
})

test('a topic gets more partitions, which take appends at once, and keeps its old ones', async t => {
  const world = await openLogWorld(t)
  const { catalogue, logs } = world
  const before = await world.create('orders', { 'retention.ms': '1000' }, 3)
  const partition = logs.partition(before.id, 0)
  const [[first], [second]] = (await Promise.all([
    catalogue.change([before.id], () => ({ partitions: 5 })),
    catalogue.change([before.id], topic => ({ partitions: topic.partitions + 1, configs: {} })),
  ])) as [Topic[], Topic[]]
  assert.deepEqual([first!.partitions, second!.partitions], [5, 6])
  assert.deepEqual(second, { ...before, partitions: 6, configs: {}, resolved: second!.resolved })
  assert.equal(catalogue.current().topics.get('orders'), second)
  assert.equal(logs.partition(before.id, 0), partition)
  assert.equal(isRefusal(await world.partition('orders', 5).append(batchOf(), 0)), false)
  assert.deepEqual((await world.restart()).catalogue.current().topics.get('orders'), second)
})

for (const fault of ['unknown-lost', 'unknown-done'] as const) {
  test(`a change whose outcome is unknown (${fault}) is settled by looking`, async t => {
    const { catalogue, create, store, logs } = await openLogWorld(t)
    const { id } = await create('orders')
    store.faults.failNext('commit', fault)
    const [topic] = (await catalogue.change([id], () => ({ partitions: 4 }))) as Topic[]
    assert.equal(topic!.partitions, 4)
    assert.notEqual(logs.partition(id, 3), null)
  })
}

test('partitions that another writer added are opened', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders')
  const other = await openLogWorld(t, { store: world.store, clock: world.clock })
  await other.catalogue.change([id], () => ({ partitions: 5 }))
  await world.create('payments')
  assert.equal(world.catalogue.current().topics.get('orders')!.partitions, 5)
  assert.notEqual(world.logs.partition(id, 4), null)
})

test('catchUp loads the changes of others, and reads only a version if nothing changed', async t => {
  const world = await openLogWorld(t)
  const kept = await world.create('kept')
  const other = await openCatalogue(world.store, world.settings, world.clock, seededRandom(1))
  const [made] = (await other.add([{ name: 'made', partitions: 2, configs: {} }])) as [Topic]
  await world.catalogue.catchUp()
  assert.notEqual(world.logs.partition(made.id, 1), null)
  assert.equal(world.catalogue.current().topics.get('kept'), kept)
  const { load, version } = world.store.calls
  await world.catalogue.catchUp()
  assert.deepEqual([world.store.calls.load - load, world.store.calls.version - version], [0, 1])
  await other.remove([made.id])
  await world.catalogue.catchUp()
  assert.equal(world.logs.partition(made.id, 1), null)
})

test('streams without a topic are removed at a start, but not while another broker may be creating their topic', async t => {
  const world = await openLogWorld(t)
  const orphan = streamId('AAAAAAAAAAAAAAAAAAAAAQ', 0)
  await world.store.create([orphan])
  const start = (isAlone: boolean) =>
    openCatalogue(world.store, world.settings, world.clock, seededRandom(1), async () => isAlone)
  await start(false)
  assert.deepEqual(await world.store.streams(), [orphan])
  const { version } = world.catalogue.current()
  const after = await start(true)
  assert.deepEqual(await world.store.streams(), [])
  // A broker that was about to name the topic finds that the catalogue has changed.
  assert.ok(after.current().version > version)
})

test('a store that was emptied is a new cluster: its topics are gone, and new ones can be created', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('lost')
  const { clusterId } = world.catalogue.current()
  const told: string[][] = []
  world.catalogue.watch({
    removed() {},
    replaced: ({ before, after }, lost) => void told.push([before, after, ...lost.map(({ name }) => name)]),
  })
  world.store.faults.empty()
  await world.catalogue.catchUp()
  const { clusterId: after, topics } = world.catalogue.current()
  assert.notEqual(after, clusterId)
  assert.deepEqual([topics.size, told], [0, [[clusterId, after, 'lost']]])
  assert.equal(world.logs.partition(id, 0), null)
  await world.create('lost')
  assert.equal(isRefusal(await world.partition('lost').append(batchOf(), 0)), false)
  await world.catalogue.catchUp()
  assert.equal(told.length, 1)
})

test('if only the catalogue is gone a start fails, and a running broker creates no new cluster', async t => {
  const world = await openLogWorld(t)
  await world.create('kept')
  const { version } = world.catalogue.current()
  await world.store.commit({ kind: 'catalogue', name: 'topics', expect: version, changes: [], remove: true })
  await assert.rejects(world.catalogue.catchUp(), StoreUnavailable)
  assert.equal(world.catalogue.current().topics.size, 1)
  await assert.rejects(openCatalogue(world.store, world.settings, world.clock, seededRandom(1)), StoreOpenError)
  assert.equal((await world.store.streams()).length, 1)
})
