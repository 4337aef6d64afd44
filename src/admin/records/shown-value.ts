// How a key, a value or a header is shown: its bytes decoded as the caller asked, or as base64 with the reason why not.
// A number stays the text that was produced, so that no digit is lost. A value that cannot be decoded is not an error.

import { isUtf8 } from 'node:buffer'
import type { ShownValue } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'

/** At most previewBytes of it are shown. Null stays null: a missing key, or a tombstone. */
export function showValue(bytes: Buffer | null, decoding: Decoding, previewBytes: number): ShownValue | null {
  if (bytes === null) return null
  switch (decoding) {
    case 'raw':
      return asBase64(bytes, 'raw', previewBytes)
    case 'registry':
      return asUnknownSchema(bytes, previewBytes)
    case 'utf8':
    case 'json': {
      const reason = whyNot(bytes, decoding)
      return reason === null ? asText(bytes, previewBytes) : asBase64(bytes, 'decode-error', previewBytes, reason)
    }
  }
}

/** A header's value, as text if it is text and the request does not ask for bytes. */
export function showHeader(bytes: Buffer | null, decoding: Decoding, previewBytes: number): ShownValue | null {
  const isText = decoding !== 'raw' && bytes !== null && whyNot(bytes, 'utf8') === null
  return showValue(bytes, isText ? 'utf8' : 'raw', previewBytes)
}

/** Bytes that could not be decoded as requested. */
export function showUnreadable(bytes: Buffer, reason: string, previewBytes: number): ShownValue {
  return asBase64(bytes, 'decode-error', previewBytes, reason)
}

/** Reading this much holds the event loop for some 10 ms, and for 50 ms if it is nested as deeply as possible. */
const LARGEST_PARSED_BYTES = 512 * 1024

function whyNot(bytes: Buffer, decoding: 'utf8' | 'json'): string | null {
  if (!isUtf8(bytes)) return 'The bytes are not UTF-8.'
  if (decoding === 'utf8') return null
  if (bytes.length > LARGEST_PARSED_BYTES)
    return `It is longer than the ${LARGEST_PARSED_BYTES} bytes that are read as JSON.`
  try {
    JSON.parse(bytes.toString())
    return null
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return 'The text is not JSON.'
  }
}

function asText(bytes: Buffer, previewBytes: number): ShownValue {
  const end = bytes.length <= previewBytes ? bytes.length : wholeCharacters(bytes, previewBytes)
  return {
    status: 'decoded',
    text: bytes.toString('utf8', 0, end),
    bytes: bytes.length,
    truncated: end < bytes.length,
  }
}

/** The end of the last character that fits. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  let end = limit
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return end
}

function asBase64(bytes: Buffer, status: ShownValue['status'], previewBytes: number, reason?: string): ShownValue {
  return {
    status,
    base64: bytes.toString('base64', 0, Math.min(bytes.length, previewBytes)),
    bytes: bytes.length,
    truncated: bytes.length > previewBytes,
    ...(reason === undefined ? {} : { reason }),
  }
}

const MAGIC = 0
const FRAME_BYTES = 5

/** A magic byte of 0 and the id of the schema (int32) come before the value, as Confluent's serializers write it. */
function asUnknownSchema(bytes: Buffer, previewBytes: number): ShownValue {
  if (bytes.length < FRAME_BYTES || bytes[0] !== MAGIC) {
    return asBase64(bytes, 'schema-not-found', previewBytes, 'The bytes do not begin with the id of a schema.')
  }
  const id = bytes.readInt32BE(1)
  const shown = asBase64(bytes, 'schema-not-found', previewBytes, `The schema ${id} is not known here.`)
  return { ...shown, schema: { id } }
}
