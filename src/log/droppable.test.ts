import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { type AgeingPart, droppableBefore, droppableOfTiers, type RetentionConfigs } from './droppable.ts'

const FOREVER: RetentionConfigs = {
  cleanupPolicy: ['delete'],
  retentionMs: -1,
  retentionBytes: -1,
  localRetentionMs: -2,
  localRetentionBytes: -2,
}

interface Part {
  readonly bytes: number
  readonly newestMs: number
  readonly isKnown?: boolean
}

/** Returns a log whose chunks have ten offsets each. */
function logOf(parts: readonly Part[]) {
  const chunks = parts.map(({ bytes, newestMs, isKnown = true }, i) => ({
    next: 10 * i + 10,
    bytes,
    newestMs,
    isKnown,
  }))
  return { start: 0, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), chunks }
}

/** Returns the local start of a log of which all is local; it is archived up to an offset. Null: no remote tier. */
function localStartOf(
  parts: readonly Part[],
  archivedTo: number | null,
  configs: RetentionConfigs,
  nowMs: number,
): number {
  const log = logOf(parts)
  if (archivedTo === null) return droppableBefore(log, configs, nowMs)
  return droppableOfTiers({ whole: log, local: log, archivedTo }, configs, nowMs).localStart
}

const THREE = [
  { bytes: 100, newestMs: 1_000 },
  { bytes: 100, newestMs: 2_000 },
  { bytes: 100, newestMs: 3_000 },
]

test('leading chunks older than retention.ms are dropped', () => {
  const before = (nowMs: number) => droppableBefore(logOf(THREE), { ...FOREVER, retentionMs: 500 }, nowMs)
  assert.deepEqual([1_500, 1_501, 2_501, 9_000].map(before), [0, 10, 20, 30])
})

test('leading chunks without which the log has retention.bytes are dropped', () => {
  const before = (retentionBytes: number) => droppableBefore(logOf(THREE), { ...FOREVER, retentionBytes }, 0)
  assert.deepEqual([300, 201, 200, 199, 0].map(before), [0, 0, 10, 10, 30])
})

test('compact alone never drops, compact,delete does', () => {
  const configs = { ...FOREVER, retentionMs: 0, retentionBytes: 0 }
  assert.equal(droppableBefore(logOf(THREE), { ...configs, cleanupPolicy: ['compact'] }, 9_000), 0)
  assert.equal(droppableBefore(logOf(THREE), { ...configs, cleanupPolicy: ['compact', 'delete'] }, 9_000), 30)
})

test('a chunk that is not learned yet ends the search', () => {
  const parts = THREE.map((part, i) => ({ ...part, isKnown: i !== 1 }))
  assert.equal(droppableBefore(logOf(parts), { ...FOREVER, retentionMs: 0, retentionBytes: 0 }, 9_000), 10)
})

test('the local limits drop only what is archived; the limits of the whole log drop the rest too', () => {
  const local = { ...FOREVER, localRetentionMs: 500 }
  assert.equal(localStartOf(THREE, null, local, 9_000), 0, 'without a remote tier')
  assert.equal(localStartOf(THREE, 0, local, 9_000), 0)
  assert.equal(localStartOf(THREE, 29, local, 9_000), 20)
  assert.equal(localStartOf(THREE, 30, { ...FOREVER, localRetentionBytes: 150 }, 9_000), 10)
  assert.equal(localStartOf(THREE, 10, { ...local, retentionMs: 7_000 }, 9_000), 10)
  assert.equal(localStartOf(THREE, 10, { ...local, retentionMs: 6_500 }, 9_000), 20)
  assert.equal(
    localStartOf(THREE, 30, { ...local, cleanupPolicy: [] }, 9_000),
    30,
    'an empty policy drops local copies',
  )
})

test('the limits of the whole log count both tiers, and drop the oldest data wherever it is', () => {
  const { chunks, bytes } = logOf(THREE)
  const at = (next: number, newestMs: number): AgeingPart => ({ next: next - 20, bytes: 100, newestMs, isKnown: true })
  const cold = [at(10, 100), at(20, 200)]
  const local = { start: 0, bytes, chunks }
  const log = { whole: { start: -20, bytes: bytes + 200, chunks: [...cold, ...chunks] }, local, archivedTo: 10 }
  const moves = (configs: Partial<RetentionConfigs>, nowMs = 0) =>
    Object.values(droppableOfTiers(log, { ...FOREVER, ...configs }, nowMs))
  assert.deepEqual(moves({ retentionBytes: 500 }), [-20, 0])
  assert.deepEqual(moves({ retentionBytes: 400, localRetentionBytes: 300 }), [-10, 0])
  assert.deepEqual(moves({ retentionBytes: 200, localRetentionBytes: 200 }), [10, 10])
  assert.deepEqual(moves({ retentionBytes: 100, localRetentionBytes: 100 }), [20, 20], 'also what is not archived')
  assert.deepEqual(moves({ retentionBytes: 500, localRetentionBytes: 0 }), [-20, 10])
  assert.deepEqual(moves({ retentionMs: 1_000 }, 1_150), [-10, 0])
  assert.deepEqual(moves({ retentionMs: 5_000, localRetentionMs: 1_000 }, 7_500), [20, 20])
  assert.deepEqual(moves({ cleanupPolicy: [], retentionBytes: 0, localRetentionBytes: 0 }), [-20, 10])
})

test('random histories end as in a plain model that drops one chunk after the other', () => {
  const part = fc.record({ bytes: fc.nat(3), newestMs: fc.nat(20) })
  const limit = fc.integer({ min: -1, max: 20 })
  const configs = fc.record({
    retentionMs: limit,
    retentionBytes: limit,
    localRetentionMs: fc.integer({ min: -2, max: 20 }),
    localRetentionBytes: fc.integer({ min: -2, max: 20 }),
  })
  const archived = fc.option(fc.nat(200))
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 12 }),
      configs,
      archived,
      fc.nat(40),
      (parts, limits, archivedTo, nowMs) => {
        const all = { ...FOREVER, ...limits }
        const log = logOf(parts)
        const mayGo = (bytes: number, newestMs: number, rest: number, mostMs: number, mostBytes: number) =>
          (mostMs >= 0 && newestMs < nowMs - mostMs) || (mostBytes >= 0 && rest - bytes >= mostBytes)
        const end = (mostMs: number, mostBytes: number, to: number) => {
          let rest = log.bytes
          let start = 0
          for (const { next, bytes, newestMs } of log.chunks) {
            if (next > to || !mayGo(bytes, newestMs, rest, mostMs, mostBytes)) return start
            rest -= bytes
            if (bytes > 0) start = next
          }
          return start
        }
        const localMs = all.localRetentionMs === -2 ? all.retentionMs : all.localRetentionMs
        const localBytes = all.localRetentionBytes === -2 ? all.retentionBytes : all.localRetentionBytes
        const total = end(all.retentionMs, all.retentionBytes, Number.POSITIVE_INFINITY)
        const expected = archivedTo === null ? total : Math.max(total, end(localMs, localBytes, archivedTo))
        assert.equal(localStartOf(parts, archivedTo, all, nowMs), expected)
      },
    ),
  )
})
