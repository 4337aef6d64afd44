import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headerBomb } from '../../testing/poison.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { systemClock } from '../base/clock.ts'
import { ENDLESS, patience } from '../base/patience.ts'
import { codecs } from '../protocol/compression.ts'
import { isRefusal, REQUEST_TIMED_OUT } from '../protocol/errors.ts'
import { encodeBatch, InvalidRecords, MAX_UNPACKED_BYTES, viewBatch } from '../protocol/records.ts'
import { HEADER_LIMITS, Unpacking } from './unpacking.ts'

const MB = 1024 * 1024

test('the unpacked bytes at one time are limited, and every caller gets its turn in order', async () => {
  const unpacking = new Unpacking(systemClock)
  const order: number[] = []
  let held = 0
  let most = 0
  const looks = Array.from({ length: 24 }, async (_, i) => {
    const codec = codecs[1 + (i % 4)]!
    const batch = viewBatch(encodeBatch([{ value: Buffer.alloc((1 + (i % 5) * 5) * MB, 'x') }], { compression: codec }))
    return unpacking.look(batch, unpacking.looker(ENDLESS), async ({ walk, unpackedBytes }) => {
      held += unpackedBytes
      most = Math.max(most, held)
      assert.ok(unpacking.heldBytes >= held && unpacking.heldBytes <= MAX_UNPACKED_BYTES)
      await new Promise(resolve => setImmediate(resolve))
      assert.ok(walk.next())
      order.push(i)
      held -= unpackedBytes
      return walk.read(HEADER_LIMITS).value!.length
    })
  })
  const found = await Promise.all(looks)
  assert.deepEqual(
    found,
    found.map((_, i) => (1 + (i % 5) * 5) * MB),
  )
  assert.equal(order.length, 24)
  assert.ok(most <= MAX_UNPACKED_BYTES, `${most} bytes at once`)
  assert.equal(unpacking.heldBytes, 0)
})

test('a look that waits for too long is refused, and the looks behind it get their turn', async () => {
  const clock = new SimulatedClock()
  const unpacking = new Unpacking(clock)
  const { promise, resolve } = Promise.withResolvers<void>()
  const large = viewBatch(encodeBatch([{ value: Buffer.alloc(60 * MB) }], { compression: 'zstd' }))
  const small = viewBatch(encodeBatch([{ value: 'small' }], { compression: 'gzip' }))
  const { promise: held, resolve: hold } = Promise.withResolvers<void>()
  const first = unpacking.look(large, unpacking.looker(ENDLESS), async () => {
    hold()
    await promise
    return 'first'
  })
  await held
  const gone = new AbortController()
  const waiting = [
    unpacking.look(large, unpacking.looker(patience(clock, clock.monotonic() + 1_000)), async () => 'late'),
    unpacking.look(large, unpacking.looker(patience(clock, Number.POSITIVE_INFINITY, gone.signal)), async () => 'gone'),
  ]
  const behind = unpacking.look(small, unpacking.looker(ENDLESS), async () => 'small')
  await clock.advance(1_000)
  gone.abort()
  for (const refused of await Promise.all(waiting))
    assert.ok(isRefusal(refused) && refused.code === REQUEST_TIMED_OUT.code)
  assert.equal(await behind, 'small')
  resolve()
  assert.equal(await first, 'first')
  assert.equal(unpacking.heldBytes, 0)
})

test('views end with the look, and a look ends with the patience of its caller', async () => {
  const unpacking = new Unpacking(systemClock)
  const batch = viewBatch(encodeBatch([{ value: Buffer.alloc(MB) }], { compression: 'zstd' }))
  const view = await unpacking.look(batch, unpacking.looker(ENDLESS), async ({ walk }) => {
    walk.next()
    return walk.read(HEADER_LIMITS).value!
  })
  assert.equal((view as Buffer).length, 0)
  const many = viewBatch(
    encodeBatch(
      Array.from({ length: 5_000 }, () => ({ value: 'x' })),
      { compression: 'lz4' },
    ),
  )
  const ended = new AbortController()
  let steps = 0
  const outcome = await unpacking.look(
    many,
    unpacking.looker(patience(systemClock, Number.POSITIVE_INFINITY, ended.signal)),
    async look => {
      for (; look.walk.next(); steps++) {
        if (steps === 1_000) ended.abort()
        const others = look.step()
        if (others !== undefined) await others
      }
    },
  )
  assert.ok(isRefusal(outcome))
  assert.ok(steps >= 1_000 && steps < 2_000, `${steps} records were looked at`)
  assert.equal(unpacking.heldBytes, 0)
})

test('a batch that unpacks to too many bytes is refused as invalid and holds no bytes afterwards', async () => {
  const unpacking = new Unpacking(systemClock)
  for (const codec of ['gzip', 'lz4', 'zstd'] as const) {
    const bomb = viewBatch(headerBomb(MAX_UNPACKED_BYTES / 2, codec, 0))
    await assert.rejects(() => unpacking.look(bomb, unpacking.looker(ENDLESS), async () => {}), InvalidRecords)
    assert.equal(unpacking.heldBytes, 0)
  }
})
