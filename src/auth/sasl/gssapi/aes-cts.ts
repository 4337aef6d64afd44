// AES in CBC mode with ciphertext stealing (RFC 3962, section 5; CBC-CS3), with an initial vector of zeros. Node has no
// such cipher, so it is made of CBC: the last two blocks change places, and the ciphertext is cut to the length of the
// plaintext. It checks no integrity: enctypes.ts does.

import { createCipheriv, createDecipheriv } from 'node:crypto'

export const BLOCK = 16
export const ZERO_IV = Buffer.alloc(BLOCK)

/** Encrypts at least one block. The result is as long as the plaintext. The key has 16 or 32 bytes. */
export function encryptCts(key: Buffer, plaintext: Buffer): Buffer {
  const { length } = plaintext
  const blocks = Math.ceil(length / BLOCK)
  const padded = Buffer.alloc(blocks * BLOCK)
  plaintext.copy(padded)
  const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, ZERO_IV).setAutoPadding(false)
  const whole = Buffer.concat([cipher.update(padded), cipher.final()])
  if (blocks === 1) return whole
  const head = whole.subarray(0, (blocks - 2) * BLOCK)
  const beforeLast = whole.subarray((blocks - 2) * BLOCK, (blocks - 1) * BLOCK)
  const last = whole.subarray((blocks - 1) * BLOCK)
  return Buffer.concat([head, last, beforeLast]).subarray(0, length)
}

/** Decrypts at least one block. */
export function decryptCts(key: Buffer, ciphertext: Buffer): Buffer {
  const { length } = ciphertext
  const blocks = Math.ceil(length / BLOCK)
  if (blocks === 1) return decryptCbc(key, ciphertext, ZERO_IV)
  const lastFrom = (blocks - 2) * BLOCK
  const last = ciphertext.subarray(lastFrom, lastFrom + BLOCK)
  const cutBlock = ciphertext.subarray(lastFrom + BLOCK)
  // The last block decrypts to the plaintext's padded end, mixed with the block before it. Where the padding is zero,
  // that block itself comes out, which is the part that was cut away.
  const mixed = decryptCbc(key, last, ZERO_IV)
  const beforeLast = Buffer.concat([cutBlock, mixed.subarray(cutBlock.length)])
  const whole = Buffer.concat([ciphertext.subarray(0, lastFrom), beforeLast, last])
  return decryptCbc(key, whole, ZERO_IV).subarray(0, length)
}

function decryptCbc(key: Buffer, ciphertext: Buffer, iv: Buffer): Buffer {
  const decipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, iv).setAutoPadding(false)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}
