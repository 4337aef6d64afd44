import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import type { RestoredBatch } from '../columns/restore.ts'
import { PartCache } from './part-cache.ts'
import { Closed } from './read-queue.ts'

const part = (bytes: number): RestoredBatch[] => [
  { baseOffset: 0, lastOffset: 0, maxTimestamp: 0, bytes: new Uint8Array(bytes) },
]

function world(limit: number, clock = systemClock) {
  const cache = new PartCache(clock, limit)
  const load = async (key: string, bytes: number, isAhead = false): Promise<void> => {
    const work = async () => part(bytes)
    if (isAhead) await cache.loadAhead(key, { bytes, work })
    else (await cache.load(key, { bytes, work })).release()
  }
  /** A load that ends when it is told to. */
  const begin = (key: string, bytes: number, isAhead = false) => {
    const { promise, resolve, reject } = Promise.withResolvers<RestoredBatch[]>()
    let hasBegun = false
    const work = () => {
      hasBegun = true
      return promise
    }
    const loading = isAhead ? cache.loadAhead(key, { bytes, work }) : cache.load(key, { bytes, work })
    return { loading, end: () => resolve(part(bytes)), fail: reject, hasBegun: () => hasBegun }
  }
  return { cache, load, begin }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

test('the part that was not used for longest goes first', async () => {
  const { cache, load } = world(100)
  await load('a', 40)
  await load('b', 40)
  cache.use('a')!.release()
  await load('c', 40)
  assert.deepEqual(
    ['a', 'b', 'c'].map(key => cache.has(key)),
    [true, false, true],
  )
  assert.equal(cache.bytes, 80)
})

test('parts on their way count, and a load waits until there is room', async () => {
  const { cache, begin } = world(100)
  const first = begin('a', 60)
  const second = begin('b', 60)
  const third = begin('c', 10)
  await turn()
  assert.deepEqual([first.hasBegun(), second.hasBegun(), third.hasBegun()], [true, false, false])
  assert.equal(cache.bytes, 60)
  first.end()
  await first.loading
  await turn()
  assert.deepEqual([second.hasBegun(), third.hasBegun(), cache.bytes], [true, true, 70])
  second.end()
  third.end()
  await Promise.all([second.loading, third.loading])
  assert.equal(cache.bytes, 70)
})

test('a part larger than the cache is loaded alone and not kept', async () => {
  const { cache, load, begin } = world(100)
  const small = begin('a', 10)
  const large = begin('b', 500)
  await turn()
  assert.equal(large.hasBegun(), false)
  small.end()
  await small.loading
  await turn()
  large.end()
  await large.loading
  await turn()
  assert.equal(cache.has('b'), false)
  await load('c', 10)
  assert.equal(cache.bytes, 10)
})

test('a failed load is not kept, and gives its room back', async () => {
  const { cache, begin, load } = world(100)
  const failing = begin('a', 90, true)
  await turn()
  failing.fail(new Error('away'))
  await assert.rejects(failing.loading, /away/)
  assert.deepEqual([cache.has('a'), cache.bytes], [false, 0])
  assert.equal(cache.hasRoomAhead(50), true)
  await load('a', 90)
  assert.ok(cache.has('a'))
})

test('reading ahead takes a share of the memory, never waits, and its parts outlast others', async () => {
  const { cache, load, begin } = world(100)
  assert.equal(cache.hasRoomAhead(76), false)
  await load('ahead', 75, true)
  assert.equal(cache.hasRoomAhead(1), false)
  await load('a', 20)
  await load('b', 20)
  assert.deepEqual([cache.has('ahead'), cache.has('a'), cache.has('b')], [true, false, true])
  // Its reader came: from now on it is a part like others.
  cache.use('ahead')!.release()
  assert.equal(cache.hasRoomAhead(75), true)
  const reader = begin('c', 80)
  await turn()
  assert.equal(cache.hasRoomAhead(30), false)
  reader.end()
  await reader.loading
})

test('parts that were read ahead for a reader that left are parts like others after a while', async () => {
  let nowMs = 0
  const { cache, load } = world(100, { ...systemClock, monotonic: () => nowMs })
  await load('left', 75, true)
  assert.equal(cache.hasRoomAhead(50), false)
  nowMs = 6_000
  assert.equal(cache.hasRoomAhead(50), true)
})

test('closing fails the loads that wait, and keeps nothing of those on their way', async () => {
  const { cache, begin } = world(100)
  const first = begin('a', 80)
  const second = begin('b', 80)
  await turn()
  cache.close()
  await assert.rejects(second.loading, Closed)
  first.end()
  await first.loading
  assert.equal(cache.has('a'), false)
  await assert.rejects(begin('c', 1).loading, Closed)
})

test('the memory of a part is freed when the cache and all its readers have released it', async () => {
  const { cache, load } = world(100)
  const memory = part(60)
  const loading = cache.load('a', { bytes: 60, work: async () => memory })
  const other = cache.wait('a')!
  assert.deepEqual([cache.isLoading('a'), cache.use('a'), cache.wait('b')], [true, undefined, undefined])
  const parts = [await loading, await other, cache.use('a')!]
  assert.deepEqual([cache.isLoading('a'), cache.wait('a')], [false, undefined])
  await load('b', 60)
  assert.equal(cache.has('a'), false)
  for (const each of parts) {
    assert.equal(memory[0]!.bytes.length, 60)
    each.release()
  }
  assert.equal(memory[0]!.bytes.length, 0)
})

test('the memory of a part without readers is freed when it is dropped, or when the cache is closed', async () => {
  const { cache, load } = world(100)
  const [ahead, kept, late] = [part(40), part(40), part(40)]
  await cache.loadAhead('ahead', { bytes: 40, work: async () => ahead })
  cache.use('ahead')!.release()
  await load('a', 80)
  assert.deepEqual([cache.has('ahead'), ahead[0]!.bytes.length], [false, 0])
  await cache.loadAhead('kept', { bytes: 40, work: async () => kept })
  const { promise, resolve } = Promise.withResolvers<RestoredBatch[]>()
  const loading = cache.loadAhead('late', { bytes: 40, work: () => promise })
  await turn()
  cache.close()
  resolve(late)
  await loading
  assert.deepEqual(
    [kept, late].map(each => each[0]!.bytes.length),
    [0, 0],
  )
  assert.equal(cache.bytes, 0)
})
