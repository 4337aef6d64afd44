import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { DAY_MS } from '../columns/data-file.ts'
import { dueJobs, piecesOf, planFiles, SizeRatios, waitsForNeighbours } from './file-plan.ts'
import { newJob } from './jobs.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const MINUTE_MS = 60_000

const job = (partition: number, base: number, bytes = 10, sealedAtMs = NOON, createdAtMs = sealedAtMs) =>
  newJob(
    {
      ...{ topicId: 'topic', topicName: 'orders', partition, base, next: base + 10, maxAttempts: 3 },
      ...{ bytes: bytes * 2, plainBytes: bytes, sealedAtMs },
    },
    createdAtMs,
  )
const placesOf = (files: readonly (readonly { partition: number; base: number }[])[]) =>
  files.map(file => file.map(({ partition, base }) => `${partition}:${base}`).join(' '))

test('neighbours of a partition and a day share a file up to the target', () => {
  const jobs = [job(1, 0), job(0, 20), job(0, 0), job(0, 10), job(0, 40), job(0, 50, 10, NOON + DAY_MS)]
  const files = (targetFileBytes: number, ratio = 1) => placesOf(planFiles(jobs, { targetFileBytes, ratio }))
  assert.deepEqual(files(1_000), ['0:0 0:10 0:20', '0:40', '0:50', '1:0'])
  assert.deepEqual(files(20), ['0:0 0:10', '0:20', '0:40', '0:50', '1:0'])
  assert.deepEqual(files(20, 0.5), ['0:0 0:10 0:20', '0:40', '0:50', '1:0'])
  assert.deepEqual(files(5), ['0:0', '0:10', '0:20', '0:40', '0:50', '1:0'])
  assert.deepEqual(planFiles([], { targetFileBytes: 1, ratio: 1 }), [])
})

test('stored bytes count where the bytes of clients are not known', () => {
  const jobs = [{ ...job(0, 0), plainBytes: null }, job(0, 10)]
  assert.equal(planFiles(jobs, { targetFileBytes: 29, ratio: 1 }).length, 2)
  assert.equal(planFiles(jobs, { targetFileBytes: 30, ratio: 1 }).length, 1)
})

test('only a segment that is larger than the target is cut', () => {
  const pieces = (targetFileBytes: number, ...jobs: Parameters<typeof piecesOf>[0]) =>
    piecesOf(jobs, { targetFileBytes, ratio: 0.5 })
  assert.equal(pieces(50, job(0, 0, 100)), 1)
  assert.equal(pieces(49, job(0, 0, 100)), 2)
  assert.equal(pieces(10, job(0, 0, 100)), 5)
  assert.equal(pieces(1, job(0, 0, 100)), 10, 'no more than it has offsets')
  assert.equal(pieces(10, job(0, 0, 100), job(0, 10, 100)), 1)
})

test('every segment is in exactly one file, and a file has no gap', () => {
  const segments = fc.uniqueArray(fc.record({ partition: fc.nat({ max: 2 }), at: fc.nat({ max: 9 }) }), {
    selector: ({ partition, at }) => `${partition}:${at}`,
  })
  fc.assert(
    fc.property(segments, fc.integer({ min: 1, max: 60 }), (places, targetFileBytes) => {
      const jobs = places.map(({ partition, at }) => job(partition, at * 10))
      const files = planFiles(jobs, { targetFileBytes, ratio: 1 })
      assert.deepEqual(new Set(files.flat()), new Set(jobs))
      assert.equal(files.flat().length, jobs.length)
      for (const file of files) {
        for (const [i, each] of file.entries()) {
          if (i === 0) continue
          assert.equal(each.base, file[i - 1]!.next)
          assert.equal(each.partition, file[0]!.partition)
        }
        assert.ok(file.length === 1 || file.length * 10 <= targetFileBytes)
      }
    }),
  )
})

const LIMITS = { targetFileBytes: 100, ratio: 1, maxFileWaitMs: 10 * MINUTE_MS }

test('a small segment waits for neighbours, but not longer than it may', () => {
  const waits = (atMs: number, isLast = true, jobs = [job(0, 0)]) => waitsForNeighbours(jobs, isLast, atMs, LIMITS)
  assert.equal(waits(NOON), true)
  assert.equal(waits(NOON + 10 * MINUTE_MS - 1), true)
  assert.equal(waits(NOON + 10 * MINUTE_MS), false)
  assert.equal(waits(NOON, false), false, 'a sealed segment follows that cannot share the file')
  assert.equal(waits(NOON + 5 * MINUTE_MS, true, [job(0, 0), job(0, 10, 10, NOON + 4 * MINUTE_MS)]), true)
  assert.equal(waits(NOON, true, [job(0, 0, 51)]), false, 'no other segment as large would fit')
  assert.equal(waits(NOON, true, [job(0, 0, 50)]), true)
  const late = Date.UTC(2026, 10, 20, 23, 59)
  assert.equal(waits(late, true, [job(0, 0, 10, late)]), true)
  assert.equal(waits(late + 2 * MINUTE_MS, true, [job(0, 0, 10, late)]), false, 'the day of the file is over')
  assert.equal(waitsForNeighbours([], true, NOON, LIMITS), false)
})

test('the clock of another broker does not make a segment wait longer', () => {
  const hour = 60 * MINUTE_MS
  const ahead = job(0, 0, 10, NOON + hour, NOON)
  assert.equal(waitsForNeighbours([ahead], true, NOON + 9 * MINUTE_MS, LIMITS), true)
  assert.equal(waitsForNeighbours([ahead], true, NOON + 10 * MINUTE_MS, LIMITS), false)
  const behind = job(0, 0, 10, NOON - hour, NOON)
  assert.equal(waitsForNeighbours([behind], true, NOON, LIMITS), false)
})

test('due are full files, files that waited, and jobs that were attempted before', () => {
  const jobs = [job(0, 0, 60), job(0, 10, 60), job(1, 0), job(2, 0), { ...job(3, 0), attempts: 1 }]
  const ends = new Map([
    [0, 20],
    [1, 10],
    [2, 30],
    [3, 10],
  ])
  const due = (atMs: number) => placesOf([dueJobs(jobs, ends, atMs, LIMITS)])
  assert.deepEqual(due(NOON), ['0:0 0:10 2:0 3:0'])
  assert.deepEqual(due(NOON + 10 * MINUTE_MS), ['0:0 0:10 1:0 2:0 3:0'])
})

test('the size of a file is estimated by the files before it, and never too small at first', () => {
  const ratios = new SizeRatios()
  assert.ok(ratios.of('a') >= 1.5)
  ratios.learn('a', 1_000, 300)
  const first = ratios.of('a')
  assert.ok(first > 0.3 && first < 0.4)
  ratios.learn('a', 1_000, 900)
  assert.ok(ratios.of('a') > 0.9, 'a larger file counts at once')
  ratios.learn('a', 1_000, 300)
  assert.ok(ratios.of('a') > 0.6, 'a smaller one bit by bit')
  ratios.learn('a', 10, 5_000)
  assert.equal(ratios.of('a'), ratios.of('b'), 'the footer of a tiny file counts no more than the limit')
  ratios.learn('b', 0, 10)
  assert.equal(ratios.of('b'), ratios.of('c'))
})
