// Looks that begin at once. unpacking.longer.test.ts tests the limits of all looks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { batchWith } from '../../testing/poison.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf } from '../../testing/sim/logs.ts'
import { LoopShare } from '../base/loop-share.ts'
import { ENDLESS, patience } from '../base/patience.ts'
import { codecs } from '../protocol/compression.ts'
import { isRefusal, REQUEST_TIMED_OUT } from '../protocol/errors.ts'
import { type BatchView, InvalidRecords, MAX_UNPACKED_BYTES, viewBatch } from '../protocol/records.ts'
import { type Look, Unpacking } from './unpacking.ts'

function openLooks(clock = new SimulatedClock()) {
  const unpacking = new Unpacking(clock)
  const share = new LoopShare(clock, 1)
  const soon = <T>(batch: BatchView, use: (look: Look) => T | Promise<T>, limit = ENDLESS) =>
    unpacking.lookSoon(batch, limit, share, use)
  return { clock, unpacking, share, soon }
}

const count = ({ walk }: Look) => {
  let records = 0
  while (walk.next()) records++
  return records
}

const packed = (bytes: number, compression: (typeof codecs)[number]) =>
  batchOf([{ value: Buffer.alloc(bytes, 'x') }], { compression })

test('a small batch of each codec is looked into at once, and its memory is free afterwards', () => {
  const { soon, unpacking } = openLooks()
  for (const compression of codecs) {
    assert.equal(
      soon(packed(100_000, compression), look => {
        assert.ok(compression === 'none' ? look.unpackedBytes === 0 : look.unpackedBytes > 100_000)
        assert.equal(unpacking.heldBytes > 0, compression !== 'none')
        return count(look) + count({ ...look, walk: look.again() })
      }),
      2,
      compression,
    )
    assert.equal(unpacking.heldBytes, 0)
  }
})

test('a batch that unpacks to more is looked into later, and so is one without free memory or a free turn', async () => {
  const { soon, unpacking, share } = openLooks()
  const large = soon(packed(200_000, 'gzip'), count)
  assert.ok(large instanceof Promise)
  assert.equal(await large, 1)

  const { promise, resolve } = Promise.withResolvers<void>()
  const holding = unpacking.look(packed(MAX_UNPACKED_BYTES - 1_000, 'zstd'), unpacking.looker(ENDLESS), () => promise)
  while (unpacking.heldBytes < MAX_UNPACKED_BYTES - 1_000) await new Promise(setImmediate)
  const without = soon(packed(10, 'gzip'), count)
  assert.ok(without instanceof Promise)
  await new Promise(setImmediate)
  assert.equal(soon(packed(10, 'none'), count), 1, 'it needs no memory')
  resolve()
  await holding
  assert.equal(await without, 1)

  void share.turn()
  const behind = soon(packed(10, 'none'), count)
  assert.ok(behind instanceof Promise)
  assert.equal(await behind, 1)
  assert.equal(unpacking.heldBytes, 0)
})

test('memory is free again after a look that waits, throws or cannot unpack', async () => {
  const { soon, unpacking } = openLooks()
  const { promise, resolve } = Promise.withResolvers<number>()
  const waiting = soon(packed(10, 'lz4'), () => promise)
  assert.ok(unpacking.heldBytes > 0)
  resolve(5)
  assert.equal(await waiting, 5)
  const failed = new Error('failed')
  const fails = () => {
    throw failed
  }
  assert.throws(() => soon(packed(10, 'zstd'), fails), failed)
  await assert.rejects(async () => soon(packed(10, 'zstd'), async () => fails()), failed)
  const broken = (payload: Buffer) =>
    viewBatch(batchWith(payload, { codec: 'gzip', count: 1, baseTimestamp: 0, maxTimestamp: 0 }))
  assert.throws(() => soon(broken(Buffer.from('no gzip')), count), InvalidRecords)
  await assert.rejects(async () => soon(broken(gzipSync(Buffer.alloc(MAX_UNPACKED_BYTES + 1))), count), InvalidRecords)
  assert.equal(unpacking.heldBytes, 0)
})

test('a look ends with the patience of its caller, before it begins and between its steps', async () => {
  const { soon, clock } = openLooks()
  const limit = patience(clock, clock.monotonic() + 100)
  const ended = await soon(
    batchOf(1_000),
    async ({ walk, step }) => {
      await clock.advance(100)
      for (;;) {
        const others = step()
        if (others !== undefined) await others
        if (!walk.next()) return null
      }
    },
    limit,
  )
  assert.ok(isRefusal(ended) && ended.code === REQUEST_TIMED_OUT.code)
  const late = soon(batchOf(1), count, limit)
  assert.ok(isRefusal(late) && late.code === REQUEST_TIMED_OUT.code)
})
