import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, openTestRegistry } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'

test('subjects are surveyed with the settings in force, also those without versions', async t => {
  const store = createMemoryStore(systemClock)
  const registry = openTestRegistry(t, store, { defaultLevel: 'FORWARD' })
  accepted(await registry.register('b', { schema: toy('R') }))
  accepted(await registry.putConfig('a', { compatibility: 'NONE' }))
  const rows = async (each = registry) =>
    (await each.surveyAll()).subjects.map(row => `${row.subject.name} ${row.level} ${row.ownLevel} ${row.mode}`)
  assert.deepEqual(await rows(), ['a NONE NONE READWRITE', 'b FORWARD null READWRITE'])
  accepted(await registry.putConfig(null, { compatibility: 'FULL' }))
  accepted(await registry.putMode(null, 'READONLY'))
  // Another broker sees it at once.
  const other = openTestRegistry(t, store)
  assert.deepEqual(await rows(other), ['a NONE NONE READONLY', 'b FULL null READONLY'])
  const { fallback, global, ownMode } = await registry.surveyOne('b')
  assert.deepEqual([fallback, global.level, ownMode], [{ level: 'FORWARD', mode: 'READWRITE' }, 'FULL', null])
  assert.equal((await registry.surveyGlobal()).ownLevel, 'FULL')
})

test('the versions that refer to a subject are named, deleted ones too', async t => {
  const registry = openTestRegistry(t, createMemoryStore(systemClock))
  accepted(await registry.register('base', { schema: toy('B') }))
  const references = [{ name: 'B', subject: 'base', version: 1 }]
  for (const name of ['x', 'y']) accepted(await registry.register(name, { schema: toy(name), references }))
  accepted(await registry.deleteVersion('y', 1))
  const found = await registry.referrersTo('base')
  assert.deepEqual(
    found.map(({ id: _, ...each }) => each),
    [
      { subject: 'x', version: 1, isDeleted: false, refersTo: 1 },
      { subject: 'y', version: 1, isDeleted: true, refersTo: 1 },
    ],
  )
  assert.deepEqual(await registry.referrersTo('x'), [])
  const { subject } = await registry.surveyOne('x')
  assert.equal(await registry.typeOfSchema(subject.versions[0]!.guid), 'AVRO')
  assert.equal(await registry.typeOfSchema('00000000-0000-0000-0000-000000000000'), null)
})
