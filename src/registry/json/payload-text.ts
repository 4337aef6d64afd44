// JSON payloads for people: the text as it was sent, so that numbers keep their digits and members their order.

import type { Fault } from '../format.ts'
import { PayloadGroup } from './payload-batch.ts'

/**
 * Returns the text of the payload `bytes[from, to)`, or why it has none: not UTF-8, not JSON, too deep, or more than
 * `mostBytes`.
 */
export function decodeJson(bytes: Uint8Array, from: number, to: number, mostBytes: number): string | Fault {
  const tooLong = objectionTo(to - from, mostBytes)
  if (tooLong !== null) return tooLong
  const payload = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from)
  return faultIn(payload) ?? payload.toString('utf8')
}

/** Returns the payload that decodeJson shows as this text, or the reason why no payload has it. No schema judges it. */
export function encodeJson(text: string, mostBytes: number): Uint8Array | Fault {
  if (!text.isWellFormed()) return { reason: 'bad-value', message: 'the text has half a surrogate pair' }
  const payload = Buffer.from(text, 'utf8')
  return objectionTo(payload.length, mostBytes) ?? faultIn(payload) ?? payload
}

function faultIn(payload: Buffer): Fault | null {
  const read = new PayloadGroup(payload, [payload.length]).read(0)
  return 'fault' in read ? read.fault : null
}

function objectionTo(length: number, mostBytes: number): Fault | null {
  if (length <= mostBytes) return null
  return { reason: 'bad-value', message: `the payload has ${length} bytes, and ${mostBytes} are allowed` }
}
