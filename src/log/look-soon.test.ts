// Looks that begin at once. unpacking.longer.test.ts tests the limits of all looks.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
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
    unpacking.lookSoon(batch, { patience: limit, turn: share.turn }, use)
  return { clock, unpacking, soon }
}

const count = ({ walk }: Look) => {
  let records = 0
  while (walk.next()) records++
  return records
}

const packed = (bytes: number, compression: (typeof codecs)[number]) =>
  batchOf([{ value: Buffer.alloc(bytes, 'x') }], { compression })

test('a small batch of each codec is looked into at once, also while others hold all the memory', async () => {
  const { soon, unpacking } = openLooks()
  const { promise, resolve } = Promise.withResolvers<void>()
  const holding = unpacking.look(packed(MAX_UNPACKED_BYTES - 1_000, 'zstd'), unpacking.looker(ENDLESS), () => promise)
  while (unpacking.heldBytes < MAX_UNPACKED_BYTES - 1_000) await new Promise(setImmediate)
  for (const compression of codecs) {
    const records = soon(packed(100_000, compression), look => {
      assert.ok(compression === 'none' ? look.unpackedBytes === 0 : look.unpackedBytes > 100_000)
      return count(look) + count({ ...look, walk: look.again() })
    })
    assert.equal(records, 2, compression)
  }
  resolve()
  await holding
  assert.equal(unpacking.heldBytes, 0)
})

test('a batch that is large when packed or unpacked is not', () => {
  const { soon } = openLooks()
  for (const compression of codecs.filter(codec => codec !== 'none')) {
    assert.equal(soon(packed(200_000, compression), count), null, compression)
  }
  assert.equal(soon(batchOf([{ value: randomBytes(40_000) }], { compression: 'gzip' }), count), null)
  assert.equal(soon(packed(200_000, 'none'), count), 1)
})

test('the unpacked bytes are gone after a look, also if it waits or throws', async () => {
  const { soon } = openLooks()
  const payloads: Buffer[] = []
  const keep = ({ walk }: Look) => payloads.push(walk.payload)
  const { promise, resolve } = Promise.withResolvers<number>()
  const waiting = soon(packed(100_000, 'lz4'), look => {
    keep(look)
    return promise
  })
  assert.ok(payloads[0]!.length > 100_000)
  resolve(5)
  assert.equal(await waiting, 5)
  const failed = new Error('failed')
  const fails = (look: Look) => {
    keep(look)
    throw failed
  }
  assert.throws(() => soon(packed(100_000, 'zstd'), fails), failed)
  await assert.rejects(async () => soon(packed(100_000, 'zstd'), async look => fails(look)), failed)
  assert.deepEqual(
    payloads.map(({ length }) => length),
    [0, 0, 0],
  )
  const broken = viewBatch(
    batchWith(Buffer.from('no gzip'), { codec: 'gzip', count: 1, baseTimestamp: 0, maxTimestamp: 0 }),
  )
  assert.throws(() => soon(broken, count), InvalidRecords)
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
