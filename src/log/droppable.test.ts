import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { droppableBefore, type RetentionConfigs } from './droppable.ts'

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
function logOf(parts: readonly Part[], archivedTo: number | null = null) {
  const chunks = parts.map(({ bytes, newestMs, isKnown = true }, i) => ({
    next: 10 * i + 10,
    bytes,
    newestMs,
    isKnown,
  }))
  return { start: 0, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), chunks, archivedTo }
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
  assert.equal(droppableBefore(logOf(THREE), local, 9_000), 0, 'without a remote tier')
  assert.equal(droppableBefore(logOf(THREE, 0), local, 9_000), 0)
  assert.equal(droppableBefore(logOf(THREE, 29), local, 9_000), 20)
  assert.equal(droppableBefore(logOf(THREE, 30), { ...FOREVER, localRetentionBytes: 150 }, 9_000), 10)
  assert.equal(droppableBefore(logOf(THREE, 10), { ...local, retentionMs: 7_000 }, 9_000), 10)
  assert.equal(droppableBefore(logOf(THREE, 10), { ...local, retentionMs: 6_500 }, 9_000), 20)
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
        const log = logOf(parts, archivedTo)
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
        assert.equal(droppableBefore(log, all, nowMs), expected)
      },
    ),
  )
})
