// Encodes and decodes the value of a field in a stored document: the version of its message (int16), then the
// message.

import { decodeMessage, encodeMessage } from '../protocol/codec.ts'
import type { Fields, InputOf, Message } from '../protocol/schema.ts'

const VERSION_0 = Buffer.alloc(2)

/** Encodes a value in version 0 of its message. */
export function encodeValue<S extends Fields>(of: Message<S>, value: InputOf<S>): Uint8Array {
  return Buffer.concat([VERSION_0, ...encodeMessage(of, 0, value)])
}

/** Decodes a value. Throws if `encodeValue` does not make such bytes, or if a later version wrote them. */
export function decodeValue<S extends Fields>(of: Message<S>, bytes: Uint8Array) {
  const version = bytes.byteLength < 2 ? -1 : (bytes[0]! << 8) | bytes[1]!
  if (version < of.versions.min || version > of.versions.max) {
    throw new Error(`a stored ${of.name} has version ${version}, this broker knows up to ${of.versions.max}`)
  }
  return decodeMessage(of, version, bytes, 2)
}
