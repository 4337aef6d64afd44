import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'

const open = (t: TestContext) => openTestRegistry(t, createMemoryStore(systemClock))

test('a level is that of the subject, else the global one, else BACKWARD', async t => {
  const registry = open(t)
  assert.deepEqual(await registry.getConfig(null), { compatibilityLevel: 'BACKWARD' })
  assert.match(refusedWith(await registry.getConfig('s')), /^40408 Subject 's' does not have subject-level compat/)
  assert.deepEqual(await registry.getConfig('s', { isDefaultedToGlobal: true }), { compatibilityLevel: 'BACKWARD' })
  assert.deepEqual(await registry.putConfig(null, { compatibility: 'full' }), { compatibility: 'FULL' })
  assert.deepEqual(await registry.getConfig('s', { isDefaultedToGlobal: true }), { compatibilityLevel: 'FULL' })
  assert.deepEqual(await registry.putConfig('s', { compatibility: 'Forward_Transitive' }), {
    compatibility: 'FORWARD_TRANSITIVE',
  })
  assert.deepEqual(await registry.getConfig('s'), { compatibilityLevel: 'FORWARD_TRANSITIVE' })
  assert.match(
    refusedWith(await registry.putConfig('s', { compatibility: 'SIDEWARD' })),
    /^42203 Invalid compat.* none, ba/,
  )
  assert.match(refusedWith(await registry.putConfig('__GLOBAL', { compatibility: 'NONE' })), /^42208 /)
  assert.deepEqual(await registry.deleteConfig('s'), { compatibilityLevel: 'FORWARD_TRANSITIVE' })
  assert.equal(refusedWith(await registry.deleteConfig('s')), "40401 Subject 's' not found.")
  assert.deepEqual(await registry.deleteConfig(null), { compatibilityLevel: 'FULL' })
  assert.deepEqual(await registry.getConfig(null), { compatibilityLevel: 'BACKWARD' })
})

test('other members of a configuration are kept and shown, null removes one, and unknown ones are ignored', async t => {
  const registry = open(t)
  const sent = { alias: 'other', normalize: true, compatibilityGroup: 'major', overrideMetadata: { properties: {} } }
  assert.deepEqual(await registry.putConfig('s', { ...sent, unknown: 1 }), sent)
  assert.deepEqual(await registry.putConfig('s', { compatibility: 'NONE', alias: null }), {
    compatibility: 'NONE',
    alias: null,
  })
  const { alias: _, ...rest } = sent
  assert.deepEqual(await registry.getConfig('s'), { compatibilityLevel: 'NONE', ...rest })
  assert.match(
    refusedWith(await registry.putConfig('s', { normalize: 'yes' })),
    /^42203 .*normalize must be of type bool/,
  )
  assert.match(
    refusedWith(await registry.putConfig('s', { compatibilityPolicy: 'LOGICAL' })),
    /^42203 .*STRICT and LEN/,
  )
  for (const alias of ['x'.repeat(70_000), 'ä'.repeat(40_000)])
    assert.match(
      refusedWith(await registry.putConfig('s', { alias })),
      /^42203 Invalid config: the most bytes are 65536/,
    )
})

test('modes follow the same order, and can be removed', async t => {
  const registry = open(t)
  assert.equal(await registry.getMode(null), 'READWRITE')
  assert.match(refusedWith(await registry.getMode('s')), /^40409 Subject 's' does not have subject-level mode/)
  assert.equal(await registry.getMode('s', { isDefaultedToGlobal: true }), 'READWRITE')
  assert.equal(await registry.putMode(null, 'READONLY'), 'READONLY')
  assert.equal(await registry.getMode('s', { isDefaultedToGlobal: true }), 'READONLY')
  assert.equal(refusedWith(await registry.register('s', { schema: toy('R') })), '42205 Subject s is in read-only mode')
  assert.equal(refusedWith(await registry.putConfig('s', {})), '42205 Subject s is in read-only mode')
  assert.equal(await registry.putMode('s', 'readwrite'), 'READWRITE')
  accepted(await registry.register('s', { schema: toy('R') }))
  assert.equal(refusedWith(await registry.putMode('s', 'SOMETIMES')).slice(0, 6), '42204 ')
  assert.match(refusedWith(await registry.putMode('s', 'FORWARD')), /^42204 Mode FORWARD is not supported/)
  assert.equal(await registry.deleteMode('s'), 'READWRITE')
  assert.equal(refusedWith(await registry.deleteMode('s')), "40401 Subject 's' not found.")
  accepted(await registry.putMode('s', 'READWRITE'))
  assert.equal(await registry.deleteMode(null, { isRecursive: true }), 'READONLY')
  assert.match(refusedWith(await registry.getMode('s')), /^40409 /)
  assert.match(
    refusedWith(await registry.putMode(null, 'IMPORT')),
    /^42205 Cannot import since found existing subjects/,
  )
})

test('each level compares in its direction, with the newest version or with all', async t => {
  const registry = open(t)
  const schemas = [toy('R', { a: 'int?' }), toy('R', { a: 'int?', b: 'int?' }), toy('R', {})]
  accepted(await registry.putConfig('s', { compatibility: 'NONE' }))
  for (const schema of schemas) accepted(await registry.register('s', { schema }))
  const fits = async (compatibility: string, fields: Record<string, string>) => {
    accepted(await registry.putConfig('s', { compatibility }))
    const request = { schema: toy('R', fields) }
    const checked = accepted(await registry.checkSubject('s', request))
    return checked.isCompatible ? 'fits' : `not version ${checked.version}`
  }
  // `b` was an int in version 2, and the newest version lacks it.
  assert.equal(await fits('BACKWARD', { b: 'text?' }), 'fits')
  assert.equal(await fits('BACKWARD_TRANSITIVE', { b: 'text?' }), 'not version 2')
  assert.equal(await fits('BACKWARD', { c: 'int' }), 'not version 3')
  assert.equal(await fits('FORWARD', { c: 'int' }), 'fits')
  assert.equal(await fits('FORWARD_TRANSITIVE', { b: 'text' }), 'not version 2')
  assert.equal(await fits('FULL', { c: 'int' }), 'not version 3')
  assert.equal(await fits('FULL_TRANSITIVE', { a: 'text?' }), 'not version 2')
  assert.equal(await fits('NONE', { a: 'text' }), 'fits')
  accepted(await registry.putConfig('s', { compatibility: 'BACKWARD' }))
  const one = accepted(await registry.checkVersion('s', 2, { schema: toy('R', { b: 'text?' }) }))
  assert.deepEqual([one.isCompatible, one.version, one.level], [false, 2, 'BACKWARD'])
  assert.ok(one.messages[0]!.startsWith("{errorType:'TYPE_MISMATCH', description:'text? cannot read int?'"))
  assert.equal(
    accepted(await registry.checkVersion('s', 'latest', { schema: toy('R', { b: 'text?' }) })).isCompatible,
    true,
  )
  // Deleted versions are not compared.
  accepted(await registry.deleteVersion('s', 2))
  accepted(await registry.putConfig('s', { compatibility: 'BACKWARD_TRANSITIVE' }))
  assert.equal(accepted(await registry.checkSubject('s', { schema: toy('R', { b: 'text?' }) })).isCompatible, true)
})

test('a check of an absent version, of an absent subject and of another type', async t => {
  const registry = open(t)
  const request = { schema: toy('R') }
  assert.equal(refusedWith(await registry.checkVersion('s', 1, request)), '40402 Version 1 not found.')
  assert.equal(accepted(await registry.checkVersion('s', 'latest', request)).isCompatible, true)
  assert.equal(accepted(await registry.checkSubject('s', request)).isCompatible, true)
  assert.match(refusedWith(await registry.checkVersion('s', 'x', request)), /^42202 /)
  assert.match(refusedWith(await registry.checkVersion('s', 'latest', { schema: '{' })), /^42201 /)
  accepted(await registry.register('s', request))
  const other = accepted(await registry.checkSubject('s', { ...request, type: 'JSON' }))
  assert.deepEqual(other.messages[0], 'Incompatible because of different schema type')
  assert.match(refusedWith(await registry.register('s', { ...request, type: 'JSON' })), /^409 .*different schema type/)
  accepted(await registry.putConfig('s', { compatibility: 'NONE' }))
  accepted(await registry.register('s', { ...request, type: 'JSON' }))
})

test('only versions of the same compatibility group are compared, and the policy reaches the format', async t => {
  const registry = open(t)
  const inGroup = (major: string) => ({ properties: { major } })
  accepted(await registry.putConfig(null, { compatibilityGroup: 'major' }))
  accepted(await registry.register('s', { schema: toy('R', { a: 'int' }), metadata: inGroup('1') }))
  const broken = { schema: toy('R', { b: 'int' }) }
  assert.match(refusedWith(await registry.register('s', broken)), /^409 /)
  assert.match(refusedWith(await registry.register('s', { ...broken, metadata: inGroup('1') })), /^409 /)
  assert.equal(accepted(await registry.register('s', { ...broken, metadata: inGroup('2') })).version, 2)
  assert.match(
    refusedWith(await registry.register('s', { schema: toy('R', { c: 'int' }), metadata: inGroup('1') })),
    /^409 /,
  )
  accepted(await registry.putConfig('s', { compatibilityPolicy: 'LENIENT' }))
  accepted(await registry.register('s', { schema: toy('R', { c: 'int' }), metadata: inGroup('1') }))
})

test('a level is changed only from the level that the caller has seen', async t => {
  const registry = open(t)
  for (const name of [null, 's']) {
    const put = (compatibility: string | null, ownLevel: 'NONE' | 'FULL' | null) =>
      registry.putConfig(name, { compatibility }, { ownLevel })
    assert.match(refusedWith(await put('NONE', 'FULL')), /^40901 /)
    assert.deepEqual(await put('NONE', null), { compatibility: 'NONE' })
    assert.match(refusedWith(await put('FULL', null)), /^40901 /)
    assert.deepEqual(await put(null, 'NONE'), { compatibility: null })
    assert.match(refusedWith(await put(null, 'NONE')), /^40901 /)
  }
})
