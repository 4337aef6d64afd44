import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { OffsetMap } from './offset-map.ts'

const key = (name: string | number) => Buffer.from(String(name))

test('a map knows the newest offset of each key, whatever their order', () => {
  const step = fc.record({ name: fc.string({ maxLength: 2 }), offset: fc.integer({ min: 400, max: 1_000 }) })
  const steps = fc.uniqueArray(step, { selector: ({ offset }) => offset, maxLength: 200 })
  fc.assert(
    fc.property(steps, list => {
      const map = new OffsetMap(24 * 1_000, 500)
      const model = new Map<string, number>()
      for (const { name, offset } of list) {
        map.put(key(name), offset)
        model.set(name, Math.max(model.get(name) ?? 0, offset))
      }
      assert.equal(map.settle(), null)
      assert.equal(map.size, model.size)
      for (const [name, offset] of model) assert.equal(map.get(key(name)), offset, name)
      for (const { name, offset } of list) {
        const bytes = key(`<${name}>`)
        assert.equal(map.isNewest(offset, bytes, 1, bytes.length - 1), offset === model.get(name), name)
      }
      assert.equal(map.get(key('a key that was never put')), -1)
    }),
  )
})

test('a full map refuses new keys, and keeps and updates the ones that it has', () => {
  const put = (map: OffsetMap, name: string | number, offset: number) => {
    map.put(key(name), offset)
    return map.settle()
  }
  const map = new OffsetMap(24 * 100, 0)
  for (let i = 0; i < 90; i++) assert.equal(put(map, i, i), null)
  assert.equal(put(map, 7, 1_000), null)
  assert.equal(map.get(key(7)), 1_000)
  assert.equal(put(map, 'new', 1_001), 1_001)
  assert.equal(map.get(key('new')), -1)
  for (let i = 0; i < 90; i++) if (i !== 7) assert.equal(map.get(key(i)), i)
  // The pass maps only up to there.
  assert.equal(put(map, 8, 1_002), 1_001)
  assert.equal(map.get(key(8)), 8)
})

test('more keys than can wait at a time are all mapped', () => {
  const map = new OffsetMap(24 * 4_000, 0)
  for (let i = 0; i < 3_000; i++) map.put(key(i), i)
  assert.equal(map.settle(), null)
  assert.equal(map.size, 3_000)
  for (let i = 0; i < 3_000; i++) assert.equal(map.get(key(i)), i)
})

test('the smallest map has one key, and offsets up to 2^53 are exact', () => {
  const map = new OffsetMap(0, 0)
  map.put(key('a'), Number.MAX_SAFE_INTEGER - 1)
  assert.equal(map.settle(), null)
  map.put(key('b'), 1)
  assert.equal(map.settle(), 1)
  assert.equal(map.get(key('a')), Number.MAX_SAFE_INTEGER - 1)
  assert.equal(map.get(Buffer.alloc(0)), -1)
})

test('records outside the offsets that have bits are compared by the hash of their key', () => {
  // Bits for the offsets from 100 to 148.
  const map = new OffsetMap(24 * 4, 100)
  map.put(key('a'), 120)
  map.put(key('a'), 1_000)
  map.put(key('b'), 130)
  assert.equal(map.settle(), null)
  const bytes = Buffer.from('abc')
  const isNewest = (offset: number, at: number) => map.isNewest(offset, bytes, at, at + 1)
  assert.deepEqual([isNewest(5, 0), isNewest(120, 0), isNewest(1_000, 0)], [false, false, true])
  assert.deepEqual([isNewest(5, 1), isNewest(130, 1), isNewest(5, 2)], [false, true, true])
})
