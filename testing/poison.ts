// Batches that are small and cost much to look into. A broker accepts them, because it does not unpack batches when
// they come. From a seed comes one batch of up to a megabyte, in any codec, whose headers, records, keys and values are
// of extreme number or size, or which is damaged, lies about itself, or is framed in a million pieces.

import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { crc32c } from '../src/base/crc32c.ts'
import { writeInt64 } from '../src/base/int64.ts'
import { type Random, seededRandom } from '../src/base/random.ts'
import { type Codec, codecs, compressSync } from '../src/protocol/compression.ts'
import { BATCH_HEADER_BYTES, encodeBatch, LENGTH_OVERHEAD } from '../src/protocol/records.ts'

/** A broker takes as much by default. */
const MOST_BYTES = 1_000_000

export interface Poison {
  /** As a producer sends it. */
  readonly batch: Buffer
  readonly codec: Codec
  readonly recordCount: number
  /** Before compression. */
  readonly plainBytes: number
  /** For people: what is extreme in it. */
  readonly about: string
}

/** The same batch for the same seed and time. */
export function createPoison(seed: number, nowMs: number): Poison {
  const random = seededRandom(seed)
  const codec = codecs[random.below(codecs.length)]!
  const kind = KINDS[random.below(KINDS.length)]!
  const fill = FILLS[random.below(FILLS.length)]!
  const framing = random.below(8) === 0 ? framed(codec, random) : null
  const damage = random.below(8) === 0 ? DAMAGES[random.below(DAMAGES.length)]! : null
  // As many small ones as large ones, by their logarithm: from 256 bytes to more than a broker unpacks.
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

/** One record with this number of empty headers. */
export function headerBomb(headers: number, codec: Codec, timestamp: number): Buffer {
  const body = Buffer.concat([Buffer.of(0, 0, 0, 1, 1), zigzag(headers), Buffer.alloc(2 * headers)])
  const plain = Buffer.concat([zigzag(body.length), body])
  return batchWith(pack(codec, plain), { codec, count: 1, baseTimestamp: timestamp, maxTimestamp: timestamp })
}

/** A batch that says so and has these bytes for its records. */
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
  // A window as large as a client may choose: to unpack it takes that much memory beside the result.
  if (codec === 'zstd') return zstdCompressSync(plain, { params: { [constants.ZSTD_c_windowLog]: 27 } })
  return compressSync(codec, plain)
}

// ------------------------------------------------------------------------------------------------------ what is
// extreme

interface Kind {
  readonly name: string
  /** The parts of each record, where the records together are to take about that number of bytes. */
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

/** The same content in as many pieces as the format allows, most of them empty; null where there are no pieces. */
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
      // A block of a length of 1 that is empty: the byte 0. Behind the 16 bytes of the head.
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
