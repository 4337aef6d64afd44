import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { type RollConfigs, type Segment, segmentEnds, segmentOf, withCleaned } from './segments.ts'
import { type Chunk, TimeIndex } from './time-index.ts'

const HOUR = 60 * 60_000
const KEEP: RollConfigs = { cleanupPolicy: ['delete'], retentionMs: -1, segmentBytes: 1_000, segmentMs: HOUR }

/** Returns the chunks of a log in which each batch of one record is a chunk. The open chunk is empty. */
function chunksOf(...batches: readonly { bytes: number; timestamp?: number; atMs?: number }[]): readonly Chunk[] {
  const index = new TimeIndex()
  for (const [i, { bytes, timestamp = 0, atMs = 0 }] of batches.entries()) {
    const batch = { nextOffset: i + 1, recordCount: 1, maxTimestamp: timestamp, bytes: Buffer.alloc(2 * bytes) }
    index.add(batch, bytes, timestamp, atMs)
    index.seal(0)
  }
  return index.chunks
}

function logOf(chunks: readonly Chunk[], activeFrom = 0, highWatermark = Number.POSITIVE_INFINITY) {
  return { activeFrom, highWatermark, chunks, epochs: [{ epoch: 1, startOffset: 0 }] }
}

test('a segment ends with the chunk with which it reaches segment.bytes, and the rest stays active', () => {
  const chunks = chunksOf(...[400, 400, 400, 1_000, 999].map(bytes => ({ bytes })))
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, 0), [3, 4])
  assert.deepEqual(segmentEnds(logOf(chunks, 3), KEEP, 0), [4])
  assert.deepEqual(segmentEnds(logOf(chunks, 4), KEEP, 0), [])
})

test('nothing above the high watermark is sealed', () => {
  const chunks = chunksOf({ bytes: 1_000 }, { bytes: 1_000 }, { bytes: 1_000 })
  assert.deepEqual(segmentEnds(logOf(chunks, 0, 2), KEEP, 0), [1, 2])
  assert.deepEqual(segmentEnds(logOf(chunks, 0, 1.5), KEEP, 2 * HOUR), [1])
})

test('the active segment is sealed when its first append is segment.ms ago', () => {
  const chunks = chunksOf({ bytes: 10, timestamp: HOUR, atMs: 1_000 }, { bytes: 10, atMs: HOUR })
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, HOUR + 999), [])
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, HOUR + 1_000), [2])
})

test('a first append that is far in the future does not hold a segment open', () => {
  const chunks = chunksOf({ bytes: 10, atMs: 3 * HOUR })
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, 3 * HOUR - 1), [])
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, 2 * HOUR), [1])
})

test('if the first append is unknown, the time that retention uses stands in', () => {
  const chunks = chunksOf({ bytes: 10, timestamp: 5_000, atMs: 9_000 }).map(chunk => ({
    ...chunk,
    firstAppendMs: null,
  }))
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, HOUR + 4_999), [])
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, HOUR + 5_000), [1])
})

test('the active segment is sealed when its newest record has passed retention.ms, unless the topic is only compacted', () => {
  const chunks = chunksOf({ bytes: 10, timestamp: 1_000, atMs: 1_000 }, { bytes: 10, timestamp: 2_000, atMs: 2_000 })
  const configs: RollConfigs = { ...KEEP, retentionMs: 5_000 }
  assert.deepEqual(segmentEnds(logOf(chunks), configs, 7_000), [])
  assert.deepEqual(segmentEnds(logOf(chunks), configs, 7_001), [2])
  assert.deepEqual(segmentEnds(logOf(chunks, 0, 1), configs, 7_001), [], 'a newer record above the high watermark')
  assert.deepEqual(segmentEnds(logOf(chunks), { ...configs, cleanupPolicy: ['compact'] }, 7_001), [])
})

test('max.compaction.lag.ms seals the active segment of a compacted topic earlier than segment.ms', () => {
  const chunks = chunksOf({ bytes: 10, atMs: 1_000 })
  const configs: RollConfigs = { ...KEEP, cleanupPolicy: ['compact'], maxCompactionLagMs: 500 }
  assert.deepEqual(segmentEnds(logOf(chunks), configs, 1_499), [])
  assert.deepEqual(segmentEnds(logOf(chunks), configs, 1_500), [1])
  assert.deepEqual(segmentEnds(logOf(chunks), { ...configs, cleanupPolicy: ['delete'] }, 1_500), [])
})

test('a chunk that is not learned yet ends the search, and a part without batches is never sealed alone', () => {
  const chunks = chunksOf({ bytes: 10 }, { bytes: 1_000 }).map((chunk, i) => ({ ...chunk, isKnown: i !== 1 }))
  assert.deepEqual(segmentEnds(logOf(chunks), KEEP, 0), [])
  const empty = chunksOf({ bytes: 0 }, { bytes: 0 })
  assert.deepEqual(segmentEnds(logOf(empty), KEEP, 2 * HOUR), [])
})

test('a segment has the sums of its chunks and the epochs that own its offsets; what a chunk does not know is null', () => {
  const chunks = chunksOf(
    { bytes: 10, timestamp: 70, atMs: 100 },
    { bytes: 20, timestamp: 90, atMs: 200 },
    { bytes: 30, timestamp: 80, atMs: 300 },
  )
  const epochs = [0, 1, 2, 3].map(offset => ({ epoch: offset + 5, startOffset: offset }))
  const segment = segmentOf({ ...logOf(chunks), epochs }, 1, 3, 999)
  assert.deepEqual(segment, {
    base: 1,
    next: 3,
    sealedAtMs: 999,
    bytes: 50,
    plainBytes: 100,
    batches: 2,
    records: 2,
    minTimestamp: 80,
    maxTimestamp: 90,
    firstAppendMs: 200,
    lastAppendMs: 300,
    epochs: [
      { epoch: 6, startOffset: 1 },
      { epoch: 7, startOffset: 2 },
    ],
    cleanedAtMs: null,
  })
  const older = chunks.map((chunk, i) => (i === 1 ? { ...chunk, records: null, firstAppendMs: null } : chunk))
  const { records, firstAppendMs, batches } = segmentOf(logOf(older), 0, 3, 999)
  assert.deepEqual([records, firstAppendMs, batches], [null, null, 3])
})

test('in every history, segments are runs of chunks without gaps that end below the high watermark', () => {
  const batch = fc.record({ bytes: fc.integer({ min: 0, max: 1_500 }), timestamp: fc.nat(9_000), atMs: fc.nat(9_000) })
  fc.assert(
    fc.property(
      fc.array(batch, { maxLength: 30 }),
      fc.nat(30),
      fc.nat(9_000),
      fc.nat(9_000),
      (batches, limit, ms, now) => {
        const chunks = chunksOf(...batches)
        const configs = { ...KEEP, segmentMs: ms, retentionMs: ms }
        const ends = segmentEnds(logOf(chunks, 0, limit), configs, now)
        let base = 0
        for (const next of ends) {
          assert(next > base && next <= limit && chunks.some(chunk => chunk.next === next))
          const { bytes } = segmentOf(logOf(chunks), base, next, 0)
          const last = chunks.findLast(chunk => chunk.next === next && chunk.bytes > 0)!
          assert(bytes - last.bytes < configs.segmentBytes, 'exact to one chunk')
          base = next
        }
        const again = segmentEnds(logOf(chunks, base, limit), configs, now)
        assert.deepEqual(again, [], 'what is left stays active')
      },
    ),
  )
})

test('cleaned segments are joined up to segment.bytes, and later ones stay as they are', () => {
  const log = logOf(chunksOf(...[300, 300, 300, 900, 50, 700].map(bytes => ({ bytes }))))
  const segments = [0, 1, 2, 3, 4, 5].map(base => segmentOf(log, base, base + 1, 100 + base))
  const shown = (cleanedTo: number) =>
    withCleaned(log, segments, { cleanedTo, segmentBytes: 1_000, nowMs: 7 })?.map(
      ({ base, next, bytes, sealedAtMs, cleanedAtMs }) => [base, next, bytes, sealedAtMs, cleanedAtMs],
    )
  assert.equal(shown(0), undefined)
  assert.deepEqual(shown(5), [
    [0, 3, 900, 102, 7],
    [3, 5, 950, 104, 7],
    [5, 6, 700, 105, null],
  ])
})

test('however cleaned chunks lie, joined segments follow each other and have all bytes and epochs', () => {
  const sizes = fc.array(fc.nat(1_500), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(sizes, fc.nat(20), fc.nat(20), (bytes, cleanedTo, secondEpoch) => {
      const epochs = [
        { epoch: 1, startOffset: 0 },
        { epoch: 2, startOffset: secondEpoch },
      ]
      const log = { ...logOf(chunksOf(...bytes.map(size => ({ bytes: size })))), epochs }
      const segments = bytes.map((_, base) => segmentOf(log, base, base + 1, 0))
      const joined = withCleaned(log, segments, { cleanedTo, segmentBytes: 1_000, nowMs: 7 }) ?? segments
      const sum = (list: readonly Segment[]) => list.reduce((before, each) => before + each.bytes, 0)
      assert.equal(sum(joined), sum(segments))
      assert.deepEqual([joined[0]!.base, joined.at(-1)!.next], [0, bytes.length])
      for (const [i, { base, next, bytes: size, cleanedAtMs, epochs: own }] of joined.entries()) {
        assert.equal(base, joined[i - 1]?.next ?? 0)
        if (cleanedAtMs !== null)
          assert.ok(size <= 1_000 || bytes.slice(base, next).filter(each => each > 0).length === 1)
        assert.deepEqual(own, segmentOf(log, base, next, 0).epochs)
      }
    }),
  )
})

test('a log with thousands of segments is cut anew without a walk over the whole log for each of them', () => {
  let looks = 0
  const chunks = chunksOf(...Array.from({ length: 4_000 }, () => ({ bytes: 100 }))).map(chunk => ({
    ...chunk,
    get from() {
      looks++
      return chunk.from
    },
  }))
  const log = logOf(chunks)
  const segments = Array.from({ length: 400 }, (_, i) => segmentOf(log, 10 * i, 10 * i + 10, 0))
  const cleaned = withCleaned(log, segments, { cleanedTo: 4_000, segmentBytes: 1_000, nowMs: 7 })!
  assert.deepEqual([cleaned.length, cleaned[399]!.bytes], [400, 1_000])
  assert.ok(looks < 8 * chunks.length, `${looks} looks at ${chunks.length} chunks`)
})
