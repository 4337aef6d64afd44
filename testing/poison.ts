// Creates small batches that are expensive to read. A broker accepts them, because it does not decompress batches
// when they arrive. A seed gives one batch of up to a megabyte, in any codec. Its headers, records, keys and values
// have an extreme number or size, or the batch is damaged, has wrong counts, or consists of a million frames.

import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { crc32c } from '../src/base/crc32c.ts'
import { writeInt64 } from '../src/base/int64.ts'
import { type Random, seededRandom } from '../src/base/random.ts'
import { type Codec, codecs, compressSync } from '../src/protocol/compression.ts'
import { BATCH_HEADER_BYTES, encodeBatch, LENGTH_OVERHEAD } from '../src/protocol/records.ts'

/** The largest batch in bytes that a broker accepts by default. */
const MOST_BYTES = 1_000_000

export interface Poison {
  /** The batch as a producer sends it. */
  readonly batch: Buffer
  readonly codec: Codec
  readonly recordCount: number
  /** The size before compression, in bytes. */
  readonly plainBytes: number
  /** For people: the extreme properties of the batch. */
  readonly about: string
}

/** Returns the same batch for the same seed and time. */
export function createPoison(seed: number, nowMs: number): Poison {
  const random = seededRandom(seed)
  const codec = codecs[random.below(codecs.length)]!
  const kind = KINDS[random.below(KINDS.length)]!
  const fill = FILLS[random.below(FILLS.length)]!
  const framing = random.below(8) === 0 ? framed(codec, random) : null
  const damage = random.below(8) === 0 ? DAMAGES[random.below(DAMAGES.length)]! : null
  // The sizes are uniform in their logarithm, from 256 bytes to more than a broker decompresses.
  let target = Math.floor(2 ** (8 + 18.2 * (random.below(1_000_000) / 1_000_000)))
  for (;;) {
    const { plain, count } = recordsOf(kind, target, fill, random)
    const payload = codec === 'none' ? plain : pack(codec, plain)
    if (payload.length > MOST_BYTES) {
      target = Math.floor(target / 2)
      continue
    }
    const packed = framing === null ? payload : framing(payload)
    const damaged = damage === null ? packed : damage.apply(packed, random)
    const lateMs = random.below(3) === 0 ? 60_000 : 0
    const batch = batchWith(damaged, { codec, count, baseTimestamp: nowMs, maxTimestamp: nowMs + lateMs })
    const parts = [
      kind.name,
      fill.name,
      framing && 'many frames',
      damage?.name,
      lateMs > 0 && 'a time that is not there',
    ]
    const about = `${codec}, ${parts.filter(part => part !== null && part !== undefined && part !== false).join(', ')}`
    return { batch, codec, recordCount: count, plainBytes: plain.length, about }
  }
}

/** Returns a batch of one record with this number of empty headers. */
export function headerBomb(headers: number, codec: Codec, timestamp: number): Buffer {
  const body = Buffer.concat([Buffer.of(0, 0, 0, 1, 1), zigzag(headers), Buffer.alloc(2 * headers)])
  const plain = Buffer.concat([zigzag(body.length), body])
  return batchWith(pack(codec, plain), { codec, count: 1, baseTimestamp: timestamp, maxTimestamp: timestamp })
}

/** Returns a batch with these values in its header and with these bytes as its records. */
export function batchWith(payload: Buffer, { codec, count, baseTimestamp, maxTimestamp }: Stated): Buffer {
  const bytes = Buffer.concat([encodeBatch([{ value: null }]).subarray(0, BATCH_HEADER_BYTES), payload])
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  bytes.writeInt16BE(codecs.indexOf(codec), 21)
  bytes.writeInt32BE(count - 1, 23)
  writeInt64(bytes, 27, baseTimestamp)
  writeInt64(bytes, 35, maxTimestamp)
  bytes.writeInt32BE(count, 57)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

interface Stated {
  readonly codec: Codec
  readonly count: number
  readonly baseTimestamp: number
  readonly maxTimestamp: number
}

function pack(codec: Codec, plain: Buffer): Buffer {
  // The largest window that a client may choose: decompression needs this much memory in addition to the result.
  if (codec === 'zstd') return zstdCompressSync(plain, { params: { [constants.ZSTD_c_windowLog]: 27 } })
  return compressSync(codec, plain)
}

// ---------------------------------------------------------------------------------------------------- extreme shapes

interface Kind {
  readonly name: string
  /** Returns the shape of each record, so that all records together have about this number of bytes. */
  shape(bytes: number, random: Random): Shape
}

interface Shape {
  readonly records: number
  readonly keyBytes: number
  readonly valueBytes: number
  readonly headers: number
  readonly headerKeyBytes: number
  readonly headerValueBytes: number
}

const EMPTY: Shape = { records: 1, keyBytes: 0, valueBytes: 0, headers: 0, headerKeyBytes: 0, headerValueBytes: 0 }

const KINDS: readonly Kind[] = [
  { name: 'one record of empty headers', shape: bytes => ({ ...EMPTY, headers: bytes >> 1 }) },
  {
    name: 'records of empty headers',
    shape(bytes, random) {
      const headers = 1 + random.below(5_000)
      return { ...EMPTY, headers, records: Math.ceil(bytes / (2 * headers + 8)) }
    },
  },
  { name: 'empty records', shape: bytes => ({ ...EMPTY, records: Math.ceil(bytes / 8) }) },
  { name: 'a key', shape: bytes => ({ ...EMPTY, keyBytes: bytes }) },
  { name: 'a value', shape: bytes => ({ ...EMPTY, valueBytes: bytes }) },
  {
    name: 'values',
    shape(bytes, random) {
      const valueBytes = 1 + random.below(100_000)
      return { ...EMPTY, valueBytes, records: Math.ceil(bytes / valueBytes) }
    },
  },
  { name: "a header's key", shape: bytes => ({ ...EMPTY, headers: 1, headerKeyBytes: bytes }) },
  { name: "a header's value", shape: bytes => ({ ...EMPTY, headers: 1, headerValueBytes: bytes }) },
  {
    name: 'a thousand headers',
    shape(bytes, random) {
      const each = Math.ceil(bytes / 1_000)
      const headerKeyBytes = random.below(each + 1)
      return { ...EMPTY, headers: 1_000, headerKeyBytes, headerValueBytes: each - headerKeyBytes }
    },
  },
]

const FILLS: readonly { readonly name: string; readonly pattern: (random: Random) => Buffer }[] = [
  { name: 'zeros', pattern: () => Buffer.of(0) },
  { name: 'text', pattern: () => Buffer.from('a') },
  { name: 'long characters', pattern: () => Buffer.from('\u{1f9ea}') },
  { name: 'deep JSON', pattern: () => Buffer.from('[') },
  { name: 'wide JSON', pattern: () => Buffer.from('{"a":[1,2,{}],"b":null},') },
  { name: 'noise', pattern: random => Buffer.from(random.bytes(1_000_000)) },
]

const DAMAGES: readonly { readonly name: string; apply(payload: Buffer, random: Random): Buffer }[] = [
  { name: 'cut', apply: (payload, random) => payload.subarray(0, 1 + random.below(payload.length)) },
  { name: 'something behind it', apply: payload => Buffer.concat([payload, Buffer.of(1, 2, 3)]) },
  {
    name: 'a wrong byte',
    apply(payload, random) {
      const bytes = Buffer.from(payload)
      bytes[random.below(bytes.length)] = random.below(256)
      return bytes
    },
  },
  { name: 'noise instead', apply: (payload, random) => Buffer.from(random.bytes(payload.length)) },
]

function recordsOf({ shape }: Kind, bytes: number, fill: (typeof FILLS)[number], random: Random) {
  const { records, keyBytes, valueBytes, headers, headerKeyBytes, headerValueBytes } = shape(bytes, random)
  const pattern = fill.pattern(random)
  const part = (size: number) => Buffer.concat([zigzag(size), Buffer.alloc(size, pattern)])
  const header = Buffer.concat([part(headerKeyBytes), part(headerValueBytes)])
  const body = [part(keyBytes), part(valueBytes), zigzag(headers), Buffer.alloc(header.length * headers, header)]
  const tail = Buffer.concat(body)
  const plain = Buffer.allocUnsafe(records * (tail.length + 16))
  let at = 0
  for (let i = 0; i < records; i++) {
    const delta = zigzag(i)
    at += zigzag(2 + delta.length + tail.length).copy(plain, at)
    plain[at++] = 0
    plain[at++] = 0
    at += delta.copy(plain, at)
    at += tail.copy(plain, at)
  }
  return { plain: plain.subarray(0, at), count: records }
}

/** Returns a function that splits the content into many frames, most of them empty; null if the codec has no frames. */
function framed(codec: Codec, random: Random): ((payload: Buffer) => Buffer) | null {
  const pieces = (piece: Buffer, payload: Buffer) => {
    const count = Math.floor(((MOST_BYTES - payload.length) * (random.below(100) / 100)) / piece.length)
    return Buffer.alloc(Math.max(0, count) * piece.length, piece)
  }
  switch (codec) {
    case 'gzip':
      return payload => Buffer.concat([pieces(gzipSync(''), payload), payload])
    case 'zstd':
      return payload => Buffer.concat([pieces(zstdCompressSync(''), payload), payload])
    case 'snappy':
      // An empty block has the length 1 and the byte 0. The blocks come after the 16 bytes of the header.
      return payload =>
        Buffer.concat([payload.subarray(0, 16), pieces(Buffer.of(0, 0, 0, 1, 0), payload), payload.subarray(16)])
    default:
      return null
  }
}

function zigzag(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  while (rest >= 128) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return Buffer.from(bytes)
}
