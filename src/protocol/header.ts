// Request and response headers. Frames around them (the four bytes of size) belong to the connection.
//
//   request   apiKey int16 | apiVersion int16 | correlationId int32 | clientId nullable string | tags, if flexible
//   response  correlationId int32 | tags, if flexible
//
// The length of the client id is an int16 even in a flexible header. The response header of ApiVersions is never
// flexible, so that a client whose version of the request is unknown to the broker can read the response (KIP-511).

import { isUtf8 } from 'node:buffer'
import { MAX_HEADER_TAGS, MAX_VARINT_BYTES } from './limits.ts'
import { Malformed } from './malformed.ts'
import { type Api, isFlexible } from './schema.ts'

export interface RequestHeader {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** The offset of the body in the frame. */
  readonly bodyOffset: number
}

/** Whether requests of this key and version have a flexible header; false for unknown keys. */
export type HeaderLookup = (apiKey: number, apiVersion: number) => boolean

export function headerLookup(apis: readonly Api[]): HeaderLookup {
  const firsts = new Map(apis.map(api => [api.key, api.flexible?.min ?? Number.POSITIVE_INFINITY]))
  return (apiKey, apiVersion) => apiVersion >= (firsts.get(apiKey) ?? Number.POSITIVE_INFINITY)
}

const API_VERSIONS = 18

/** Reads the header at the start of a frame (without its size). Throws Malformed. */
export function readRequestHeader(frame: Uint8Array, isFlexibleHeader: HeaderLookup): RequestHeader {
  const end = frame.length
  if (end < 10) throw new Malformed('header', `needs at least 10 bytes, got ${end}`)
  const apiKey = ((frame[0]! << 24) | (frame[1]! << 16)) >> 16
  const apiVersion = ((frame[2]! << 24) | (frame[3]! << 16)) >> 16
  const correlationId = (frame[4]! << 24) | (frame[5]! << 16) | (frame[6]! << 8) | frame[7]!
  const length = ((frame[8]! << 24) | (frame[9]! << 16)) >> 16
  let at = 10
  let clientId: string | null = null
  if (length < -1) throw new Malformed('header.clientId', `the length ${length} is not allowed`)
  if (length > end - at) throw new Malformed('header.clientId', `needs ${length} bytes, ${end - at} are left`)
  if (length >= 0) {
    const text = Buffer.from(frame.buffer, frame.byteOffset + at, length)
    if (!isUtf8(text)) throw new Malformed('header.clientId', 'the text is not UTF-8')
    clientId = text.toString()
    at += length
  }
  if (isFlexibleHeader(apiKey, apiVersion)) at = skipTags(frame, at)
  return { apiKey, apiVersion, correlationId, clientId, bodyOffset: at }
}

/** Returns the header of a request, for clients. */
export function requestHeader(api: Api, version: number, correlationId: number, clientId: string | null): Buffer {
  const text = Buffer.from(clientId ?? '')
  const header = Buffer.alloc(10 + text.length + (isFlexible(api, version) ? 1 : 0))
  header.writeInt16BE(api.key, 0)
  header.writeInt16BE(version, 2)
  header.writeInt32BE(correlationId, 4)
  header.writeInt16BE(clientId === null ? -1 : text.length, 8)
  text.copy(header, 10)
  return header
}

/** Returns the size in bytes of a response header without tagged fields. */
export function responseHeaderLength(api: Api, version: number): 4 | 5 {
  return api.key !== API_VERSIONS && isFlexible(api, version) ? 5 : 4
}

/** Returns the header of a response. */
export function responseHeader(api: Api, version: number, correlationId: number): Buffer {
  const header = Buffer.alloc(responseHeaderLength(api, version))
  header.writeInt32BE(correlationId, 0)
  return header
}

/** Reads the header of a response, for clients. Throws Malformed. */
export function readResponseHeader(
  frame: Uint8Array,
  api: Api,
  version: number,
): { correlationId: number; bodyOffset: number } {
  if (frame.length < 4) throw new Malformed('header', `needs at least 4 bytes, got ${frame.length}`)
  const correlationId = (frame[0]! << 24) | (frame[1]! << 16) | (frame[2]! << 8) | frame[3]!
  const bodyOffset = responseHeaderLength(api, version) === 5 ? skipTags(frame, 4) : 4
  return { correlationId, bodyOffset }
}

/** Skips the tagged fields of a header, which the broker does not use. Returns the offset after them. */
function skipTags(frame: Uint8Array, offset: number): number {
  let at = offset
  const count = varint()
  if (count > MAX_HEADER_TAGS || count * 2 > frame.length - at)
    throw new Malformed('header.tags', `${count} tagged fields do not fit`)
  let last = -1
  for (let i = 0; i < count; i++) {
    const tag = varint()
    if (tag <= last) throw new Malformed('header.tags', 'the tags are not in rising order')
    last = tag
    const size = varint()
    if (size > frame.length - at) throw new Malformed('header.tags', `a field needs ${size} bytes`)
    at += size
  }
  return at

  function varint(): number {
    let value = 0
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = frame[at++]
      if (byte === undefined) throw new Malformed('header.tags', 'the bytes end too early')
      if (i === MAX_VARINT_BYTES - 1 && byte > 0x0f) break
      value |= (byte & 0x7f) << (7 * i)
      if (byte < 0x80) return value >>> 0
    }
    throw new Malformed('header.tags', 'the varint does not fit 32 bits')
  }
}
