import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'

const open = (t: TestContext) => openTestRegistry(t, createMemoryStore(systemClock))

/** A subject with four versions, of which the third one is deleted. Each has one optional field more. */
async function versions(t: TestContext) {
  const registry = open(t)
  const fields: Record<string, string> = { a: 'int' }
  for (const name of ['b', 'c', 'd', 'e']) {
    accepted(await registry.register('s', { schema: toy('R', fields) }))
    fields[name] = 'int?'
  }
  accepted(await registry.deleteVersion('s', 3))
  return registry
}

test('a schema is compared with the newest live version, or with all at a transitive level, each with its reasons', async t => {
  const registry = await versions(t)
  const schema = toy('R', { z: 'int' })
  const latest = accepted(await registry.explain('s', { schema }))
  assert.deepEqual(
    [latest.level, latest.compared, latest.misfits.map(({ version }) => version)],
    ['BACKWARD', [4], [4]],
  )
  const all = accepted(await registry.explain('s', { schema }, { level: 'BACKWARD_TRANSITIVE' }))
  assert.deepEqual(all.compared, [4, 2, 1])
  for (const { differences } of all.misfits) assert.match(JSON.stringify(differences), /z/)
  const none = accepted(await registry.explain('s', { schema }, { level: 'NONE' }))
  assert.deepEqual([none.compared, none.misfits, none.nextVersion, none.existing], [[], [], 5, null])
})

test('a check agrees with a registration, and stores nothing', async t => {
  const registry = await versions(t)
  for (const fields of [{ z: 'int' }, { a: 'int', z: 'int?' }, { a: 'int' }] as const) {
    const schema = toy('R', fields)
    const explained = accepted(await registry.explain('s', { schema }))
    const checked = accepted(await registry.checkSubject('s', { schema }))
    assert.equal(explained.misfits.length === 0, checked.isCompatible)
  }
  assert.deepEqual(await registry.versions('s'), [1, 2, 4])
  assert.equal(accepted(await registry.explain('s', { schema: toy('R', { a: 'int' }) })).existing?.version, 1)
})

test('only the versions of the same compatibility group are compared', async t => {
  const registry = open(t)
  accepted(await registry.putConfig('s', { compatibility: 'FULL_TRANSITIVE', compatibilityGroup: 'major' }))
  const metadata = (major: string) => ({ properties: { major } })
  accepted(await registry.register('s', { schema: toy('R', { a: 'int' }), metadata: metadata('1') }))
  accepted(await registry.register('s', { schema: toy('R', { b: 'int' }), metadata: metadata('2') }))
  const explained = accepted(await registry.explain('s', { schema: toy('R', { c: 'int' }) }))
  assert.deepEqual(explained.compared, [2])
})

test('two versions are compared in both directions, deleted ones too', async t => {
  const registry = await versions(t)
  const found = accepted(await registry.compareVersions('s', 'latest', undefined))
  assert.deepEqual([found.before.version, found.before.isDeleted, found.after.version], [3, true, 4])
  assert.deepEqual(found.backward, { differences: [], trouble: null })
  const other = accepted(await registry.compareVersions('s', 1, 4))
  assert.deepEqual([other.before.version, other.after.version], [4, 1])
  accepted(await registry.putConfig('s', { compatibility: 'NONE' }))
  accepted(await registry.register('s', { schema: toy('R'), type: 'JSON' }))
  const types = accepted(await registry.compareVersions('s', 5, 4))
  assert.match(types.forward.trouble!, /type AVRO does not read one of type JSON/)
})

test('a version that does not exist is refused by its number', async t => {
  const registry = await versions(t)
  assert.equal(refusedWith(await registry.compareVersions('s', 7, undefined)), '40402 Version 7 not found.')
  assert.equal(refusedWith(await registry.compareVersions('s', 1, undefined)), '40402 Version before 1 not found.')
  assert.equal(refusedWith(await registry.compareVersions('none', 1, 2)), "40401 Subject 'none' not found.")
  assert.match(refusedWith(await registry.compareVersions('s', 0, 1)), /^42202 /)
  assert.match(refusedWith(await registry.explain('..', { schema: toy('R') })), /^42208 /)
  assert.match(refusedWith(await registry.explain('s', { schema: '' })), /^42201 /)
})
