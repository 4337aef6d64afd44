import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { compressFrameSync } from 'lz4-napi'
import { compressSync as snappyCompressSync } from 'snappy'
import { seededRandom } from '../base/random.ts'
import { codecs, compressSync, decompress, NotDecompressed } from './compression.ts'
import { discard, unpack } from './unpacking.ts'

const noTurns = () => undefined

/** Returns noise, zeros and repeats of every distance, in one buffer. */
function mixture(seed: number, most: number): Buffer {
  const random = seededRandom(seed)
  const parts: Buffer[] = []
  for (let size = random.below(most); size > 0; ) {
    const length = 1 + random.below(Math.min(size, 1 + random.below(100_000)))
    const kind = random.below(4)
    if (kind === 0) parts.push(Buffer.from(random.bytes(length)))
    else if (kind === 1) parts.push(Buffer.alloc(length))
    else parts.push(Buffer.alloc(length, Buffer.from(random.bytes(1 + random.below(70)))))
    size -= length
  }
  return Buffer.concat(parts)
}

test('unpack() returns the original bytes, with every codec and framing', async () => {
  for (let seed = 0; seed < 60; seed++) {
    const plain = mixture(seed, 600_000)
    const packed = [...codecs.map(codec => [codec, compressSync(codec, plain)] as const)]
    packed.push(['snappy', snappyCompressSync(plain)])
    packed.push(['lz4', compressFrameSync(plain, { contentChecksum: true, blockChecksums: true })])
    for (const [codec, bytes] of packed) {
      const found = await unpack(codec, bytes, plain.length, noTurns)
      assert.ok(found.equals(plain), `${codec} seed ${seed}`)
      if (plain.length > 0)
        await assert.rejects(() => unpack(codec, bytes, plain.length - 1, noTurns), { name: 'NotDecompressed' })
    }
  }
})

test('damaged input is NotDecompressed or other bytes within the limit, as with the native code', async () => {
  const random = seededRandom(3)
  for (let i = 0; i < 600; i++) {
    const codec = (['snappy', 'lz4', 'gzip', 'zstd'] as const)[i % 4]!
    const bytes = compressSync(codec, mixture(i, 4000))
    for (let k = random.below(3); k >= 0; k--) bytes[random.below(bytes.length)] = random.below(256)
    const outcome = (work: Promise<Buffer>) =>
      work.catch((error: unknown) => {
        assert.ok(error instanceof NotDecompressed, String(error))
        return null
      })
    const [ours, native] = [
      await outcome(unpack(codec, bytes, 100_000, noTurns)),
      await outcome(decompress(codec, bytes, 100_000)),
    ]
    // Only the native code checks the checksums of a frame: the batch around it has its own.
    if (native !== null) assert.ok(ours?.equals(native), `${codec} ${i}`)
  }
})

test('input that grows too large, is cut or has extra bytes is refused, with every codec', async () => {
  for (const codec of codecs.slice(1)) {
    const bytes = compressSync(codec, Buffer.alloc(3 << 20, 'bomb'))
    await assert.rejects(() => unpack(codec, bytes, 1 << 20, noTurns), { tooLarge: true }, codec)
    await assert.rejects(() => unpack(codec, bytes.subarray(0, -1), 4 << 20, noTurns), { tooLarge: false }, codec)
    const longer = Buffer.concat([bytes, Buffer.of(1)])
    await assert.rejects(() => unpack(codec, longer, 4 << 20, noTurns), { tooLarge: false }, codec)
  }
})

test('long work lets other work run in between', async () => {
  const plain = Buffer.alloc(8 << 20, 'turns')
  for (const codec of ['snappy', 'lz4'] as const) {
    let turns = 0
    await unpack(codec, compressSync(codec, plain), plain.length, () => {
      turns++
      return undefined
    })
    assert.ok(turns >= 64, `${codec}: ${turns}`)
  }
})

test('discard() frees the memory of unpacked bytes at once', async () => {
  const plain = Buffer.alloc(4 << 20)
  const window = { params: { [constants.ZSTD_c_windowLog]: 24 } }
  for (const [codec, bytes] of [
    ['zstd', zstdCompressSync(plain, window)],
    ['gzip', gzipSync(plain)],
    ['snappy', snappyCompressSync(plain)],
    ['lz4', compressFrameSync(plain)],
  ] as const) {
    const found = await unpack(codec, bytes, plain.length, noTurns)
    assert.equal(found.length, plain.length)
    discard(found)
    assert.equal(found.length, 0)
  }
})
