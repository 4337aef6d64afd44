import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createZstdCompress } from 'node:zlib'
import { codecs, compressSync } from './compression.ts'
import { claimedSize } from './unpacked-size.ts'

test('gzip and zstd claim the size that they unpack to, in each width of the field', () => {
  for (const codec of ['gzip', 'zstd'] as const) {
    for (const size of [1, 255, 256, 65_791, 65_792, 70_000, 5_000_000])
      assert.equal(claimedSize(codec, compressSync(codec, Buffer.alloc(size, 'x'))), size, `${codec} ${size}`)
  }
})

test('a zstd size of eight bytes is read, behind a window and a dictionary id too', () => {
  const size = Buffer.from('0000000001000000', 'hex')
  const magic = Buffer.from('28b52ffd', 'hex')
  const frame = (...parts: readonly number[]) => Buffer.concat([magic, Buffer.from(parts), size])
  assert.equal(claimedSize('zstd', frame(0b1110_0000)), 2 ** 32)
  assert.equal(claimedSize('zstd', frame(0b1100_0000, 0x58)), 2 ** 32)
  assert.equal(claimedSize('zstd', frame(0b1100_0011, 0x58, 1, 2, 3, 4)), 2 ** 32)
})

test('a stream of unknown size claims none, and neither do other codecs and bytes that are cut', async () => {
  const stream = createZstdCompress()
  stream.write(Buffer.alloc(100_000, 'x'))
  stream.flush()
  stream.end()
  assert.equal(claimedSize('zstd', Buffer.concat(await stream.toArray())), null)
  for (const codec of codecs) {
    const packed = compressSync(codec, Buffer.alloc(1_000))
    for (let length = 0; length < 6; length++) assert.equal(claimedSize(codec, packed.subarray(0, length)), null)
    if (codec !== 'gzip' && codec !== 'zstd') assert.equal(claimedSize(codec, packed), null)
  }
  assert.equal(claimedSize('zstd', Buffer.alloc(100)), null)
})
