// Derives the keys for one usage from a key of Kerberos: by n-fold and AES for the SHA-1 enctypes (RFC 3961, section
// 5.1), by HMAC for the SHA-2 enctypes (RFC 8009, section 3). It caches nothing.

import { createCipheriv, createHmac } from 'node:crypto'
import { BLOCK } from './aes-cts.ts'

/**
 * Stretches or shrinks the input to this many bytes (RFC 3961, section 5.1): copies of the input, each rotated right by
 * 13 bits more than the copy before it, are added up in ones' complement.
 */
export function nFold(input: Buffer, bytes: number): Buffer {
  const total = lcm(input.length, bytes)
  const bits = input.length * 8
  const bitAt = (position: number) => (input[position >> 3]! >> (7 - (position & 7))) & 1
  const sum = new Array<number>(bytes).fill(0)
  for (let at = 0; at < total; at++) {
    const rotation = 13 * Math.floor(at / input.length)
    let byte = 0
    for (let bit = 0; bit < 8; bit++) {
      const position = ((((at % input.length) * 8 + bit - rotation) % bits) + bits) % bits
      byte = (byte << 1) | bitAt(position)
    }
    sum[at % bytes]! += byte
  }
  // The carry of the first byte comes in again at the last one, until no byte overflows.
  for (let carry = 0, isFirst = true; carry > 0 || isFirst; isFirst = false) {
    for (let at = bytes - 1; at >= 0; at--) {
      const value = sum[at]! + carry
      sum[at] = value & 0xff
      carry = value >> 8
    }
  }
  return Buffer.from(sum)
}

function lcm(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y > 0) [x, y] = [y, x % y]
  return (a / x) * b
}

/** Returns DK(key, constant) of the AES enctypes: as many bytes as the key has. */
export function deriveRfc3961(key: Buffer, constant: Buffer): Buffer {
  const parts: Buffer[] = []
  let block = nFold(constant, BLOCK)
  for (let bytes = 0; bytes < key.length; bytes += BLOCK) {
    block = createCipheriv(`aes-${key.length * 8}-ecb`, key, null)
      .setAutoPadding(false)
      .update(block)
    parts.push(block)
  }
  return Buffer.concat(parts)
}

/** Returns KDF-HMAC-SHA2(key, label, bytes * 8). */
export function deriveRfc8009(hash: string, key: Buffer, label: Buffer, bytes: number): Buffer {
  const input = Buffer.alloc(4 + label.length + 1 + 4)
  input.writeUInt32BE(1, 0)
  label.copy(input, 4)
  input.writeUInt32BE(bytes * 8, input.length - 4)
  return createHmac(hash, key).update(input).digest().subarray(0, bytes)
}
