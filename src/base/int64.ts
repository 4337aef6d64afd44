// Reads and writes signed 64-bit integers as numbers, without a BigInt for each. Numbers are exact up to 2^53. Beyond
// that a read gives the nearest double, so the largest int64 is read as 2^63. Writing 2^63 writes the largest int64.

import { assert } from './assert.ts'

const HIGH = 2 ** 32
const MOST = 2 ** 63

export function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * HIGH + bytes.readUInt32BE(at + 4)
}

export function writeInt64(bytes: Buffer, at: number, value: number): void {
  if (value === MOST) {
    bytes.writeInt32BE(0x7fff_ffff, at)
    bytes.writeUInt32BE(0xffff_ffff, at + 4)
    return
  }
  // The message is built only if the number is wrong.
  if (!Number.isInteger(value) || Math.abs(value) > MOST)
    assert(false, `an int64 must be an integer below 2^63, got ${value}`)
  const high = Math.floor(value / HIGH)
  bytes.writeInt32BE(high, at)
  bytes.writeUInt32BE(value - high * HIGH, at + 4)
}
