// Damages bytes at random places, as a broken or hostile sender would: changed bits and bytes, wrong lengths and
// counts, and pieces that are lost, duplicated or copied from elsewhere. It knows nothing about the meaning of the
// bytes.

import type { Random } from '../src/base/random.ts'

/** Bytes, int16s and int32s at limits at which lengths and counts often fail. */
const EDGES: readonly Buffer[] = [
  ...['00', '01', '7f', '80', 'ff', '0000', '0001', '7fff', '8000', 'ffff', '00000000', '00000001', '7fffffff'],
  ...['80000000', 'ffffffff', 'fffffffe', '000f4240', '000f4241', 'ffffffff0f', 'ffffffffffffffff', '7fffffffffffffff'],
].map(hex => Buffer.from(hex, 'hex'))

const LONGEST_PIECE = 16

/** Returns a copy with one to four changes; pieces may come from `other`. */
export function mutate(original: Uint8Array, random: Random, other: Uint8Array = original): Buffer {
  let bytes: Buffer = Buffer.from(original)
  for (let changes = 1 + random.below(4); changes > 0; changes--) bytes = change(bytes, random, other)
  return bytes
}

function change(bytes: Buffer, random: Random, other: Uint8Array): Buffer {
  if (bytes.length === 0) return random.bytes(1 + random.below(LONGEST_PIECE))
  const at = random.below(bytes.length)
  const length = 1 + random.below(LONGEST_PIECE)
  const edge = EDGES[random.below(EDGES.length)]!
  switch (random.below(8)) {
    case 0:
      bytes[at]! ^= 1 << random.below(8)
      return bytes
    case 1:
      bytes[at] = random.below(256)
      return bytes
    case 2:
      edge.copy(bytes, at)
      return bytes
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
    case 4:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at)])
    case 5:
      return bytes.fill(random.below(2) * 0xff, at, Math.min(bytes.length, at + length))
    case 6:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)])
    default: {
      const from = random.below(other.length + 1)
      return Buffer.concat([bytes.subarray(0, at), other.subarray(from, from + length * 4), bytes.subarray(at)])
    }
  }
}
