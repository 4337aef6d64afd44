// The other brokers see a change: at once where a client asks, within two seconds where the judge looks.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { StoreUnavailable } from '../../store/store.ts'

function world(t: TestContext) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const open = () => {
    const face = store.beside()
    return { face, registry: openTestRegistry(t, face, { clock }) }
  }
  return { clock, store, open }
}

const wider = (fields: number) =>
  toy('R', Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, 'int?'])))

test('another broker answers at once with what one broker has registered', async t => {
  const { open } = world(t)
  const [one, other] = [open().registry, open().registry]
  for (let i = 0; i < 5; i++) {
    assert.deepEqual(await other.subjects(), i === 0 ? [] : ['s'])
    const { id, guid } = accepted(await one.register('s', { schema: wider(i) }))
    assert.equal(accepted(await other.byId(id)).guid, guid)
    assert.equal(accepted(await other.byVersion('s', 'latest')).id, id)
    assert.equal(accepted(await other.lookUp('s', { schema: wider(i) }, {})).id, id)
    assert.deepEqual(await other.subjectsOfId(id), ['s'])
    assert.equal((await other.schemas()).length, i + 1)
  }
  accepted(await one.deleteVersion('s', 5))
  assert.deepEqual(accepted(await other.versions('s')), [1, 2, 3, 4])
  accepted(await one.putConfig(null, { compatibility: 'NONE' }))
  assert.deepEqual(await other.getConfig(null), { compatibilityLevel: 'NONE' })
})

test('the judge of another broker sees a new subject, a new version and a level within two seconds', async t => {
  const { open, clock } = world(t)
  const [one, other] = [open().registry, open().registry]
  await clock.advance(100)
  assert.equal(other.judged.now('s'), undefined)
  assert.equal((await other.judged.load('s')).latest, null)
  assert.equal(other.judged.now('s')!.latest, null)
  accepted(await one.register('s', { schema: wider(0) }))
  await clock.advance(1_100)
  assert.deepEqual(other.judged.now('s')!.latest?.version, 1)
  accepted(await one.register('s', { schema: wider(1) }))
  accepted(await one.putConfig(null, { compatibility: 'FULL' }))
  await clock.advance(1_100)
  const now = other.judged.now('s')!
  assert.deepEqual([now.latest?.version, now.level, [...now.guidOfId.keys()]], [2, 'FULL', [1, 2]])
  assert.equal(other.judged.now('s'), now, 'the same object until something changes')
  accepted(await one.deleteVersion('s', 2))
  await clock.advance(1_100)
  assert.deepEqual([other.judged.now('s')!.latest?.version, [...other.judged.now('s')!.guidOfId.keys()]], [1, [1, 2]])
})

test('a change that is made long after its notice is seen too', async t => {
  const { open, clock } = world(t)
  const [slow, other] = [open(), open().registry]
  await clock.advance(100)
  await other.judged.load('s')
  let release = () => {}
  const load = slow.face.load
  const registry = openTestRegistry(
    t,
    {
      ...slow.face,
      load,
      commit: async commit => {
        if (commit.kind === 'schema-subject') release = slow.face.faults.hold('commit')
        return await slow.face.commit(commit)
      },
    },
    { clock },
  )
  const registering = registry.register('s', { schema: wider(0) })
  // The notice is read, and the subject does not exist yet.
  await clock.advance(10_000)
  assert.equal(other.judged.now('s')!.latest, null)
  release()
  accepted(await registering)
  await clock.advance(1_100)
  assert.equal(other.judged.now('s')!.latest?.version, 1)
})

test('while the store is away, the judge must ask, and nothing passes as absent', async t => {
  const { open, clock } = world(t)
  const { face, registry } = open()
  await clock.advance(100)
  accepted(await registry.register('s', { schema: wider(0) }))
  await registry.judged.load('s')
  assert.equal(registry.judged.now('s')!.latest?.version, 1)
  face.faults.failNext('version', 'unavailable', 100)
  await clock.advance(5_000)
  assert.equal(registry.judged.now('s'), undefined)
  await assert.rejects(registry.judged.load('s'), StoreUnavailable)
})

test('a broker that has missed notices forgets all that it knows', async t => {
  const { open, clock } = world(t)
  const [one, other] = [open().registry, open().registry]
  await clock.advance(100)
  await other.judged.load('subject-1')
  assert.deepEqual(await other.subjects(), [])
  const names = Array.from({ length: 700 }, (_, i) => `subject-${i}`)
  for (const name of names) accepted(await one.register(name, { schema: wider(0) }))
  await clock.advance(1_100)
  assert.equal(other.judged.now('subject-1'), undefined)
  assert.equal((await other.judged.load('subject-1')).latest?.version, 1)
  assert.deepEqual(await other.subjects(), names.toSorted())
})

test('notices that went back in time are not taken for news', async t => {
  const { open, clock, store } = world(t)
  const [one, other] = [open().registry, open().registry]
  accepted(await one.register('a', { schema: wider(0) }))
  accepted(await one.register('b', { schema: wider(0) }))
  await clock.advance(1_100)
  assert.deepEqual(await other.subjects(), ['a', 'b'])
  await other.judged.load('c')
  store.faults.loseDocument('schemas', 'notices')
  accepted(await one.register('c', { schema: wider(0) }))
  accepted(await one.register('d', { schema: wider(0) }))
  await clock.advance(1_100)
  const now = other.judged.now('c') ?? (await other.judged.load('c'))
  assert.equal(now.latest?.version, 1)
  assert.deepEqual(await other.subjects(), ['a', 'b', 'c', 'd'])
})

test('a broker alone on its store reads no document twice', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const registry = openTestRegistry(t, store, { clock, isShared: false })
  accepted(await registry.register('s', { schema: wider(0) }))
  accepted(await registry.byVersion('s', 1))
  await registry.subjects()
  await registry.getConfig(null)
  const before = { ...store.calls }
  for (let i = 0; i < 10; i++) {
    accepted(await registry.register('s', { schema: wider(0) }))
    accepted(await registry.byVersion('s', 1))
    accepted(await registry.byId(1))
    await registry.subjects()
    assert.equal(registry.judged.now('s')!.latest!.id, 1)
  }
  await clock.advance(10_000)
  assert.deepEqual(store.calls, before)
  assert.equal(await store.load('schemas', 'notices'), null)
})

test('the same schema that several brokers register at once has one id', async t => {
  const { open, clock } = world(t)
  const registries = [open().registry, open().registry, open().registry]
  const answers = await clock.passing(
    Promise.all(Array.from({ length: 12 }, (_, i) => registries[i % 3]!.register(`s${i % 4}`, { schema: wider(0) }))),
  )
  const ids = answers.map(answer => accepted(answer).id)
  assert.equal(new Set(ids).size, 1)
  for (const registry of registries) assert.equal(accepted(await registry.byId(ids[0]!)).schema, wider(0))
  for (let i = 0; i < 4; i++) assert.deepEqual(await registries[0]!.versions(`s${i}`), [1])
  // Two subjects whose schemas refer to each other's subject do not wait for each other.
  const references = (subject: string) => [{ name: 'R', subject, version: 1 }]
  const crossing = await clock.passing(
    Promise.all([
      registries[0]!.register('s0', { schema: toy('A', {}, { uses: ['R'] }), references: references('s1') }),
      registries[0]!.register('s1', { schema: toy('B', {}, { uses: ['R'] }), references: references('s0') }),
    ]),
  )
  for (const answer of crossing) assert.doesNotMatch(refusedWith(answer), /^4/)
})
