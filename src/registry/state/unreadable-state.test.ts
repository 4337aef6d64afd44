// Documents of the registry that cannot be read: requests that need one fail with its name, everything else goes on,
// and no broker overwrites it (decision 0041).

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import { UnreadableDocument } from '../../store/store.ts'

const FORMS = ['garbage', JSON.stringify({ format: 2 }), '[]', ''] as const

async function world(t: TestContext) {
  const store = createMemoryStore(systemClock)
  const running = openTestRegistry(t, store.beside())
  const { guid } = accepted(await running.register('s', { schema: toy('R') }))
  const put = async (kind: string, name: string, key: string, value: string) => {
    const { version } = (await store.load(kind, name)) ?? { version: 0 }
    await store.commit({ kind, name, expect: version, changes: [{ key, value: Buffer.from(value) }] })
  }
  const bytes = async (kind: string, name: string, key: string) =>
    Buffer.from((await store.load(kind, name))!.fields.get(key)!).toString()
  return { store, guid, put, bytes, open: () => openTestRegistry(t, store.beside()), running }
}

test('a subject that cannot be read is left out, and requests that name it fail', async t => {
  for (const form of FORMS) {
    for (const field of ['head', 'v1', 'config', 'mode']) {
      const { open, put, bytes, running } = await world(t)
      await put('schema-subject', 's', field, form)
      for (const registry of [running, open()]) {
        const named = {
          name: 'UnreadableDocument',
          message: /^The document of the schema subject "s" cannot be read: /,
        }
        await assert.rejects(registry.byVersion('s', 1), named)
        await assert.rejects(registry.register('s', { schema: toy('Other') }), named)
        await assert.rejects(registry.deleteSubject('s'), named)
        await assert.rejects(registry.judged.load('s'), named)
        assert.deepEqual(await registry.subjects(), registry === running ? [] : ['other'])
        accepted(await registry.register('other', { schema: toy('R') }))
        assert.equal(accepted(await registry.byId(1)).schema, toy('R'))
        assert.match(registry.named.join('\n'), /^the schema subject "s": /)
      }
      assert.equal(await bytes('schema-subject', 's', field), form)
    }
  }
})

test('a schema or an id that cannot be read fails alone', async t => {
  for (const form of FORMS) {
    const { open, put, bytes, guid } = await world(t)
    await put('schema-content', guid, 'content', form)
    const registry = open()
    await assert.rejects(registry.byId(1), UnreadableDocument)
    await assert.rejects(registry.register('t', { schema: toy('R') }), UnreadableDocument)
    assert.equal(accepted(await registry.register('t', { schema: toy('Other') })).id, 2)
    assert.equal(await bytes('schema-content', guid, 'content'), form)
    await put('schema-id', '2', 'schema', form)
    await assert.rejects(open().byId(2), UnreadableDocument)
    assert.equal(accepted(await open().register('u', { schema: toy('Third') })).id, 3)
    assert.equal(await bytes('schema-id', '2', 'schema'), form)
  }
})

test('a subject can be deleted for good although an id of it cannot be read, and the id is left as it is', async t => {
  for (const form of [...FORMS, '{"format":1,"subjects":7}'])
    for (const field of ['schema', 'former']) {
      const { open, put, bytes } = await world(t)
      await put('schema-id', '1', field, form)
      const registry = open()
      accepted(await registry.deleteSubject('s'))
      accepted(await registry.deleteSubject('s', { isPermanent: true }))
      assert.deepEqual(await registry.subjects({ isDeletedToo: true }), [])
      assert.equal(await bytes('schema-id', '1', field), form)
      if (field === 'former') {
        assert.equal(accepted(await registry.byId(1)).schema, toy('R'))
        await assert.rejects(registry.formerSubjectsOfId(1), UnreadableDocument)
      }
    }
})

test('a schema whose text was edited by hand is not taken for the schema', async t => {
  const { open, put, guid } = await world(t)
  const edited = { type: 'AVRO', schema: '{}', references: [], metadata: null, ruleSet: null, id: 1, format: 1 }
  await put('schema-content', guid, 'content', JSON.stringify(edited))
  await assert.rejects(open().byId(1), /its name is the digest of another content/)
})

test('without a counter that can be read no schema is added, and those that exist are answered', async t => {
  for (const form of FORMS) {
    const { open, put, bytes, running } = await world(t)
    await put('schemas', 'counter', 'counter', form)
    for (const registry of [running, open()]) {
      await assert.rejects(registry.register('t', { schema: toy('Other') }), UnreadableDocument)
      assert.equal(accepted(await registry.register('s', { schema: toy('R') })).id, 1)
    }
    assert.equal(await bytes('schemas', 'counter', 'counter'), form)
  }
})

test('notices or global settings that cannot be read stop changes and no reads of schemas', async t => {
  for (const form of FORMS) {
    for (const [name, field] of [
      ['notices', 'head'],
      ['notices', '1'],
      ['global', 'head'],
      ['global', 'config'],
    ] as const) {
      const { open, put, bytes } = await world(t)
      await put('schemas', name, field, form)
      if (name === 'global' && field === 'config') await put('schemas', name, 'head', '{"format":1}')
      const registry = open()
      await assert.rejects(registry.register('t', { schema: toy('Other') }), UnreadableDocument)
      assert.equal(accepted(await registry.byVersion('s', 1)).id, 1)
      assert.equal(await bytes('schemas', name, field), form)
    }
  }
})
