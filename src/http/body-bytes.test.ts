import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { bodyBytes } from './body-bytes.ts'

/** Sends each text as a piece of its own. */
function bodyOf(...pieces: string[]): PassThrough {
  const payload = new PassThrough()
  void (async () => {
    for (const piece of pieces) {
      payload.write(piece)
      await new Promise(setImmediate)
    }
    payload.end()
  })()
  return payload
}

test('a body has the bytes of its pieces, and may have none', async () => {
  for (const pieces of [[], ['a'], ['ab', 'c', 'defgh'], ['a'.repeat(7), 'b']])
    assert.equal(String(await bodyBytes(bodyOf(...pieces), 8, Number.NaN)), pieces.join(''))
})

test('a body beyond the limit is refused, before it is read if its length is declared', async () => {
  await assert.rejects(bodyBytes(bodyOf('abcd', 'efghi'), 8, Number.NaN), { statusCode: 413 })
  const unread = new PassThrough()
  await assert.rejects(bodyBytes(unread, 8, 9), { statusCode: 413 })
  assert.equal(unread.listenerCount('data'), 0)
  assert.equal(String(await bodyBytes(bodyOf('abcdefgh'), 8, 8)), 'abcdefgh')
})

test('a body that breaks off is refused with the reason', async () => {
  const payload = new PassThrough()
  const reading = bodyBytes(payload, 8, Number.NaN)
  payload.destroy(new Error('gone'))
  await assert.rejects(reading, { statusCode: 400, message: 'gone' })
})

test('a body in small pieces takes the memory of its bytes', async () => {
  const count = 16_000_000
  const payload = new PassThrough()
  const reading = bodyBytes(payload, count, Number.NaN)
  const wire = Buffer.alloc(count, 'x')
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < count; at += 16) payload.emit('data', wire.subarray(at, at + 16))
  const grown = process.memoryUsage().heapUsed - before
  payload.end()
  assert.deepEqual(await reading, wire)
  // Objects for the pieces would take 100 bytes each. The margin is for those that are not collected yet.
  assert.ok(grown < 40e6, `the heap grew by ${grown} bytes`)
})

test('a connection whose body comes in crumbs is cut', async () => {
  const payload = new PassThrough()
  const reading = bodyBytes(payload, 1_000_000, Number.NaN)
  const crumb = Buffer.from('x')
  for (let at = 0; at < 4_096; at++) payload.emit('data', crumb)
  assert.equal(payload.destroyed, false)
  payload.emit('data', crumb)
  assert.equal(payload.destroyed, true)
  await assert.rejects(reading, { statusCode: 400, message: /too many small pieces/ })
})
