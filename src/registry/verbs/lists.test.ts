import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'

async function open(t: TestContext) {
  const registry = openTestRegistry(t, createMemoryStore(systemClock))
  for (const name of ['b-value', 'a-value', 'a-key', 'c'])
    for (const fields of [{}, { a: 'int?' }]) accepted(await registry.register(name, { schema: toy('R', fields) }))
  accepted(await registry.deleteSubject('c'))
  return registry
}

test('subjects are listed in order, by prefix, in pages', async t => {
  const registry = await open(t)
  assert.deepEqual(await registry.subjects(), ['a-key', 'a-value', 'b-value'])
  assert.deepEqual(await registry.subjects({ prefix: ':*:' }), ['a-key', 'a-value', 'b-value'])
  assert.deepEqual(await registry.subjects({ prefix: ':*:a-' }), ['a-key', 'a-value'])
  assert.deepEqual(await registry.subjects({ prefix: 'a-v', isDeletedToo: true }), ['a-value'])
  assert.deepEqual(await registry.subjects({ isDeletedToo: true, offset: 1, limit: 2 }), ['a-value', 'b-value'])
  assert.deepEqual(await registry.subjects({ offset: 9 }), [])
  assert.deepEqual(await registry.subjects({ limit: 0 }), [])
})

test('a subject that has only a level or a mode is not listed', async t => {
  const registry = await open(t)
  accepted(await registry.putConfig('d', { compatibility: 'NONE' }))
  accepted(await registry.putMode('e', 'READONLY'))
  assert.deepEqual(await registry.subjects({ isDeletedToo: true }), ['a-key', 'a-value', 'b-value', 'c'])
})

test('an id names its subjects and versions', async t => {
  const registry = await open(t)
  assert.deepEqual(await registry.subjectsOfId(2), ['a-key', 'a-value', 'b-value'])
  assert.deepEqual(await registry.subjectsOfId(2, { isDeletedToo: true, offset: 3 }), ['c'])
  assert.deepEqual(await registry.versionsOfId(2, { subject: 'a-key' }), [{ subject: 'a-key', version: 2 }])
  assert.deepEqual(await registry.versionsOfId(1, { limit: 1 }), [{ subject: 'a-key', version: 1 }])
})

test('schemas are listed with their subjects, all or the latest', async t => {
  const registry = await open(t)
  const named = async (options: Parameters<typeof registry.schemas>[0]) =>
    (await registry.schemas(options)).map(({ subject, version, id }) => `${subject} ${version} ${id}`)
  assert.deepEqual(await named({ prefix: 'a' }), ['a-key 1 1', 'a-key 2 2', 'a-value 1 1', 'a-value 2 2'])
  assert.deepEqual(await named({ isLatestOnly: true }), ['a-key 2 2', 'a-value 2 2', 'b-value 2 2'])
  assert.deepEqual(await named({ isDeletedToo: true, offset: 6 }), ['c 1 1', 'c 2 2'])
  assert.deepEqual(await named({ offset: 1, limit: 1 }), ['a-key 2 2'])
})

test('a list has at most 1,000 schemas', async t => {
  const registry = openTestRegistry(t, createMemoryStore(systemClock))
  for (let at = 0; at <= 1_000; at++) accepted(await registry.register(`s${at}`, { schema: toy('R') }))
  for (const limit of [undefined, -1, 2_000]) assert.equal((await registry.schemas({ limit })).length, 1_000)
  assert.equal((await registry.schemas({ offset: 999 })).length, 2)
})

test('a schema is printed in the form that a client asks for', async t => {
  const registry = await open(t)
  const plain = accepted(await registry.byId(1))
  assert.equal(await registry.formatted(plain, undefined), plain.schema)
  assert.equal(await registry.formatted(plain, 'serialized'), plain.schema)
  assert.equal(await registry.formatted(plain, 'no form'), plain.schema)
  const binary = accepted(await registry.register('p', { schema: toy('P'), type: 'PROTOBUF' }))
  assert.equal(
    Buffer.from(accepted(await registry.formatted(binary, 'serialized')), 'base64').toString(),
    binary.schema,
  )
})
