// A table that is older than it was known to be hides no records: readers get an error, not the next local record.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveWorld, PLACE, plainBatch } from '../../../testing/archive-table.ts'
import { LOCATION } from '../../../testing/iceberg-table.ts'
import { ENDLESS } from '../../base/patience.ts'

test('a place that has lost a table that was noticed is damaged for each reader, before and after it was loaded', async t => {
  const { add, archive, memory, read } = await archiveWorld(t, { cacheBytes: 0, noticed: () => 3 })
  await add([plainBatch(0, 10)])
  await add([plainBatch(10, 10)])
  assert.equal((await read(0, 1)).kind, 'read')
  const kept: [string, Uint8Array][] = []
  for await (const { key } of memory.list(`${LOCATION}/`)) kept.push([key, (await memory.read(key))!])
  await memory.delete(kept.map(([key]) => key))
  // The part of offset 0 may still be in memory.
  for (let i = 0; i < 4; i++) assert.equal((await read(10)).kind, 'damaged', `read ${i}`)
  const found = await archive.firstSince(PLACE, 0, 0, 20, ENDLESS)
  assert.ok(found !== null && 'kind' in found && found.kind === 'damaged')
  const last = await archive.largest(PLACE, 0, 20, ENDLESS)
  assert.ok(last !== null && 'kind' in last && last.kind === 'damaged')
  for (const [key, bytes] of kept) await memory.write(key, bytes)
  // Without a notice readers see it within a second.
  archive.refresh(PLACE.topicId)
  assert.equal((await read(10)).kind, 'read')
})

test('an older version of a noticed table serves what it has, and is damaged where it has nothing', async t => {
  const { add, archive, read } = await archiveWorld(t, { noticed: () => 3 })
  await add([plainBatch(0, 10)])
  assert.equal((await read(0)).kind, 'read')
  const beyond = await read(10)
  assert.equal(beyond.kind, 'damaged')
  assert.match('why' in beyond ? beyond.why : '', /has version 2 of the table, and it had version 3$/)
  await add([plainBatch(10, 10)])
  archive.refresh(PLACE.topicId)
  assert.equal((await read(10)).kind, 'read')
  assert.equal((await read(20)).kind, 'nothing')
})
