// How a group rests in the store: one document of kind `group`, named by the group id, with a field `head` and a field
// `offset/<topic id>/<partition>` for each committed offset. A value is the version of its message (int16) and the
// message. Only names and bytes are here; what they mean is in classic-group.ts and group-runtime.ts.

import { decodeMessage, encodeMessage } from '../protocol/codec.ts'
import {
  array,
  bytes,
  type Fields,
  int8,
  int32,
  int64,
  type Message,
  message,
  nullable,
  string,
  tagged,
} from '../protocol/schema.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../store/store.ts'
import type { GroupState, StoredGroup } from './classic-group.ts'

export const KIND: DocumentKind = 'group'
export const HEAD = 'head'

const OFFSET_PREFIX = 'offset/'

/** Their places are what is stored: new states go to the end. */
const states: readonly GroupState[] = Object.freeze([
  'Empty',
  'PreparingRebalance',
  'CompletingRebalance',
  'Stable',
] as const)

const groupHead = message({
  name: 'GroupHead',
  versions: '0-0',
  flexible: '0+',
  fields: {
    state: int8(),
    stateSinceMs: int64(),
    generation: int32(),
    protocolType: nullable(string()),
    protocolName: nullable(string()),
    leader: nullable(string()),
    members: array({
      id: string(),
      instanceId: nullable(string()),
      clientId: string(),
      clientHost: string(),
      rebalanceTimeoutMs: int32(),
      sessionTimeoutMs: int32(),
      protocols: array({ name: string(), metadata: bytes() }),
      assignment: bytes(),
    }),
  },
})

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
  /** Whatever the client said, below zero too. */
  readonly offset: number
  /** -1 when the client did not say. */
  readonly leaderEpoch: number
  /** Empty when there is none. */
  readonly metadata: string
  /** When it was committed, milliseconds since 1970. */
  readonly commitTimestampMs: number
  /** When the client wants it forgotten, milliseconds since 1970; -1 leaves that to the settings. */
  readonly expireAtMs: number
}

export function offsetField(topicId: string, partition: number): string {
  return `${OFFSET_PREFIX}${topicId}/${partition}`
}

/** The partition that a field is of; null for a field that is not an offset. */
export function parseOffsetField(key: string): { readonly topicId: string; readonly partition: number } | null {
  if (!key.startsWith(OFFSET_PREFIX)) return null
  const slash = key.lastIndexOf('/')
  return { topicId: key.slice(OFFSET_PREFIX.length, slash), partition: Number(key.slice(slash + 1)) }
}

export function encodeOffset(committed: CommittedOffset): Uint8Array {
  return Buffer.concat([VERSION_0, ...encodeMessage(groupOffset, 0, committed)])
}

/** Throws when the bytes are not what `encodeOffset` makes. */
export function decodeOffset(value: Uint8Array): CommittedOffset {
  return read(groupOffset, value)
}

/** By topic id and partition. */
export type StoredOffsets = ReadonlyMap<string, ReadonlyMap<number, CommittedOffset>>

/** A group as it is stored. */
export interface GroupRecord {
  /** Null where nobody ever joined, as far as is stored. */
  readonly head: StoredGroup | null
  readonly offsets: Map<string, Map<number, CommittedOffset>>
}

/**
 * Throws UnreadableDocument where any part of it is not what is written here: a group without one of its offsets would begin
 * somewhere else.
 */
export function decodeGroup({ name, version, fields }: Document): GroupRecord {
  let part = 'its place'
  try {
    if (version === 0) throw new Error('it holds no document')
    const offsets = new Map<string, Map<number, CommittedOffset>>()
    for (const [key, value] of fields) {
      const of = parseOffsetField(key)
      if (of === null) continue
      part = `the field ${key}`
      if (!Number.isSafeInteger(of.partition) || of.partition < 0) throw new Error('it names no partition')
      const partitions = offsets.get(of.topicId) ?? new Map<number, CommittedOffset>()
      offsets.set(of.topicId, partitions.set(of.partition, decodeOffset(value)))
    }
    part = `the field ${HEAD}`
    const head = fields.get(HEAD)
    return { head: head === undefined ? null : decodeHead(head), offsets }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UnreadableDocument(`The stored group ${JSON.stringify(name)} cannot be read: ${part}: ${why}.`, { cause })
  }
}

export function encodeHead(group: StoredGroup): Uint8Array {
  const state = states.indexOf(group.state)
  return Buffer.concat([VERSION_0, ...encodeMessage(groupHead, 0, { ...group, state })])
}

/** Throws when the bytes are not what `encodeHead` makes. */
export function decodeHead(value: Uint8Array): StoredGroup {
  const head = read(groupHead, value)
  const state = states[head.state]
  if (state === undefined)
    throw new Error(`a stored group has state ${head.state}, 0 to ${states.length - 1} are known`)
  return { ...head, state }
}

const VERSION_0 = Buffer.alloc(2)

function read<S extends Fields>(of: Message<S>, value: Uint8Array) {
  const version = value.byteLength < 2 ? -1 : (value[0]! << 8) | value[1]!
  if (version < of.versions.min || version > of.versions.max) {
    throw new Error(`a stored ${of.name} has version ${version}, this broker knows up to ${of.versions.max}`)
  }
  return decodeMessage(of, version, value, 2)
}
