// Shows a key, a value or a header: decoded as the caller requested, or as base64 with the reason why it is not
// decoded. A number stays the text that was produced, so that no digit is lost. A value that cannot be decoded is not
// an error. Decoding with a schema is in schema-value.ts.

import { isUtf8 } from 'node:buffer'
import type { ShownValue } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'

/** A decoding that needs nothing but the bytes. */
export type PlainDecoding = Exclude<Decoding, 'registry'>

/** Returns at most previewBytes of the value, decoded. Null stays null: a missing key, or a tombstone. */
export function showValue(bytes: Buffer | null, decoding: PlainDecoding, previewBytes: number): ShownValue | null {
  if (bytes === null) return null
  switch (decoding) {
    case 'raw':
      return asBase64(bytes, 'raw', previewBytes)
    case 'utf8':
    case 'json': {
      const reason = whyNot(bytes, decoding)
      return reason === null ? asText(bytes, previewBytes) : asBase64(bytes, 'decode-error', previewBytes, reason)
    }
  }
}

/** Returns a header's value: as text if it is UTF-8 and the request does not ask for bytes, else as base64. */
export function showHeader(bytes: Buffer | null, decoding: Decoding, previewBytes: number): ShownValue | null {
  const isText = decoding !== 'raw' && bytes !== null && whyNot(bytes, 'utf8') === null
  return showValue(bytes, isText ? 'utf8' : 'raw', previewBytes)
}

/** Returns bytes that could not be decoded, as base64 with the reason. */
export function showUnreadable(bytes: Buffer, reason: string, previewBytes: number): ShownValue {
  return asBase64(bytes, 'decode-error', previewBytes, reason)
}

/**
 * The largest value that is parsed as JSON. To parse it blocks the event loop for some 10 ms, and for 50 ms if it is
 * nested as deeply as possible.
 */
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

/** Returns the end of the last character that fits into the limit. */
export function wholeCharacters(bytes: Buffer, limit: number): number {
  let end = limit
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return end
}

/** `length` is that of the whole value if `bytes` has only its beginning. */
export function asBase64(
  bytes: Buffer,
  status: ShownValue['status'],
  previewBytes: number,
  reason?: string,
  length = bytes.length,
): ShownValue {
  return {
    status,
    base64: bytes.toString('base64', 0, Math.min(bytes.length, previewBytes)),
    bytes: length,
    truncated: length > previewBytes,
    ...(reason === undefined ? {} : { reason }),
  }
}
