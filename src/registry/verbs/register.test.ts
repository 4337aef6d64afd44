import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import { isRefusal } from '../refusals.ts'
import { MOST_VERSIONS } from './register.ts'

const open = (t: TestContext) => openTestRegistry(t, createMemoryStore(systemClock))

test('ids begin at 1, and the same schema has one id in every subject', async t => {
  const registry = open(t)
  const first = accepted(await registry.register('a-value', { schema: toy('R', { a: 'int' }) }))
  assert.deepEqual([first.id, first.version, first.subject, first.type], [1, 1, 'a-value', 'AVRO'])
  const second = accepted(await registry.register('b-value', { schema: toy('R', { a: 'int' }) }))
  assert.deepEqual([second.id, second.version, second.guid], [1, 1, first.guid])
  const third = accepted(await registry.register('a-value', { schema: toy('R', { a: 'int', b: 'int?' }) }))
  assert.deepEqual([third.id, third.version], [2, 2])
  assert.notEqual(third.guid, first.guid)
  const ofAnotherType = accepted(await registry.register('c', { schema: toy('R', { a: 'int' }), type: 'JSON' }))
  assert.equal(ofAnotherType.id, 3)
})

test('an old version that is registered again is answered with its id, whatever the level says', async t => {
  const registry = open(t)
  const old = accepted(await registry.register('s', { schema: toy('R', { a: 'int' }) }))
  accepted(await registry.register('s', { schema: toy('R', {}) }))
  assert.match(refusedWith(await registry.register('s', { schema: toy('R', { b: 'int' }) })), /^409 /)
  const again = accepted(await registry.register('s', { schema: toy('R', { a: 'int' }) }))
  assert.deepEqual([again.id, again.version], [old.id, 1])
  assert.equal(accepted(await registry.versions('s')).length, 2)
})

test('registrations that wait for their turn are judged by the level that was set meanwhile', async t => {
  const store = createMemoryStore(systemClock)
  const [one, other] = [openTestRegistry(t, store), openTestRegistry(t, store)]
  await one.putConfig(null, { compatibility: 'NONE' })
  let isSet = false
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const answer = await one.register('s', { schema: toy('R', { [`f${at}`]: 'int' }) })
      if (at === 0) await other.putConfig(null, { compatibility: 'FULL' })
      if (at === 0) isSet = true
      return { isLate: isSet, isAccepted: !isRefusal(answer) }
    }),
  )
  // One of them may have been judged just before.
  assert.ok(outcomes.filter(({ isLate, isAccepted }) => isLate && isAccepted).length <= 2, JSON.stringify(outcomes))
})

test('an incompatible schema is refused with the reasons, the old version, its text and the level', async t => {
  const registry = open(t)
  accepted(await registry.register('s', { schema: toy('R', { a: 'int' }) }))
  const refusal = await registry.register('s', { schema: toy('R', { b: 'int' }) })
  assert.equal(
    refusedWith(refusal),
    '409 Schema being registered is incompatible with an earlier schema for subject "s", details: [' +
      "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'b' has no default and is missing in " +
      "the writer', additionalInfo:'/fields/b'}, {oldSchemaVersion: 1}, " +
      `{oldSchema: '{"name":"R","fields":{"a":"int"}}'}, {validateFields: 'false', compatibility: 'BACKWARD'}]`,
  )
})

test('schemas are refused with the codes of Confluent', async t => {
  const registry = open(t)
  const codeOf = async (request: Parameters<typeof registry.register>[1], name = 's') =>
    refusedWith(await registry.register(name, request))
  assert.match(await codeOf({ schema: 'no JSON' }), /^42201 Invalid schema of type AVRO, details: /)
  assert.match(await codeOf({ schema: '{}', type: 'XML' }), /^42201 Invalid schema type XML/)
  assert.equal(await codeOf({ schema: '' }), '42201 Empty schema')
  const references = [{ name: 'Other', subject: 'other', version: 1 }]
  assert.match(
    await codeOf({ schema: toy('R'), references }),
    /^42201 Invalid schema: no schema reference found for subject "other" and version 1/,
  )
  assert.match(await codeOf({ schema: toy('R'.repeat(600_000)) }), /^42209 Schema is too large: it has 6000\d\d bytes/)
  const many = Array.from({ length: 101 }, (_, i) => ({ name: `N${i}`, subject: 'other', version: 1 }))
  assert.match(await codeOf({ schema: toy('R'), references: many }), /^42209 .* 101 references; the most are 100/)
  assert.equal(await codeOf({ schema: toy('R'), id: 7 }), '42205 Subject s is not in import mode')
  assert.match(await codeOf({ schema: toy('R'), version: 2 }), /^42201 Version is not one more than previous/)
  assert.match(await codeOf({ schema: toy('R'), metadata: { properties: { a: 1 } } }), /^42201 Invalid metadata/)
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
  assert.match(await codeOf({ schema: toy('R'), ruleSet: deep }), /^42201 Invalid ruleSet: it has more than 32 levels/)
  // Their bytes count: 200,000 characters are 400,000 bytes.
  const wide = { properties: { a: 'ä'.repeat(200_000) } }
  assert.match(await codeOf({ schema: toy('R'), metadata: wide }), /^42209 The metadata is too large/)
  assert.match(await codeOf({ schema: toy('R'), ruleSet: wide }), /^42209 The ruleSet is too large/)
  for (const name of ['', '.', '__GLOBAL', '__EMPTY', ':.ctx:x', ':*:x', 'a\u0000b', 'a\nb', 'x'.repeat(1_000)])
    assert.match(await codeOf({ schema: toy('R') }, name), /^42208 The specified subject '.*' is not a valid\.$/)
  for (const name of ['a/b', 'a%2Fb', 'a"{:}\'', ':a', 'ä'])
    accepted(await registry.register(name, { schema: toy('R') }))
  assert.deepEqual(await registry.subjects(), [':a', 'a"{:}\'', 'a%2Fb', 'a/b', 'ä'])
})

/** Gives the subject of one version many of them. `more` is what each version has of its own. */
async function multiply(store: Store, name: string, many: number, more: object = {}): Promise<void> {
  const { version: expect, fields } = (await store.load('schema-subject', name))!
  const row = JSON.parse(Buffer.from(fields.get('v1')!).toString())
  const value = Buffer.from(JSON.stringify({ ...row, isDeleted: true, ...more }))
  const changes = Array.from({ length: many - 1 }, (_, at) => ({ key: `v${at + 2}`, value }))
  await store.commit({ kind: 'schema-subject', name, expect, changes })
}

test('a subject has at most 5,000 versions, deleted ones included, and not too many references', async t => {
  const store = createMemoryStore(systemClock)
  const registry = openTestRegistry(t, store)
  const references = Array.from({ length: 100 }, (_, at) => ['x'.repeat(700), at + 1])
  for (const [name, many, more, why] of [
    [
      's',
      MOST_VERSIONS,
      {},
      /^42205 Subject s is full: it has 5000 versions, deleted .*, and the most are 5000\. Delete /,
    ],
    [
      't',
      57,
      { references },
      /^42205 Subject t is full: it has 57 versions, deleted .*, with their references\. Delete /,
    ],
  ] as const) {
    accepted(await registry.register(name, { schema: toy('R') }))
    await multiply(store, name, many, more)
    assert.match(refusedWith(await registry.register(name, { schema: toy('R', { a: 'int?' }) })), why)
    assert.equal(accepted(await registry.register(name, { schema: toy('R') })).version, 1)
    accepted(await registry.putMode(name, 'IMPORT', { isForced: true }))
    assert.match(refusedWith(await registry.register(name, { schema: toy('R', { a: 'int?' }), id: 900 })), why)
    accepted(await registry.deleteMode(name))
    accepted(await registry.deleteVersion(name, many, { isPermanent: true }))
    accepted(await registry.register(name, { schema: toy('R', { a: 'int?' }) }))
  }
  accepted(await registry.deleteSubject('s'))
  assert.equal(accepted(await registry.deleteSubject('s', { isPermanent: true })).versions.length, MOST_VERSIONS)
  assert.deepEqual(await registry.formerSubjectsOfId(1), ['s', 't'])
})

test('references are stored with the version that was the latest, and their targets are compared', async t => {
  const registry = open(t)
  accepted(await registry.register('money', { schema: toy('Money', { amount: 'long' }) }))
  const references = [{ name: 'Money', subject: 'money', version: -1 }]
  const schema = toy('Order', {}, { uses: ['Money'] })
  const order = accepted(await registry.register('order', { schema, references }))
  assert.deepEqual(order.references, [{ name: 'Money', subject: 'money', version: 1 }])
  const again = accepted(await registry.register('order', { schema, references: [{ ...references[0]!, version: 1 }] }))
  assert.deepEqual([again.id, again.version], [order.id, 1])
  accepted(await registry.register('money', { schema: toy('Money', { amount: 'long', unit: 'string?' }) }))
  const next = accepted(await registry.register('order', { schema, references }))
  assert.deepEqual([next.version, next.references[0]!.version], [2, 2])
  assert.notEqual(next.id, order.id)
  // A schema may refer to an older version of its own subject.
  const own = [{ name: 'Money', subject: 'money', version: 1 }]
  accepted(await registry.register('money', { schema: toy('M3', {}, { uses: ['Money'] }), references: own }))
})

test('a schema that is sent with its references written out is the one with references', async t => {
  const registry = open(t)
  accepted(await registry.register('money', { schema: toy('Money') }))
  const references = [{ name: 'Money', subject: 'money', version: 1 }]
  const order = accepted(
    await registry.register('order', { schema: toy('Order', {}, { uses: ['Money'] }), references }),
  )
  const inlined = JSON.stringify({ name: 'Order', fields: {}, inlined: [{ name: 'Money', fields: {} }] })
  const found = accepted(await registry.lookUp('order', { schema: inlined }, {}))
  assert.equal(found.id, order.id)
})

test('metadata and rules are inherited, an empty object clears them, and an empty text keeps the schema', async t => {
  const registry = open(t)
  const metadata = { properties: { owner: 'billing' } }
  const bare = accepted(await registry.register('s', { schema: toy('R', { a: 'int' }) }))
  const owned = accepted(await registry.register('s', { schema: '', metadata }))
  assert.deepEqual([owned.version, owned.schema, owned.metadata], [2, bare.schema, metadata])
  assert.notEqual(owned.id, bare.id)
  const wider = accepted(await registry.register('s', { schema: toy('R', { a: 'int', b: 'int?' }) }))
  assert.deepEqual(wider.metadata, metadata)
  const cleared = accepted(await registry.register('s', { schema: toy('R', { a: 'int', b: 'int?' }), metadata: {} }))
  assert.deepEqual([cleared.version, cleared.metadata], [4, null])
  assert.equal(accepted(await registry.byMetadata('s', new Map([['owner', 'billing']]))).version, 3)
  assert.match(refusedWith(await registry.byMetadata('s', new Map([['owner', 'x']]))), /^40403 /)
  // A client that knows nothing of metadata is answered with the schema as it was registered.
  assert.equal(accepted(await registry.lookUp('s', { schema: toy('R', { a: 'int' }) }, {})).version, 1)
  const reordered = { ruleSet: { b: [1], a: [2] }, metadata }
  const one = accepted(await registry.register('t', { schema: toy('R'), ...reordered }))
  const other = accepted(await registry.register('u', { schema: toy('R'), ruleSet: { a: [2], b: [1] }, metadata }))
  assert.equal(one.id, other.id)
})

test('normalize changes what is stored, by request or by configuration', async t => {
  const registry = open(t)
  const schema = toy('R', { b: 'int', a: 'int' })
  const plain = accepted(await registry.register('plain', { schema }))
  assert.equal(plain.schema, schema)
  const normal = accepted(await registry.register('normal', { schema, normalize: true }))
  assert.equal(normal.schema, '{"fields":{"a":"int","b":"int"},"name":"R"}')
  accepted(await registry.putConfig('by-config', { normalize: true }))
  assert.equal(accepted(await registry.register('by-config', { schema, normalize: false })).id, normal.id)
  assert.equal(accepted(await registry.lookUp('by-config', { schema }, {})).id, normal.id)
})

test('a read-only subject takes nothing, and an import gives its own ids and versions', async t => {
  const registry = open(t)
  accepted(await registry.putMode('s', 'readonly'))
  assert.equal(refusedWith(await registry.register('s', { schema: toy('R') })), '42205 Subject s is in read-only mode')
  assert.equal(refusedWith(await registry.deleteSubject('s')), "40401 Subject 's' not found.")
  accepted(await registry.putMode('s', 'IMPORT'))
  assert.equal(
    refusedWith(await registry.register('s', { schema: toy('R') })),
    '42205 Subject s is not in read-write mode: in the mode IMPORT a schema brings the id that it has elsewhere',
  )
  const imported = accepted(await registry.register('s', { schema: toy('R', { A: 'int' }), id: 40, version: 7 }))
  assert.deepEqual([imported.id, imported.version], [40, 7])
  assert.deepEqual(accepted(await registry.register('s', { schema: toy('R', { A: 'int' }), id: 40 })).version, 7)
  assert.equal(
    refusedWith(await registry.register('s', { schema: toy('Other'), id: 40 })),
    '42205 Overwrite new schema with id 40 is not permitted.',
  )
  assert.match(
    refusedWith(await registry.register('s', { schema: toy('Other'), id: 41, version: 7 })),
    /^42205 Overwrite/,
  )
  assert.match(
    refusedWith(await registry.register('s', { schema: toy('R'), id: 2 ** 31 - 1 })),
    /^42205 .*cannot be imp/,
  )
  // An old mistake does not hide a stored schema from clients that look it up.
  assert.equal(accepted(await registry.lookUp('s', { schema: toy('R', { A: 'int' }) }, {})).id, 40)
  // The same schema may have had two ids elsewhere. Both resolve.
  const second = accepted(await registry.register('s', { schema: toy('R', { A: 'int' }), id: 43 }))
  assert.deepEqual([second.id, second.version, second.guid], [43, 8, imported.guid])
  assert.deepEqual(accepted(await registry.byId(40)).guid, accepted(await registry.byId(43)).guid)
  assert.deepEqual(await registry.idsOfGuid(imported.guid), [40, 43])
  assert.equal(await registry.maxId(), 43)
  accepted(await registry.register('another', { schema: toy('Next') }))
  assert.equal(accepted(await registry.byVersion('another', 'latest')).id, 44)
  assert.equal(
    refusedWith(await registry.putMode('another', 'IMPORT')),
    '42205 Cannot import since found existing subjects; with force=true they may stay',
  )
  accepted(await registry.putMode('another', 'IMPORT', { isForced: true }))
})
