import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { batchOf, type LogWorld, openLogWorld } from '../../../testing/sim/logs.ts'
import { reachIn } from '../../../testing/sim/reach.ts'
import { isRefusal } from '../../protocol/errors.ts'
import type { NewRecord } from '../../protocol/records.ts'
import { type BrowseRequest, browseRecords, findRecord, PAGE_READ_BYTES } from './browse.ts'
import { whole } from './shown-record.ts'

const REQUEST: BrowseRequest = {
  partition: null,
  order: 'oldest',
  seek: { edge: 'earliest' },
  cursor: null,
  limit: 50,
  contains: null,
  decode: 'utf8',
  keyDecode: 'utf8',
  previewBytes: 100,
}

const WHOLE = whole(() => REQUEST)

async function browse(world: LogWorld, request: Partial<BrowseRequest>, isAway?: (partition: number) => boolean) {
  const found = await browseRecords(reachIn(world, isAway), 't', { ...REQUEST, ...request })
  assert.ok(!isRefusal(found), JSON.stringify(found))
  return found.page
}

async function append(world: LogWorld, index: number, records: number | readonly NewRecord[]) {
  const appending = world.partition('t', index).append(batchOf(records), 0)
  await world.clock.settle()
  assert.ok(!isRefusal(await appending))
}

test('transaction markers are skipped, in both directions', async t => {
  const world = await openLogWorld(t)
  const topic = await world.create('t')
  await append(world, 0, [{ value: 'before' }])
  const { stream } = world.partition('t').state
  const marker = batchOf([{ key: Buffer.from([0, 0, 0, 1]), value: Buffer.alloc(6) }], {
    isControl: true,
    baseOffset: 1,
  })
  await world.store.append({
    stream,
    epoch: world.partition('t').leaderEpoch,
    at: 1,
    attempt: 'marker',
    batches: [{ baseOffset: 1, nextOffset: 2, recordCount: 1, maxTimestamp: -1, bytes: marker.bytes }],
    rows: [],
  })
  const again = await world.restart()
  assert.equal(again.partition('t').topicId, topic.id)
  await append(again, 0, [{ value: 'after' }])
  for (const order of ['oldest', 'newest'] as const) {
    const { messages, ends } = await browse(again, {
      order,
      seek: { edge: order === 'oldest' ? 'earliest' : 'latest' },
    })
    const offsets = messages.map(({ offset }) => offset)
    assert.deepEqual(order === 'oldest' ? offsets : offsets.reverse(), [0, 2])
    assert.equal(ends[0]!.end, 3)
  }
  const marked = await findRecord(reachIn(again), 't', { partition: 0, offset: 1 }, WHOLE)
  assert.ok(isRefusal(marked) && marked.name === 'OFFSET_OUT_OF_RANGE')
})

test('a page is filled although offsets that follow the clock leave gaps', async t => {
  const world = await openLogWorld(t)
  await world.create('t', { 'offset.sequence.bits': '11' })
  for (let i = 0; i < 30; i++) {
    await append(world, 0, [{ value: String(i) }])
    await world.clock.advance(60_000)
  }
  const newest = await browse(world, { order: 'newest', seek: { edge: 'latest' }, limit: 20 })
  const oldest = await browse(world, { limit: 20 })
  const texts = (page: typeof newest) => page.messages.map(({ value }) => value?.text).join()
  assert.equal(texts(newest), Array.from({ length: 20 }, (_, i) => 29 - i).join())
  assert.equal(texts(oldest), Array.from({ length: 20 }, (_, i) => i).join())
  const rest = await browse(world, { order: 'newest', cursor: newest.nextCursor })
  assert.equal(texts(rest), Array.from({ length: 10 }, (_, i) => 9 - i).join())
  assert.equal(rest.nextCursor, null)
})

test('the cost of a page is bounded, and page after page still returns all records', async t => {
  const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 } })
  await world.create('t', { 'max.message.bytes': '20000000' }, 2)
  const large = Buffer.alloc(9_000_000, 'x')
  for (let i = 0; i < 6; i++) {
    await append(world, i % 2, [{ value: i === 0 ? Buffer.from('needle') : large, timestamp: world.clock.now() + i }])
  }
  for (const contains of [null, 'needle']) {
    const seen: number[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const page: Awaited<ReturnType<typeof browse>> = await browse(world, {
        order: 'newest',
        seek: { edge: 'latest' },
        cursor,
        contains,
        previewBytes: 1,
      })
      assert.ok(page.bytes <= PAGE_READ_BYTES + 2 * large.length, `${page.bytes} bytes`)
      seen.push(...page.messages.map(({ timestamp }) => timestamp! - world.clock.now()))
      cursor = page.nextCursor
      assert.equal(page.isPartial, cursor !== null)
      pages++
    } while (cursor !== null && pages < 20)
    assert.deepEqual(seen, contains === null ? [5, 4, 3, 2, 1, 0] : [0])
    assert.ok(pages > 1 && pages < 10, `${pages} pages`)
  }
})

test('a large batch is read from its end, page by page', async t => {
  const world = await openLogWorld(t)
  await world.create('t')
  await append(world, 0, 5_000)
  await append(world, 0, 10)
  let cursor: string | null = null
  const offsets: number[] = []
  do {
    const page: Awaited<ReturnType<typeof browse>> = await browse(world, {
      order: 'newest',
      seek: { edge: 'latest' },
      cursor,
      limit: 700,
    })
    offsets.push(...page.messages.map(({ offset }) => offset))
    cursor = page.nextCursor
  } while (cursor !== null)
  assert.deepEqual(
    offsets,
    Array.from({ length: 5_010 }, (_, i) => 5_009 - i),
  )
})

test('a damaged batch is reported, and the batches beside it are shown', async t => {
  const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 } })
  await world.create('t', {}, 2)
  await append(world, 0, [{ value: 'good' }])
  await append(world, 1, [{ value: 'other' }])
  const { stream } = world.partition('t', 0).state
  const bytes = Buffer.from(batchOf([{ value: 'bad' }], { baseOffset: 1 }).bytes)
  bytes[bytes.length - 2]! ^= 1
  await world.store.append({
    stream,
    epoch: world.partition('t', 0).leaderEpoch,
    at: 1,
    attempt: 'damage',
    batches: [{ baseOffset: 1, nextOffset: 2, recordCount: 1, maxTimestamp: -1, bytes }],
    rows: [],
  })
  const again = await world.restart()
  const { messages, unavailable, nextCursor } = await browse(again, {})
  assert.deepEqual(messages.map(({ value }) => value?.text).sort(), ['good', 'other'])
  assert.deepEqual(
    unavailable.map(({ partition, code }) => [partition, code]),
    [[0, 'CORRUPT_MESSAGE']],
  )
  const last = await browse(again, { cursor: nextCursor })
  assert.deepEqual([last.messages, last.unavailable, last.nextCursor], [[], unavailable, null])
})

test('pages in both directions return every record once, for any batches and any pages', async t => {
  const batches = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 20,
  })
  const caches = fc.constantFrom(0, 64 * 1024 * 1024)
  const bits = fc.constantFrom('0', '0', '3')
  await fc.assert(
    fc.asyncProperty(batches, fc.integer({ min: 1, max: 90 }), caches, bits, async (given, limit, cache, bits) => {
      const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': cache } })
      await world.create('t', { 'offset.sequence.bits': bits }, 3)
      let count = 0
      for (const [partition, records] of given) {
        const timestamped = Array.from({ length: records }, () => ({ timestamp: world.clock.now() - 10_000 + count++ }))
        await append(world, partition, timestamped)
      }
      const since = (await browse(world, { limit: 1 })).messages[0]!.timestamp!
      for (const order of ['oldest', 'newest'] as const) {
        const seen: number[] = []
        let cursor: string | null = null
        do {
          const seek = { edge: order === 'oldest' ? 'earliest' : 'latest' } as const
          const page: Awaited<ReturnType<typeof browse>> = await browse(world, { order, seek, limit, cursor })
          seen.push(...page.messages.map(({ timestamp }) => timestamp! - since))
          cursor = page.nextCursor
          assert.ok(page.messages.length === limit || cursor === null)
        } while (cursor !== null)
        const all = Array.from({ length: count }, (_, i) => i)
        assert.deepEqual(seen, order === 'oldest' ? all : all.reverse())
      }
      await world.logs.close()
    }),
    { numRuns: 40 },
  )
})

test('partitions that were away for a page, even for the first, continue at their position, in each order and from any start', async t => {
  const world = await openLogWorld(t)
  await world.create('t', {}, 3)
  const fromMs = world.clock.now() - 10_000
  for (let index = 0; index < 3; index++) {
    await append(
      world,
      index,
      Array.from({ length: 10 }, (_, i) => ({ timestamp: fromMs + 3 * i + index })),
    )
  }
  const places = [
    { order: 'oldest', seek: { edge: 'earliest' }, expected: 30 },
    { order: 'oldest', seek: { offset: 4 }, expected: 18 },
    { order: 'oldest', seek: { timestamp: fromMs + 15 }, expected: 15 },
    { order: 'newest', seek: { edge: 'latest' }, expected: 30 },
    { order: 'newest', seek: { offset: 4 }, expected: 15 },
  ] as const
  for (const { expected, ...from } of places) {
    for (const awayFor of [0, 1]) {
      const seen = new Set<string>()
      let cursor: string | null = null
      for (let at = 0; at === 0 || cursor !== null; at++) {
        const isAway = (partition: number) => at === awayFor && partition > 0
        const page: Awaited<ReturnType<typeof browse>> = await browse(world, { ...from, limit: 4, cursor }, isAway)
        const unavailable = page.unavailable.map(({ partition }) => partition)
        assert.deepEqual(unavailable, at === awayFor ? [1, 2] : [])
        for (const { partition, offset } of page.messages) {
          assert.ok(!seen.has(`${partition}:${offset}`))
          seen.add(`${partition}:${offset}`)
        }
        cursor = page.nextCursor
      }
      assert.equal(seen.size, expected, JSON.stringify([from, awayFor]))
    }
  }
})

test('paging continues after a page that begins at an offset beyond the end of a partition', async t => {
  const world = await openLogWorld(t)
  await world.create('t', {}, 2)
  await append(world, 0, 100)
  await append(world, 1, 10)
  const seek = { offset: 50 }
  const first = await browse(world, { seek, limit: 10 })
  const next = await browse(world, { seek, limit: 50, cursor: first.nextCursor })
  const offsets = [...first.messages, ...next.messages].map(({ offset }) => offset)
  assert.deepEqual([offsets[0], offsets.length, next.nextCursor], [50, 50, null])
})

test('a page goes on behind any of its records, in both orders', async t => {
  const world = await openLogWorld(t)
  await world.create('t', {}, 3)
  const random = [3, 1, 2, 5, 4, 9, 7, 8, 6, 10, 12, 11]
  for (const [at, time] of random.entries())
    await append(world, at % 3, [
      { value: `${at}a`, timestamp: time },
      { value: `${at}b`, timestamp: time },
    ])
  const seeks: readonly BrowseRequest['seek'][] = [
    { edge: 'earliest' },
    { edge: 'latest' },
    { offset: 5 },
    { offset: 99 },
  ]
  for (const order of ['oldest', 'newest'] as const)
    for (const seek of seeks)
      for (const contains of [null, 'a']) {
        const request = { ...REQUEST, order, seek, contains }
        const { messages } = await browse(world, request)
        const found = await browseRecords(reachIn(world), 't', { ...request, limit: 10 })
        assert.ok(!isRefusal(found))
        for (let kept = 0; kept <= found.page.messages.length; kept++) {
          const cursor: string | null = found.cursorAfter(kept)
          const rest: unknown = cursor === null ? [] : (await browse(world, { ...request, cursor })).messages
          assert.deepEqual(rest, messages.slice(kept), `${order} ${JSON.stringify(seek)} ${contains}: ${kept}`)
        }
      }
})
