// Records are found by their times over all files of a partition, as a plain search finds them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveWorld, PLACE, plainBatch } from '../../../testing/archive-table.ts'
import { systemClock } from '../../base/clock.ts'
import { ENDLESS, patience } from '../../base/patience.ts'

const BASE = 1_700_000_000_000

test('the first record since a time and the largest time are found over files, within the offsets asked for', async t => {
  const { add, archive, taken } = await archiveWorld(t)
  // Times of the files: 0…9, 100…109, 50…59 and 100…109 again.
  for (const [file, time] of [0, 100, 50, 100].entries())
    await add([plainBatch(file * 10, 10, 20, BASE + time)], {}, { next: file * 10 + 10 })
  const first = async (time: number, from = 0, until = 40) => {
    const found = await archive.firstSince(PLACE, BASE + time, from, until, ENDLESS)
    return found !== null && 'offset' in found ? [found.offset, found.timestamp - BASE] : found
  }
  const largest = async (from = 0, until = 40) => {
    const found = await archive.largest(PLACE, from, until, ENDLESS)
    return found !== null && 'offset' in found ? [found.offset, found.timestamp - BASE] : found
  }
  assert.deepEqual(await first(0), [0, 0])
  assert.deepEqual(await first(7), [7, 7])
  assert.deepEqual(await first(10), [10, 100])
  assert.deepEqual(await first(10, 20), [20, 50])
  assert.deepEqual(await first(60, 20), [30, 100])
  assert.deepEqual(await first(60, 20, 30), null)
  assert.deepEqual(await first(105, 0, 15), null)
  assert.deepEqual(await first(110), null)
  assert.deepEqual(await largest(), [19, 109])
  assert.deepEqual(await largest(20), [39, 109])
  assert.deepEqual(await largest(20, 35), [34, 104])
  assert.deepEqual(await largest(20, 30), [29, 59])
  assert.deepEqual(await largest(40, 50), null)
  taken()
  await first(200)
  assert.deepEqual(taken(), [], 'the bounds of the files are enough')
})

test('a search sees offsets that were archived out of turn, and a table that does not exist has no answer', async t => {
  const { add, archive } = await archiveWorld(t)
  await add([plainBatch(0, 10)])
  await add([plainBatch(20, 10)])
  const ask = () => archive.firstSince(PLACE, BASE + 10, 0, 30, ENDLESS)
  assert.equal(((await ask()) as { offset: number }).offset, 20)
  await add([plainBatch(10, 10)])
  archive.refresh(PLACE.topicId)
  assert.equal(((await ask()) as { offset: number }).offset, 10)
  const { archive: other } = await archiveWorld(t, { locationOf: () => 'default/other-AAAAAAAAAAAAAAAAAAAAAg' })
  for (const found of [await other.firstSince(PLACE, 0, 0, 10, ENDLESS), await other.largest(PLACE, 0, 10, ENDLESS)])
    assert.ok(found !== null && 'kind' in found && found.kind === 'damaged')
})

test('a search ends when its caller no longer waits, and its answer says so', async t => {
  const hold = Promise.withResolvers<void>()
  const world = await archiveWorld(t, { threads: 1, queueCapacity: 0 }, { before: () => hold.promise })
  await world.add([plainBatch(0, 10)])
  const late = await world.archive.firstSince(PLACE, BASE, 0, 10, patience(systemClock, systemClock.monotonic() + 20))
  assert.deepEqual(late, { kind: 'late' })
  assert.deepEqual(await world.archive.largest(PLACE, 0, 10, ENDLESS), { kind: 'busy' })
  hold.resolve()
})
