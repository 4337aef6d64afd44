import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'

const open = (t: TestContext) => openTestRegistry(t, createMemoryStore(systemClock))
const wider = (fields: number) =>
  toy('R', Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, 'int?'])))

async function withThree(t: TestContext) {
  const registry = open(t)
  for (let i = 0; i < 3; i++) accepted(await registry.register('s', { schema: wider(i) }))
  return registry
}

test('a version that is deleted softly is hidden, keeps its id and its number, and can be listed', async t => {
  const registry = await withThree(t)
  assert.deepEqual(accepted(await registry.deleteVersion('s', 'latest')).versions, [3])
  assert.deepEqual(accepted(await registry.versions('s')), [1, 2])
  assert.deepEqual(accepted(await registry.versions('s', { isDeletedToo: true })), [1, 2, 3])
  assert.deepEqual(accepted(await registry.versions('s', { isDeletedOnly: true })), [3])
  assert.deepEqual(accepted(await registry.versions('s', { isNegative: true })), [1, 2, -3])
  assert.equal(accepted(await registry.byVersion('s', -1)).version, 2)
  assert.equal(refusedWith(await registry.byVersion('s', 3)), '40402 Version 3 not found.')
  assert.equal(accepted(await registry.byVersion('s', 3, { isDeletedToo: true })).isDeleted, true)
  assert.equal(accepted(await registry.byId(3)).schema, wider(2))
  assert.deepEqual(accepted(await registry.versionsOfId(3)), [])
  assert.deepEqual(accepted(await registry.versionsOfId(3, { isDeletedToo: true })), [{ subject: 's', version: 3 }])
  assert.equal(
    refusedWith(await registry.deleteVersion('s', 3)),
    "40406 Subject 's' Version 3 was soft deleted.Set permanent=true to delete permanently",
  )
  assert.equal(refusedWith(await registry.lookUp('s', { schema: wider(2) }, {})), '40403 Schema not found')
  assert.equal(accepted(await registry.lookUp('s', { schema: wider(2) }, { isDeletedToo: true })).version, 3)
  accepted(await registry.register('s', { schema: wider(4) }))
  assert.deepEqual(accepted(await registry.versions('s')), [1, 2, 4])
  const again = accepted(await registry.register('s', { schema: wider(2) }))
  assert.deepEqual([again.id, again.version], [3, 5])
  assert.deepEqual(accepted(await registry.versions('s', { isDeletedToo: true })), [1, 2, 4, 5])
})

test('a subject is deleted softly, then for good, and its ids go on resolving', async t => {
  const registry = await withThree(t)
  accepted(await registry.putConfig('s', { compatibility: 'none' }))
  accepted(await registry.deleteVersion('s', '2'))
  assert.match(refusedWith(await registry.deleteSubject('s', { isPermanent: true })), /^40405 /)
  assert.match(refusedWith(await registry.deleteVersion('s', 'latest', { isPermanent: true })), /^40407 .* Version 3 /)
  assert.deepEqual(accepted(await registry.deleteSubject('s')).versions, [1, 3])
  assert.equal(
    refusedWith(await registry.deleteSubject('s')),
    "40404 Subject 's' was soft deleted.Set permanent=true to delete permanently",
  )
  assert.deepEqual(await registry.subjects(), [])
  assert.deepEqual(await registry.subjects({ isDeletedToo: true }), ['s'])
  assert.deepEqual(await registry.subjects({ isDeletedOnly: true }), ['s'])
  assert.match(refusedWith(await registry.versions('s')), /^40401 /)
  assert.match(refusedWith(await registry.deleteVersion('s', 'latest', { isPermanent: true })), /^40401 /)
  assert.deepEqual(accepted(await registry.deleteSubject('s', { isPermanent: true })).versions, [1, 2, 3])
  assert.match(refusedWith(await registry.getConfig('s')), /^40408 /)
  assert.match(refusedWith(await registry.deleteSubject('s', { isPermanent: true })), /^40401 /)
  assert.equal(accepted(await registry.byId(2)).schema, wider(1))
  const again = accepted(await registry.register('s', { schema: wider(1) }))
  assert.deepEqual([again.id, again.version], [2, 1])
  accepted(await registry.register('s', { schema: wider(9) }))
  assert.equal(accepted(await registry.byVersion('s', 'latest')).id, 4)
})

test('an id remembers the last hundred subjects from which it was deleted for good', async t => {
  const store = createMemoryStore(systemClock)
  const [registry, other] = [openTestRegistry(t, store.beside()), openTestRegistry(t, store.beside())]
  const names = Array.from({ length: 102 }, (_, at) => `s${at}`)
  for (const name of [...names, 's101']) {
    accepted(await registry.register(name, { schema: toy('R') }))
    accepted(await registry.deleteSubject(name))
    accepted(await registry.deleteSubject(name, { isPermanent: true }))
  }
  for (const each of [registry, other]) {
    assert.deepEqual(await each.formerSubjectsOfId(1), names.slice(2))
    assert.equal(accepted(await each.byId(1)).schema, toy('R'))
    assert.deepEqual(await each.formerSubjectsOfId(2), [])
    assert.deepEqual(await each.formerSubjectsOfId(1, { mayShow: name => name === 's0' }), [])
  }
  // A version that stays keeps its id to itself.
  accepted(await registry.register('t', { schema: wider(1) }))
  accepted(await registry.register('t', { schema: wider(2) }))
  accepted(await registry.deleteVersion('t', 1))
  accepted(await registry.deleteVersion('t', 1, { isPermanent: true }))
  assert.deepEqual(await other.formerSubjectsOfId(2), ['t'])
  assert.deepEqual(await other.formerSubjectsOfId(3), [])
})

test('a version that was deleted for good is the next number again if it was the last', async t => {
  const registry = await withThree(t)
  accepted(await registry.deleteVersion('s', 3))
  accepted(await registry.deleteVersion('s', 3, { isPermanent: true }))
  assert.equal(accepted(await registry.register('s', { schema: wider(5) })).version, 3)
})

test('a version that others refer to is not deleted, and a dry run names them', async t => {
  const registry = open(t)
  const money = accepted(await registry.register('money', { schema: toy('Money') }))
  const references = [{ name: 'Money', subject: 'money', version: 1 }]
  const order = accepted(
    await registry.register('order', { schema: toy('Order', {}, { uses: ['Money'] }), references }),
  )
  assert.deepEqual(accepted(await registry.referencedBy('money', 1)), [order.id])
  assert.equal(
    refusedWith(await registry.deleteVersion('money', 1)),
    '42206 One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=money,version=1}.',
  )
  assert.deepEqual(accepted(await registry.deleteSubject('money', { isDryRun: true })), {
    kind: 'deleted',
    versions: [1],
    referrers: [{ subject: 'order', version: 1, id: order.id, refersTo: 1 }],
  })
  accepted(await registry.deleteSubject('order'))
  accepted(await registry.deleteSubject('money'))
  assert.deepEqual(accepted(await registry.referencedBy('money', 1)), [])
  assert.deepEqual(accepted(await registry.referencedBy('money', 1, { isDeletedToo: true })), [order.id])
  assert.match(refusedWith(await registry.deleteSubject('money', { isPermanent: true })), /^42206 /)
  accepted(await registry.deleteSubject('order', { isPermanent: true }))
  accepted(await registry.deleteSubject('money', { isPermanent: true }))
  // The schema that refers to it is still whole.
  assert.equal(accepted(await registry.formatted(order, 'resolved')).includes('Money'), true)
  const { bytes, ...program } = accepted(await registry.judged.programOf(order.guid))!
  assert.ok(bytes > 0)
  assert.deepEqual(program, {
    type: 'AVRO',
    program: { toy: { name: 'Order', fields: {}, uses: ['Money'] } },
    recordNames: ['Order'],
  })
  // Another schema at the referred place does not take its place.
  accepted(await registry.register('money', { schema: toy('Other') }))
  const next = accepted(await registry.register('order', { schema: toy('Order', {}, { uses: ['Money'] }), references }))
  assert.notEqual(next.guid, order.guid)
  assert.notEqual(next.id, money.id)
})

test('versions of one subject that refer to each other go together', async t => {
  const registry = open(t)
  accepted(await registry.register('money', { schema: toy('Money') }))
  const references = [{ name: 'Money', subject: 'money', version: 1 }]
  accepted(await registry.register('money', { schema: toy('More', {}, { uses: ['Money'] }), references }))
  assert.match(refusedWith(await registry.deleteVersion('money', 1)), /^42206 /)
  assert.deepEqual(accepted(await registry.deleteSubject('money')).versions, [1, 2])
  accepted(await registry.deleteSubject('money', { isPermanent: true }))
})

test('a new schema may not refer to a deleted version, and an import may', async t => {
  const registry = open(t)
  accepted(await registry.register('money', { schema: toy('Money') }))
  accepted(await registry.deleteSubject('money'))
  const order = { schema: toy('Order', {}, { uses: ['Money'] }) }
  for (const version of [1, -1]) {
    const references = [{ name: 'Money', subject: 'money', version }]
    assert.match(refusedWith(await registry.register('order', { ...order, references })), /^42201 .*"money" and /)
  }
  accepted(await registry.putMode('order', 'IMPORT'))
  const references = [{ name: 'Money', subject: 'money', version: 1 }]
  assert.equal(accepted(await registry.register('order', { ...order, references, id: 9 })).id, 9)
})

test('an older deleted version stays if others refer to it', async t => {
  const registry = open(t)
  accepted(await registry.register('money', { schema: toy('Money') }))
  const references = [{ name: 'Money', subject: 'money', version: 1 }]
  accepted(await registry.register('order', { schema: toy('Order', {}, { uses: ['Money'] }), references }))
  accepted(await registry.deleteSubject('order'))
  accepted(await registry.deleteSubject('money'))
  assert.equal(accepted(await registry.register('money', { schema: toy('Money') })).version, 2)
  assert.deepEqual(accepted(await registry.versions('money', { isDeletedToo: true })), [1, 2])
})

test('versions and subjects that do not exist are refused with the codes of Confluent', async t => {
  const registry = await withThree(t)
  for (const version of [0, 'abc', '2147483648', '+1', 2 ** 31, 1.5]) {
    const text = `42202 The specified version '${version}' is not a valid version id.`
    assert.ok(refusedWith(await registry.byVersion('s', version)).startsWith(text))
    assert.ok(refusedWith(await registry.deleteVersion('s', version)).startsWith(text))
  }
  assert.equal(refusedWith(await registry.byVersion('s', '9')), '40402 Version 9 not found.')
  assert.equal(refusedWith(await registry.byVersion('t', '9')), "40401 Subject 't' not found.")
  assert.equal(refusedWith(await registry.deleteVersion('s', 9)), '40402 Version 9 not found.')
  assert.equal(refusedWith(await registry.deleteVersion('t', 9)), "40401 Subject 't' not found.")
  assert.equal(refusedWith(await registry.referencedBy('t', 1)), "40401 Subject 't' not found.")
  assert.equal(refusedWith(await registry.byId(99)), '40403 Schema 99 not found')
  assert.equal(refusedWith(await registry.byId(-1)), '40403 Schema -1 not found')
  assert.equal(refusedWith(await registry.byGuid('x')), '40403 Schema x not found')
  assert.equal(refusedWith(await registry.versionsOfId(99)), '40403 Schema not found')
  assert.equal(refusedWith(await registry.subjectsOfId(99)), '40403 Schema not found')
})
