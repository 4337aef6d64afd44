// Encodes and decodes committed offsets. Each is stored in a field `offset/<topic id>/<partition>` of its group's
// document.

import { int32, int64, message, string, tagged } from '../../protocol/schema.ts'
import { decodeValue, encodeValue } from '../field-value.ts'

const OFFSET_PREFIX = 'offset/'

const groupOffset = message({
  name: 'GroupOffset',
  versions: '0-0',
  flexible: '0+',
  fields: {
    offset: int64(),
    leaderEpoch: int32(),
    commitTimestampMs: int64(),
    metadata: string(),
    expireAtMs: tagged(0, int64('0+', -1)),
  },
})

export interface CommittedOffset {
  /** As the client sent it; it may be below zero. */
  readonly offset: number
  /** -1 if the client sent no leader epoch. */
  readonly leaderEpoch: number
  /** Empty when the client sent no metadata. */
  readonly metadata: string
  /** When it was committed, milliseconds since 1970. */
  readonly commitTimestampMs: number
  /** When the offset expires, milliseconds since 1970; -1 leaves that to the settings. */
  readonly expireAtMs: number
}

export function offsetField(topicId: string, partition: number): string {
  return `${OFFSET_PREFIX}${topicId}/${partition}`
}

/** Returns the partition of a field; null if the field is not an offset. */
export function parseOffsetField(key: string): { readonly topicId: string; readonly partition: number } | null {
  if (!key.startsWith(OFFSET_PREFIX)) return null
  const slash = key.lastIndexOf('/')
  return { topicId: key.slice(OFFSET_PREFIX.length, slash), partition: Number(key.slice(slash + 1)) }
}

export function encodeOffset(committed: CommittedOffset): Uint8Array {
  return encodeValue(groupOffset, committed)
}

/** Throws if `encodeOffset` does not make such bytes. */
export function decodeOffset(value: Uint8Array): CommittedOffset {
  return decodeValue(groupOffset, value)
}

/** By topic id and partition. */
export type StoredOffsets = ReadonlyMap<string, ReadonlyMap<number, CommittedOffset>>
