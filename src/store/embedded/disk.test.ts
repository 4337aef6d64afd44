import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { realDisk } from './disk.ts'

test('short reads run on this thread until one waits for the disk, and then in the pool for a while', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-disk-'))
  t.after(() => rmSync(folder, { recursive: true }))
  let nowMs = 0
  /** The milliseconds that each read of the clock adds. A call takes the time between two reads. */
  let stepMs = 0
  let blocks = 0
  let stepBlocks = 0
  const disk = realDisk({ ...systemClock, monotonic: () => (nowMs += stepMs) }, () => (blocks += stepBlocks))
  const file = await disk.open(join(folder, 'file'), true)
  t.after(() => file.close())
  await file.write([Buffer.from('0123456789')], 0)

  const two = Buffer.alloc(2)
  assert.equal(file.readHere(two, 3), 2)
  assert.equal(String(two), '34')
  assert.equal(file.readHere(two, 9), 1, 'fewer at the end of the file')
  assert.equal(file.readHere(Buffer.alloc((1 << 20) + 1), 0), null, 'a long one is the pool’s')

  stepBlocks = 8
  assert.equal(file.readHere(two, 0), 2)
  assert.equal(file.readHere(two, 0), 2, 'a quick disk is no reason')
  stepBlocks = 0
  stepMs = 3
  assert.equal(file.readHere(two, 0), 2)
  assert.equal(file.readHere(two, 0), 2, 'the disk was not asked')
  stepBlocks = 8
  assert.equal(file.readHere(two, 0), 2)
  stepMs = 0
  assert.equal(file.readHere(two, 5), null)
  assert.equal(String(two), '01', 'nothing was read')
  assert.equal(await file.read(two, 5), 2)
  assert.equal(String(two), '56')
  nowMs += 1_000
  assert.equal(file.readHere(two, 7), 2)
  assert.equal(String(two), '78')
})
