// The guarantees of storage compression: batches are read back byte for byte, on each store and after any stop, and
// damage affects only the damaged batch.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { CleanUp } from '../../testing/broker.ts'
import { fc } from '../../testing/property.ts'
import { noRedis, type RedisServer, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { batchOf, readAll } from '../../testing/sim/logs.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { topicPattern } from '../../testing/topic-pattern.ts'
import { sleep, systemClock } from '../base/clock.ts'
import { crc32c } from '../base/crc32c.ts'
import { systemRandom } from '../base/random.ts'
import { type Codec, codecs } from '../protocol/compression.ts'
import { CORRUPT_MESSAGE, isRefusal, KAFKA_STORAGE_ERROR } from '../protocol/errors.ts'
import {
  type BatchOptions,
  type BatchView,
  encodeBatch,
  type NewRecord,
  stamp,
  viewBatch,
} from '../protocol/records.ts'
import { testSettings } from '../settings/settings.ts'
import { openEmbeddedStore } from '../store/embedded/embedded-store.ts'
import { type Store, streamId } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openCatalogue } from './catalogue.ts'
import { Dictionaries } from './dictionaries.ts'
import { SOLE_LEADERSHIP } from './leadership.ts'
import { openLogs } from './logs.ts'
import type { Partition } from './partition.ts'
import { encodingOf, sealBatch } from './stored-batch.ts'

type Overrides = Parameters<typeof testSettings>[0]

/** A store that a test may close and open again. */
type Open = () => Promise<Store>

/** One server for all tests. Each test has a namespace of its own. */
let server: Promise<RedisServer> | null = null
const ends: (() => Promise<void>)[] = []
after(async () => {
  for (const end of ends.reverse()) await end()
})
let namespaces = 0

const stores: Readonly<Record<string, (t: TestContext) => Open>> = {
  memory() {
    let store = createMemoryStore(systemClock)
    return async () => {
      store = store.reopen()
      return store
    }
  },
  embedded(t) {
    const path = mkdtempSync(join(tmpdir(), 'ketch-compression-'))
    const opened: Store[] = []
    t.after(async () => {
      await opened.at(-1)?.close()
      rmSync(path, { recursive: true })
    })
    return async () => {
      await opened.at(-1)?.close()
      const report = (message: string) => t.diagnostic(message)
      const store = await openEmbeddedStore({
        path,
        fsync: 'interval',
        fsyncIntervalMs: 50,
        clock: systemClock,
        report,
      })
      opened.push(store)
      return store
    }
  },
  ...(noRedis === false && {
    Redis(t) {
      server ??= startRedis({ after: fn => void ends.push(fn) })
      const namespace = `t${++namespaces}`
      return async () => (await openTestStore(t as CleanUp, { 'redis.uri': (await server!).uri, namespace })).store
    },
  }),
}

/** Logs without a tail in memory: every read goes to the store. */
async function openRoom(open: Open, overrides: Overrides = {}) {
  const store = await open()
  const settings = testSettings({ 'storage.local.tail-cache-bytes': 0, ...overrides })
  const lines: string[] = []
  const logger = createLogger({ clock: systemClock, write: line => lines.push(line), format: 'plain' })
  const metrics = createMetrics()
  const catalogue = await openCatalogue(store, settings, systemClock, systemRandom)
  const leadership = SOLE_LEADERSHIP
  const rooms = { store, catalogue, leadership, settings, clock: systemClock, random: systemRandom, metrics, logger }
  const logs = await openLogs(rooms)
  return {
    store,
    rooms,
    catalogue,
    lines,
    logs,
    async create(name: string, configs: Readonly<Record<string, string>> = {}): Promise<Partition> {
      const [topic] = await catalogue.add([{ name, partitions: 1, configs }])
      assert(topic !== undefined && !isRefusal(topic))
      return logs.partition(topic.id, 0)!
    },
    partition: (name: string) => logs.partition(catalogue.current().topics.get(name)!.id, 0)!,
  }
}

/** JSON of about 200 bytes, as many services write it. */
function json(i: number): string {
  const user = `user-${(i * 7919) % 100_000}`
  const url = `https://shop.example.com/products/${(i * 31) % 5000}`
  const session = ((i * 2_654_435_761) >>> 0).toString(16)
  return JSON.stringify({
    id: i,
    user,
    event: ['view', 'click', 'buy'][i % 3],
    ts: i * 37,
    url,
    session,
    currency: 'EUR',
  })
}

const jsonRecords = (count: number, from = 0): NewRecord[] =>
  Array.from({ length: count }, (_, i) => ({ key: `k${from + i}`, value: json(from + i), timestamp: 1000 + i }))

/** Appends a copy, and returns the bytes that clients must see: the same bytes with their offsets. */
async function append(partition: Partition, batch: BatchView): Promise<Buffer> {
  const produced = Buffer.from(batch.bytes)
  const answer = await partition.append(viewBatch(Buffer.from(produced)), 0)
  assert(!isRefusal(answer), JSON.stringify(answer))
  stamp(produced, answer.baseOffset, partition.leaderEpoch)
  return produced
}

const LARGE = { 'max.message.bytes': '10000000' }

const shown = async (partition: Partition, from?: number) => (await readAll(partition, from)).map(({ bytes }) => bytes)

/** Like deepEqual. deepEqual takes minutes to describe how long buffers differ. */
function assertSame(found: readonly Buffer[], wanted: readonly Buffer[]): void {
  assert.equal(found.length, wanted.length)
  for (const [i, bytes] of wanted.entries()) assert(bytes.equals(found[i]!), `batch ${i} is not what was produced`)
}

const anyRecord: fc.Arbitrary<NewRecord> = fc.record({
  key: fc.option(fc.uint8Array({ maxLength: 40 }), { nil: null }),
  value: fc.oneof(
    fc.constant(null),
    fc.uint8Array({ maxLength: 3_000 }),
    fc.nat(10_000).map(json),
    fc.integer({ min: 0, max: 40_000 }).map(length => 'abcdefg '.repeat(length / 8)),
  ),
  timestamp: fc.integer({ min: -1, max: 10_000 }),
  headers: fc.array(fc.record({ key: fc.string({ maxLength: 9 }), value: fc.uint8Array({ maxLength: 30 }) }), {
    maxLength: 2,
  }),
})

const anyBatch = fc
  .record({
    records: fc.array(anyRecord, { minLength: 1, maxLength: 30 }),
    compression: fc.constantFrom<Codec>('none', 'none', 'none', ...codecs),
    /** Bits that no version of the protocol uses. Clients may set them. */
    unused: fc.constantFrom(0, 0, 0x0180),
  })
  .map(({ records, compression, unused }) => batchWith(records, { compression }, unused))

function batchWith(records: readonly NewRecord[], options: BatchOptions, unused: number): BatchView {
  const batch = batchOf(records, options)
  if (unused === 0) return batch
  batch.bytes.writeInt16BE(batch.attributes | unused, 21)
  batch.bytes.writeUInt32BE(crc32c(batch.bytes.subarray(21)), 17)
  return batch
}

for (const [name, prepare] of Object.entries(stores)) {
  for (const codec of codecs) {
    test(`on the ${name} store with ${codec}, batches come back byte for byte, after a restart too`, async t => {
      const open = prepare(t)
      let room = await openRoom(open)
      let topics = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyBatch, { minLength: 1, maxLength: 6 }),
          fc.boolean(),
          async (batches, restarts) => {
            const topic = `topic-${topics++}`
            const partition = await room.create(topic, { ...LARGE, 'storage.compression.type': codec })
            const expected = await Promise.all(batches.map(batch => append(partition, batch)))
            const wanted = expected.sort((a, b) => viewBatch(a).baseOffset - viewBatch(b).baseOffset)
            assertSame(await shown(partition), wanted)
            if (!restarts) return
            await room.logs.close()
            room = await openRoom(open)
            assertSame(await shown(room.partition(topic)), wanted)
          },
        ),
        { numRuns: name === 'memory' ? 60 : 15 },
      )
      await room.logs.close()
    })
  }
}

test('a batch is stored compressed, and stored unchanged if it would not be smaller', async t => {
  const { store, create } = await openRoom(stores.memory!(t))
  for (const codec of codecs) {
    const partition = await create(codec, { 'storage.compression.type': codec })
    const text = await append(partition, batchOf(jsonRecords(200)))
    const noise = await append(partition, batchOf([{ value: systemRandom.bytes(20_000) }]))
    const arrived = await append(partition, batchOf(jsonRecords(200), { compression: 'gzip' }))
    const read = await store.read(streamId(partition.topicId, 0), 0, { maxBytes: 1e9, until: 1e9 })
    assert(read.kind === 'read')
    const sizes = read.batches.map(({ bytes }) => bytes.length)
    if (codec === 'none') assert.equal(sizes[0], text.length)
    else assert(sizes[0]! < text.length / 2, `${codec}: ${sizes[0]} of ${text.length} bytes`)
    assert.deepEqual(sizes.slice(1), [noise.length, arrived.length])
    assert.equal(partition.sizeBytes, sizes[0]! + sizes[1]! + sizes[2]!)
    // In both forms stores and searches see the same offsets and times.
    assert.deepEqual([read.batches[0]!.recordCount, read.batches[0]!.maxTimestamp], [200, 1199])
  }
})

test('a topic takes the codec of its pattern, or the default, and keeps it', async t => {
  const open = stores.memory!(t)
  const topics = [topicPattern('logs-*', { compression: 'lz4' })]
  let room = await openRoom(open, { topics, 'storage.local.compression.codec': 'gzip' })
  const saved = async (name: string) => {
    const partition = room.partition(name)
    const before = partition.sizeBytes
    const { length } = await append(partition, batchOf(jsonRecords(100)))
    return (partition.sizeBytes - before) / length
  }
  for (const name of ['logs-a', 'plain', 'own']) {
    await room.create(name, name === 'own' ? { 'storage.compression.type': 'none' } : {})
  }
  const ratios = { lz4: await saved('logs-a'), gzip: await saved('plain') }
  assert(ratios.gzip < ratios.lz4 && ratios.lz4 < 0.5, JSON.stringify(ratios))
  assert.equal(await saved('own'), 1)
  await room.logs.close()
  room = await openRoom(open, { topics: [topicPattern('*', { compression: 'none' })] })
  assert.deepEqual({ lz4: await saved('logs-a'), gzip: await saved('plain') }, ratios)
})

test('records are found by time, and log append time is stamped, in batches that are stored compressed', async t => {
  const { create } = await openRoom(stores.memory!(t))
  const partition = await create('a', { 'storage.compression.type': 'zstd' })
  await append(partition, batchOf(jsonRecords(50)))
  await append(partition, batchOf(jsonRecords(50, 50)))
  assert.deepEqual(await partition.offsetForTimestamp(1030), {
    offset: 30,
    timestamp: 1030,
    leaderEpoch: partition.leaderEpoch,
  })
  const stamped = await create('b', { 'storage.compression.type': 'zstd', 'message.timestamp.type': 'LogAppendTime' })
  const answer = await stamped.append(batchOf(jsonRecords(50)), 0)
  assert(!isRefusal(answer))
  const [batch] = await readAll(stamped)
  assert.equal(batch!.timestampType, 'LogAppendTime')
  assert.equal(batch!.maxTimestamp, answer.logAppendTimeMs)
  assert.equal(crc32c(batch!.bytes.subarray(21)), batch!.crc)
})

test('a read takes as many batches as fit when they are unpacked', async t => {
  const { create } = await openRoom(stores.memory!(t))
  const partition = await create('a', { 'storage.compression.type': 'zstd' })
  const [first, ...rest] = [
    await append(partition, batchOf(jsonRecords(100))),
    await append(partition, batchOf(jsonRecords(100))),
    await append(partition, batchOf(jsonRecords(100))),
  ]
  const read = async (maxBytes: number, minOneBatch = false) => {
    const answer = await partition.read(0, maxBytes, minOneBatch)
    assert(!isRefusal(answer))
    assert.equal(
      answer.bytes,
      answer.batches.reduce((sum, { length }) => sum + length, 0),
    )
    return answer.batches.length
  }
  const twice = first!.length + rest[0]!.length
  assert.deepEqual(await Promise.all([read(1, true), read(1), read(twice), read(twice - 1)]), [1, 0, 2, 1])
})

test('a stored batch with an unknown encoding is refused with its offsets, and the other batches are readable', async t => {
  const { store, create, lines } = await openRoom(stores.memory!(t))
  const damages: readonly [string, (sealed: Buffer) => Buffer, RegExp][] = [
    ['layout', sealed => rewritten(sealed, 61, 9), /layout 9 of its encoding is unknown/],
    ['codec', sealed => rewritten(sealed, 62, 5), /codec 5 of its encoding is unknown/],
    [
      'checksum',
      sealed => rewritten(sealed, 67, sealed[67]! ^ 1),
      /it does not unpack to the \d+ bytes that were produced/,
    ],
    ['length', sealed => rewritten(sealed, 74, sealed[74]! ^ 1), /grows beyond|does not unpack/],
    ['records', sealed => rewritten(sealed, 75, sealed[75]! ^ 1), /it cannot be unpacked: gzip/],
    ['cut', sealed => rewritten(sealed.subarray(0, 70), 8, 0), /its encoding is cut/],
  ]
  for (const [name, damage, why] of damages) {
    const partition = await create(name, { 'storage.compression.type': 'gzip' })
    const before = await append(partition, batchOf(jsonRecords(9)))
    const { bytes } = batchOf(jsonRecords(9))
    stamp(bytes, 9, partition.leaderEpoch)
    const sealed = sealBatch(bytes, { codec: 'gzip', dictionary: 0, bytes: gzipSync(bytes.subarray(61)) })
    await store.append({
      stream: streamId(partition.topicId, 0),
      epoch: partition.leaderEpoch,
      at: 9,
      attempt: name,
      batches: [{ baseOffset: 9, nextOffset: 18, recordCount: 9, maxTimestamp: 9, bytes: damage(sealed) }],
      rows: [],
    })
    // The partition does not know of this append, and opens the stream again.
    const after = await append(partition, batchOf(jsonRecords(9)))
    const [first, damaged, last] = [
      await partition.read(0, 1e6, true),
      await partition.read(9, 1e6, true),
      await partition.read(18, 1e6, true),
    ]
    assert(!isRefusal(first) && isRefusal(damaged) && !isRefusal(last))
    stamp(before, 0, partition.leaderEpoch - 1)
    assert.deepEqual([first.batches, last.batches], [[before], [after]])
    assert.equal(damaged.code, CORRUPT_MESSAGE.code)
    assert.match(damaged.message, new RegExp(`^The batch at offsets 9 to 17 of ${name}-0 cannot be read`))
    assert.match(damaged.message, why)
    assert.match(lines.join(''), why)
  }
})

const TRAINED = { 'storage.local.compression.dictionary.sample-count': 100 }
const ZSTD = { 'storage.compression.type': 'zstd' }

/** Returns the versions of the dictionary with which the batches of a topic were compressed. */
async function versionsIn(store: Store, topicId: string): Promise<number[]> {
  const read = await store.read(streamId(topicId, 0), 0, { maxBytes: 1e9, until: 1e9 })
  assert(read.kind === 'read')
  return read.batches.map(({ bytes }) => {
    const encoding = encodingOf(viewBatch(bytes).bytes)
    assert(encoding !== null && typeof encoding !== 'string')
    return encoding.dictionary
  })
}

/** Appends small batches until one is compressed with this version. Returns all bytes that clients must see. */
async function appendUntil(store: Store, partition: Partition, version: number, record = json): Promise<Buffer[]> {
  const produced: Buffer[] = []
  for (let i = 0; ; i += 2) {
    produced.push(await append(partition, batchOf([{ value: record(i) }, { value: record(i + 1) }])))
    if (i >= 100 && (await versionsIn(store, partition.topicId)).at(-1) === version) return produced
    assert(i < 20_000, `version ${version} has not come`)
    await sleep(systemClock, 1)
  }
}

for (const [name, prepare] of Object.entries(stores)) {
  test(`on the ${name} store a topic gets a dictionary from its own records, and keeps it over a restart`, async t => {
    const open = prepare(t)
    let room = await openRoom(open, TRAINED)
    const partition = await room.create('a', ZSTD)
    const { topicId } = partition
    const produced = await appendUntil(room.store, partition, 1)
    assert.match(room.lines.join(''), /a dictionary was trained.*topic=a.*version=1/)
    assertSame(await shown(partition), produced)
    await room.logs.close()
    room = await openRoom(open, TRAINED)
    assertSame(await shown(room.partition('a')), produced)
    produced.push(...(await appendUntil(room.store, room.partition('a'), 1)))
    assertSame(await shown(room.partition('a')), produced)
    assert.equal((await room.store.list('dictionaries')).length, 1)
    await room.logs.close()
    assert(!(await versionsIn(room.store, topicId)).includes(2))
  })
}

test('small batches of JSON need less space with a dictionary', async t => {
  const { store, create } = await openRoom(stores.memory!(t), TRAINED)
  const partition = await create('a', ZSTD)
  await appendUntil(store, partition, 1)
  const read = await store.read(streamId(partition.topicId, 0), 0, { maxBytes: 1e9, until: 1e9 })
  assert(read.kind === 'read')
  const records = (stored: Uint8Array) => stored.length - 75
  const [first, last] = [read.batches[0]!.bytes, read.batches.at(-1)!.bytes]
  assert(3 * records(last) < 2 * records(first), `${records(last)} bytes with, ${records(first)} without`)
})

test('when records change, a better dictionary is trained, and each batch is read with its own dictionary', async t => {
  const { store, create } = await openRoom(stores.memory!(t), TRAINED)
  const partition = await create('a', ZSTD)
  const other = (i: number) =>
    `<reading sensor="greenhouse-${i % 17}" humidity="${(i * 37) % 100}" unit="percent" firmware="v2.11.${i % 5}"/>`
  const produced = await appendUntil(store, partition, 1)
  // It is sampled again after a hundred times as many records.
  produced.push(await append(partition, batchOf(Array.from({ length: 10_000 }, (_, i) => ({ value: other(i) })))))
  produced.push(...(await appendUntil(store, partition, 2, other)))
  const versions = await versionsIn(store, partition.topicId)
  assert.deepEqual([...new Set(versions)], [0, 1, 2])
  assertSame(await shown(partition), produced)
})

test('noise gets no dictionary', async t => {
  const { store, create, lines } = await openRoom(stores.memory!(t), TRAINED)
  const partition = await create('a', ZSTD)
  while (!lines.join('').includes('would not compress a topic better')) {
    await append(partition, batchOf([{ value: systemRandom.bytes(200) }]))
    await sleep(systemClock, 1)
  }
  assert.equal((await store.list('dictionaries')).length, 0)
})

test('max-sample-bytes starts training too', async t => {
  const overrides = { 'storage.local.compression.dictionary.max-sample-bytes': 20_000 }
  const { store, create } = await openRoom(stores.memory!(t), overrides)
  await appendUntil(store, await create('a', ZSTD), 1)
})

test('a dictionary has the configured size', async t => {
  const overrides = { ...TRAINED, 'storage.local.compression.dictionary.size-bytes': 1_000 }
  const { store, create } = await openRoom(stores.memory!(t), overrides)
  const partition = await create('a', ZSTD)
  await appendUntil(store, partition, 1)
  const document = await store.load('dictionary', `${partition.topicId}:1`)
  assert.equal(document!.fields.get('content')!.length, 1_000)
})

test('two brokers that train a topic at once agree on one dictionary', async () => {
  const store = createMemoryStore(systemClock)
  const open = async () => store
  const one = await openRoom(open, TRAINED)
  await one.create('a', ZSTD)
  const two = await openRoom(open, TRAINED)
  const topic = one.catalogue.current().topics.get('a')!
  const records = encodeBatch(jsonRecords(100)).subarray(61)
  const dictionaries = [one, two].map(({ rooms }) => new Dictionaries(rooms))
  for (const each of dictionaries) each.use(topic, records, 100)
  while (dictionaries.some(each => each.use(topic, records, 100) === null)) await sleep(systemClock, 1)
  const [first, second] = dictionaries.map(each => each.use(topic, records, 100)!)
  assert.deepEqual(second, first)
  assert.equal((await store.list('dictionary')).length, 1)
  for (const each of dictionaries) await each.close()
})

test('only the batches of a missing dictionary are unreadable, and the error names the version', async t => {
  const open = stores.memory!(t)
  let room = await openRoom(open, TRAINED)
  const partition = await room.create('a', ZSTD)
  const produced = await appendUntil(room.store, partition, 1)
  await room.logs.close()
  room = await openRoom(open, TRAINED)
  const name = `${partition.topicId}:1`
  const { version } = (await room.store.load('dictionary', name))!
  await room.store.commit({ kind: 'dictionary', name, expect: version, changes: [], remove: true })
  const reading = room.partition('a')
  const first = await reading.read(0, 1, true)
  assert(!isRefusal(first))
  assertSame(first.batches as Buffer[], [produced[0]!])
  const last = await reading.read(reading.endOffset - 1, 1, true)
  assert(isRefusal(last))
  assert.equal(last.code, CORRUPT_MESSAGE.code)
  assert.match(last.message, /version 1 of the topic's dictionary is not in the store/)
})

test('batches cannot be read while the store does not return their dictionary, and can be read afterwards', async t => {
  const open = stores.memory!(t)
  let room = await openRoom(open, TRAINED)
  const produced = await appendUntil(room.store, await room.create('a', ZSTD), 1)
  await room.logs.close()
  room = await openRoom(open, TRAINED)
  const reading = room.partition('a')
  ;(room.store as MemoryStore).faults.failNext('load', 'unavailable')
  const answer = await reading.read(reading.endOffset - 1, 1, true)
  assert(isRefusal(answer))
  assert.equal(answer.code, KAFKA_STORAGE_ERROR.code)
  assertSame(await shown(reading), produced)
})

test('a dictionary that the store has lost in a failover is stored again before its next use', async t => {
  const store = createMemoryStore(systemClock)
  const room = await openRoom(async () => store, TRAINED)
  t.after(() => room.logs.close())
  const partition = await room.create('a', ZSTD)
  const { topicId } = partition
  const produced = await appendUntil(store, partition, 1)
  for (const [kind, name] of [
    ['dictionary', `${topicId}:1`],
    ['dictionaries', topicId],
  ] as const) {
    const { version } = (await store.load(kind, name))!
    await store.commit({ kind, name, expect: version, changes: [], remove: true })
  }
  store.faults.renew([])
  await sleep(systemClock, 1)
  produced.push(...(await appendUntil(store, partition, 1)))
  const other = await openRoom(async () => store.beside(), TRAINED)
  t.after(() => other.logs.close())
  assertSame(await shown(other.partition('a')), produced)
})

test('the dictionaries of a topic are removed with it, and remaining ones are swept at a start', async t => {
  const open = stores.memory!(t)
  let room = await openRoom(open, TRAINED)
  for (const name of ['a', 'b']) await appendUntil(room.store, await room.create(name, ZSTD), 1)
  const left = async () => (await room.store.list('dictionary')).length + (await room.store.list('dictionaries')).length
  assert.equal(await left(), 4)
  await room.catalogue.remove([room.partition('a').topicId])
  while ((await left()) !== 2) await sleep(systemClock, 1)
  const { topicId } = room.partition('b')
  await room.logs.close()
  // A broker that is killed while it removes a topic leaves this state.
  const { version } = (await room.store.load('catalogue', 'topics'))!
  await room.store.commit({
    kind: 'catalogue',
    name: 'topics',
    expect: version,
    changes: [{ key: 'topic:b', value: null }],
  })
  await room.store.remove([streamId(topicId, 0)])
  room = await openRoom(open, TRAINED)
  while ((await left()) !== 0) await sleep(systemClock, 1)
})

/** A sealed batch with one changed byte and a matching checksum. */
function rewritten(sealed: Buffer, at: number, value: number): Buffer {
  const bytes = Buffer.from(sealed)
  bytes[at] = value
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}
