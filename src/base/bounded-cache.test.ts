import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache } from './bounded-cache.ts'

const cacheOf = (mostBytes: number) => new BoundedCache<string, string>(mostBytes, value => value.length)

test('a cache forgets the values that were not used since it last looked', () => {
  const cache = cacheOf(6)
  cache.set('a', 'aa')
  cache.set('b', 'bb')
  cache.set('c', 'cc')
  assert.equal(cache.get('a'), 'aa')
  assert.equal(cache.peek('b'), 'bb')
  cache.set('d', 'dd')
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].filter(key => cache.has(key)),
    ['a', 'c', 'd'],
  )
  // A use counts once.
  cache.set('e', 'ee')
  cache.set('f', 'ff')
  assert.deepEqual(
    ['a', 'c', 'd', 'e', 'f'].filter(key => cache.has(key)),
    ['a', 'e', 'f'],
  )
  assert.deepEqual([cache.bytes, cache.size], [6, 3])
})

test('a new value gets its place although all others are in use', () => {
  const cache = cacheOf(6)
  for (const key of ['a', 'b', 'c']) cache.set(key, key.repeat(2))
  for (const key of ['a', 'b', 'c', 'd', 'e']) {
    for (const used of ['a', 'b', 'c', 'd']) cache.get(used)
    cache.set(key, key.repeat(2))
    assert.equal(cache.peek(key), key.repeat(2))
    assert.equal(cache.bytes, 6)
  }
})

test('a value replaces the one of its key, and one that is too large is not kept', () => {
  const cache = cacheOf(6)
  cache.set('a', 'aa')
  cache.set('a', 'aaaa')
  assert.equal(cache.bytes, 4)
  cache.set('a', 'aaaaaaa')
  assert.deepEqual([cache.get('a'), cache.bytes], [undefined, 0])
  cache.set('b', 'b')
  cache.delete('b')
  cache.set('c', 'c')
  cache.clear()
  assert.deepEqual([cache.bytes, cache.size], [0, 0])
})
