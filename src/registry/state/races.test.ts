// Reads that began before a change and end behind it are not kept.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'

/** A store whose next read of this kind resolves with what it found only when the test releases it. */
function slowRead(store: Store, verb: 'load' | 'names', kind: string) {
  let isDue = true
  const gate = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const late = async <T>(asked: string, read: Promise<T>): Promise<T> => {
    const found = await read
    if (!isDue || asked !== kind) return found
    isDue = false
    began.resolve()
    await gate.promise
    return found
  }
  const slow: Store =
    verb === 'load'
      ? { ...store, load: (asked, name) => late(asked, store.load(asked, name)) }
      : { ...store, names: asked => late(asked, store.names(asked)) }
  return { store: slow, began: began.promise, release: gate.resolve }
}

for (const isShared of [true, false]) {
  const where = isShared ? 'a store of several brokers' : 'a store of one broker'
  test(`a subject that was read before a change is not kept behind it, on ${where}`, async t => {
    const clock = new SimulatedClock()
    const { store, began, release } = slowRead(createMemoryStore(clock), 'load', 'schema-subject')
    const registry = openTestRegistry(t, store, { clock, isShared })
    await clock.advance(100)
    const before = registry.judged.load('s')
    await began
    accepted(await registry.register('s', { schema: toy('R') }))
    release()
    assert.equal((await before).latest, null)
    const now = registry.judged.now('s') ?? (await registry.judged.load('s'))
    assert.equal(now.latest?.version, 1)
  })

  test(`a list that was read before a change has the change, on ${where}`, async t => {
    const clock = new SimulatedClock()
    const contents = createMemoryStore(clock)
    const { store, began, release } = slowRead(contents.beside(), 'names', 'schema-subject')
    const registry = openTestRegistry(t, store, { clock, isShared })
    const another = isShared ? openTestRegistry(t, contents.beside(), { clock }) : registry
    accepted(await registry.register('a', { schema: toy('R') }))
    const first = registry.subjects()
    await began
    accepted(await another.register('b', { schema: toy('R') }))
    accepted(await registry.register('c', { schema: toy('R') }))
    // Without another broker the deletion waits for the list, to find what refers to the subject.
    const deleting = another.deleteSubject('a')
    if (isShared) accepted(await deleting)
    const second = registry.subjects()
    await clock.advance(10)
    release()
    await first
    assert.deepEqual(await second, isShared ? ['b', 'c'] : ['a', 'b', 'c'])
    accepted(await deleting)
    assert.deepEqual(await registry.subjects(), ['b', 'c'])
  })

  test(`the global level that was read before a change is not kept behind it, on ${where}`, async t => {
    const { store, began, release } = slowRead(createMemoryStore(systemClock), 'load', 'schemas')
    const registry = openTestRegistry(t, store, { isShared })
    // The document exists, so that it is loaded.
    const value = Buffer.from('{"format":1}')
    await store.commit({ kind: 'schemas', name: 'global', expect: 0, changes: [{ key: 'head', value }] })
    const before = registry.getConfig(null)
    await began
    accepted(await registry.putConfig(null, { compatibility: 'FULL' }))
    release()
    assert.deepEqual(await before, { compatibilityLevel: 'FULL' })
    assert.deepEqual(await registry.getConfig(null), { compatibilityLevel: 'FULL' })
  })
}

test('different schemas that brokers register at once get their own versions, and are compared with each other', async t => {
  const store = createMemoryStore(systemClock)
  const [one, other] = [openTestRegistry(t, store.beside()), openTestRegistry(t, store.beside())]
  for (const registries of [
    [one, one],
    [one, other],
  ] as const) {
    const subject = registries[0] === registries[1] ? 'same' : 'two'
    const both = await Promise.all([
      registries[0].register(subject, { schema: toy('R', { a: 'int?' }) }),
      registries[1].register(subject, { schema: toy('R', { b: 'int?' }) }),
    ])
    assert.deepEqual(both.map(answer => accepted(answer).version).sort(), [1, 2])
    const clashing = await Promise.all([
      registries[0].register(subject, { schema: toy('R', { c: 'int?' }) }),
      registries[1].register(subject, { schema: toy('R', { c: 'text?' }) }),
    ])
    assert.deepEqual(clashing.map(answer => refusedWith(answer).slice(0, 4)).sort(), ['409 ', 'not '])
  }
})

test('changes of many subjects at once are all in the lists behind them', async t => {
  const registry = openTestRegistry(t, createMemoryStore(systemClock), { clock: systemClock, isShared: false })
  const names = Array.from({ length: 50 }, (_, at) => `s${String(at).padStart(2, '0')}`)
  await Promise.all(names.map(name => registry.register(name, { schema: toy('R') })))
  assert.deepEqual(await registry.subjects(), names)
  await Promise.all(names.map(name => registry.deleteSubject(name)))
  assert.deepEqual(await registry.subjects(), [])
  await Promise.all(names.map(name => registry.register(name, { schema: toy('R') })))
  assert.deepEqual(await registry.subjects(), names)
})

for (const [kind, what] of [
  ['schema-id', 'id'],
  ['schema-content', 'guid'],
] as const)
  test(`a look-up by ${what} joins none that began before another broker gave it`, async t => {
    const clock = new SimulatedClock()
    const contents = createMemoryStore(clock)
    const { store, began, release } = slowRead(contents.beside(), 'load', kind)
    const registry = openTestRegistry(t, store, { clock })
    const another = openTestRegistry(t, contents.beside(), { clock })
    const guid = accepted(await openTestRegistry(t, createMemoryStore(clock), { clock }).register('s', NEW)).guid
    const find = async () => (what === 'id' ? await registry.byId(1) : await registry.byGuid(guid))
    const early = find()
    await began
    accepted(await another.register('s', NEW))
    const late = find()
    release()
    assert.match(refusedWith(await early), /^40403 /)
    assert.equal(accepted(await late).schema, NEW.schema)
  })

const NEW = { schema: toy('R') }
