// Wrap tokens (RFC 4121, sections 4.2.4 to 4.2.6): a few bytes under a checksum, or encrypted. The broker writes them
// under a checksum, because it offers no security layer; it reads both, because clients may send both.
//
//   05 04 | flags | ff | EC (2) | RRC (2) | sequence number (8) | rotated right by RRC bytes:
//     not encrypted: the data, a checksum of EC bytes over the data and the head
//     encrypted:     the ciphertext of the data, a filler of EC bytes, and the head again
//
// For both computations the head has RRC 0, and for a checksum also EC 0.

import { timingSafeEqual } from 'node:crypto'
import { malformed } from './der.ts'
import { type Key, USAGE } from './enctypes.ts'
import { Refused } from './refused.ts'

const HEAD = 16
const SENT_BY_ACCEPTOR = 0x01
const SEALED = 0x02
const ACCEPTOR_SUBKEY = 0x04
/** The largest token in bytes: it holds four bytes and a name. */
const MOST_BYTES = 4096

/** Returns the token of the broker for this data. */
export function wrap(key: Key, sequence: number, data: Buffer): Buffer {
  const head = headOf(SENT_BY_ACCEPTOR, sequence)
  const checksum = key.checksum(USAGE.acceptorSeal, Buffer.concat([data, head]))
  head.writeUInt16BE(checksum.length, 4)
  return Buffer.concat([head, data, checksum])
}

function headOf(flags: number, sequence: number): Buffer {
  const head = Buffer.alloc(HEAD)
  head.writeUInt16BE(0x0504)
  head[2] = flags
  head[3] = 0xff
  head.writeBigUInt64BE(BigInt(sequence), 8)
  return head
}

/** Returns the data of a client's token. Throws Refused unless the token was made with the key and has this number. */
export function unwrap(key: Key, sequence: number, token: Buffer): Buffer {
  if (token.length < HEAD || token.readUInt16BE() !== 0x0504 || token[3] !== 0xff)
    throw malformed('a Wrap token of RFC 4121 is expected')
  if (token.length > MOST_BYTES)
    throw malformed(`the Wrap token has ${token.length} bytes; at most ${MOST_BYTES} are taken`)
  const flags = token[2]!
  if ((flags & SENT_BY_ACCEPTOR) !== 0) throw new Refused("the Wrap token is the broker's own, sent back")
  if ((flags & ACCEPTOR_SUBKEY) !== 0) throw new Refused('the Wrap token names a subkey that the broker did not send')
  const extra = token.readUInt16BE(4)
  const rotation = token.readUInt16BE(6)
  const body = rotateLeft(token.subarray(HEAD), rotation)
  const data = (flags & SEALED) === 0 ? readPlain(key, token, body, extra) : readSealed(key, token, body, extra)
  if (data === null) throw new Refused('the Wrap token was changed, or was made with another key')
  const number = token.readBigUInt64BE(8)
  if (number !== BigInt(sequence))
    throw new Refused(`the Wrap token has the sequence number ${number}, and ${sequence} is expected`)
  return data
}

function rotateLeft(bytes: Buffer, by: number): Buffer {
  if (bytes.length === 0) return bytes
  const from = by % bytes.length
  return Buffer.concat([bytes.subarray(from), bytes.subarray(0, from)])
}

function readPlain(key: Key, token: Buffer, body: Buffer, extra: number): Buffer | null {
  if (extra !== key.checksumBytes || body.length < extra) return null
  const data = body.subarray(0, body.length - extra)
  const head = Buffer.from(token.subarray(0, HEAD))
  head.writeUInt32BE(0, 4)
  const expected = key.checksum(USAGE.initiatorSeal, Buffer.concat([data, head]))
  return timingSafeEqual(expected, body.subarray(-extra)) ? data : null
}

function readSealed(key: Key, token: Buffer, body: Buffer, extra: number): Buffer | null {
  const plaintext = key.decrypt(USAGE.initiatorSeal, body)
  if (plaintext === null || plaintext.length < HEAD + extra) return null
  const head = Buffer.from(token.subarray(0, HEAD))
  head.writeUInt16BE(0, 6)
  return head.equals(plaintext.subarray(-HEAD)) ? plaintext.subarray(0, plaintext.length - HEAD - extra) : null
}
