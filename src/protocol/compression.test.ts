import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { compressFrameSync } from 'lz4-napi'
import { compressSync as snappySync } from 'snappy'
import { fc } from '../../testing/property.ts'
import { seededRandom } from '../base/random.ts'
import { codecs, compress, compressSync, decompress, NotDecompressed } from './compression.ts'

const LIMIT = 1 << 20

function refused(codec: (typeof codecs)[number], bytes: Uint8Array, reason: RegExp, maxBytes = LIMIT) {
  return assert.rejects(
    () => decompress(codec, bytes, maxBytes),
    (error: unknown) => {
      assert.ok(error instanceof NotDecompressed, String(error))
      assert.match(error.message, reason)
      assert.equal(error.tooLarge, /grows beyond/.test(error.message))
      return true
    },
  )
}

test('compressed bytes decompress to the same bytes, with every codec, compressed on this thread or in the pool', async () => {
  const text = Buffer.from('{"name":"order","amount":12}\n'.repeat(5000))
  for (const codec of codecs)
    for (const bytes of [Buffer.alloc(0), Buffer.from('x'), text, seededRandom(1).bytes(70_000)]) {
      assert.deepEqual(await decompress(codec, compressSync(codec, bytes), LIMIT), bytes, codec)
      assert.deepEqual(await decompress(codec, await compress(codec, bytes), LIMIT), bytes, codec)
    }
})

test('exactly the limit passes, one byte more does not', async () => {
  for (const codec of codecs)
    for (const bytes of [Buffer.alloc(100_000, 'ab'), seededRandom(2).bytes(100_000)]) {
      const packed = compressSync(codec, bytes)
      assert.equal((await decompress(codec, packed, 100_000)).length, 100_000)
      await refused(codec, packed, /grows beyond 99999 bytes/, 99_999)
    }
})

test('the decompression of a bomb stops at the limit', async () => {
  const large = Buffer.alloc(16 << 20)
  const bombs = [
    ['gzip', gzipSync(large)],
    ['zstd', zstdCompressSync(large, { chunkSize: 1 << 20 })],
    ['lz4', compressFrameSync(large)],
    ['snappy', compressSync('snappy', large)],
    ['snappy', snappySync(large)],
  ] as const
  for (const [codec, bomb] of bombs) await refused(codec, bomb, /grows beyond 1048576 bytes/)
})

test('snappy is read bare and in xerial framing', async () => {
  const text = Buffer.from('snappy text '.repeat(10_000))
  assert.deepEqual(await decompress('snappy', snappySync(text), LIMIT), text)
  const framed = compressSync('snappy', text)
  assert.equal(framed.subarray(0, 16).toString('hex'), '82534e41505059000000000100000001')
  assert.deepEqual(await decompress('snappy', framed, LIMIT), text)
})

test('snappy with wrong lengths is refused', async () => {
  const head = '82534e41505059000000000100000001'
  await refused('snappy', Buffer.from(`${head}ffffffff00`, 'hex'), /a chunk of -1 bytes/)
  await refused('snappy', Buffer.from(`${head}7fffffff00`, 'hex'), /a chunk of 2147483647 bytes/)
  await refused('snappy', Buffer.from(`${head}0000`, 'hex'), /a chunk is cut/)
  await refused('snappy', Buffer.from('ffffffff07aa', 'hex'), /grows beyond/)
  await refused('snappy', Buffer.from('ffffffffffff', 'hex'), /not readable/)
  await refused('snappy', Buffer.alloc(0), /not readable/)
  await refused('snappy', Buffer.from('05aa', 'hex'), /snappy/)
})

test('an lz4 frame that has wrong lengths, wants a dictionary, is cut or has extra bytes is refused', async () => {
  const frame = compressFrameSync(Buffer.from('lz4 text '.repeat(1000)))
  const damaged = (at: number, value: number) => {
    const bytes = Buffer.from(frame)
    bytes[at] = value
    return bytes
  }
  await refused('lz4', damaged(0, 0), /is not a frame/)
  await refused('lz4', damaged(4, 0x20), /version 0 is unknown/)
  await refused('lz4', damaged(4, 0x61), /wants a dictionary/)
  await refused('lz4', damaged(6, frame[6]! ^ 0xff), /lz4/)
  await refused('lz4', damaged(10, 0x7f), /does not fit/)
  await refused('lz4', frame.subarray(0, frame.length - 4), /cut|not a frame/)
  await refused('lz4', Buffer.concat([frame, Buffer.of(0)]), /bytes follow the end/)
  await refused('lz4', Buffer.alloc(0), /is not a frame/)
  const sized = Buffer.concat([Buffer.from('04224d186840', 'hex'), Buffer.alloc(8, 0xff), Buffer.alloc(5)])
  await refused('lz4', sized, /grows beyond/)
})

test('gzip and zstd that are cut, have extra bytes, or want too large a window are refused; several gzip members are one text', async () => {
  const gzip = gzipSync('some text')
  await refused('gzip', gzip.subarray(0, 10), /gzip/)
  await refused('gzip', Buffer.concat([gzip, Buffer.from('garbage')]), /gzip/)
  await refused('gzip', Buffer.concat([gzip, Buffer.alloc(8)]), /gzip: bytes follow the end/)
  assert.equal(String(await decompress('gzip', Buffer.concat([gzip, gzip]), LIMIT)), 'some textsome text')
  const zstd = zstdCompressSync('some text')
  await refused('zstd', zstd.subarray(0, zstd.length - 1), /zstd/)
  await refused('zstd', Buffer.concat([zstd, Buffer.from('garbage')]), /zstd/)
  // A frame header with a window of 2^31 bytes and no content size, then an empty last block.
  await refused('zstd', Buffer.from('28b52ffd00a8010000', 'hex'), /zstd/)
  const wide = zstdCompressSync('x'.repeat(1000), { params: { [constants.ZSTD_c_windowLog]: 27 } })
  assert.equal((await decompress('zstd', wide, LIMIT)).length, 1000)
})

test('damaged input is refused or another text, with every codec', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('gzip', 'snappy', 'lz4', 'zstd'),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (codec, changes) => {
        const bytes = compressSync(codec, Buffer.from('some text that repeats, repeats, repeats'.repeat(20)))
        for (const [at, value] of changes) bytes[at % bytes.length] = value
        try {
          assert.ok((await decompress(codec, bytes, 10_000)).length <= 10_000)
        } catch (error) {
          assert.ok(error instanceof NotDecompressed, String(error))
        }
      },
    ),
    { numRuns: 200 },
  )
})
