import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { OffsetMap } from './offset-map.ts'

const key = (name: string | number) => Buffer.from(String(name))

test('a map knows the newest offset of each key, whatever their order', () => {
  const steps = fc.array(fc.record({ name: fc.string({ maxLength: 3 }), offset: fc.nat(1_000) }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, list => {
      const map = new OffsetMap(24 * 1_000)
      const model = new Map<string, number>()
      for (const { name, offset } of list) {
        assert.ok(map.put(key(name), offset))
        model.set(name, Math.max(model.get(name) ?? 0, offset))
      }
      assert.equal(map.size, model.size)
      for (const [name, offset] of model) assert.equal(map.get(key(name)), offset, name)
      assert.equal(map.get(key('a key that was never put')), -1)
    }),
  )
})

test('a full map refuses new keys, and keeps and updates the ones that it has', () => {
  const map = new OffsetMap(24 * 100)
  let taken = 0
  while (map.put(key(taken), taken)) taken++
  assert.equal(taken, 90)
  assert.equal(map.put(key(7), 1_000), true)
  assert.equal(map.get(key(7)), 1_000)
  assert.equal(map.put(key('new'), 1_001), false)
  assert.equal(map.get(key('new')), -1)
  for (let i = 0; i < taken; i++) if (i !== 7) assert.equal(map.get(key(i)), i)
})

test('the smallest map has one key, and offsets up to 2^53 are exact', () => {
  const map = new OffsetMap(0)
  assert.equal(map.put(key('a'), Number.MAX_SAFE_INTEGER - 1), true)
  assert.equal(map.put(key('b'), 1), false)
  assert.equal(map.get(key('a')), Number.MAX_SAFE_INTEGER - 1)
  assert.equal(map.get(Buffer.alloc(0)), -1)
})
