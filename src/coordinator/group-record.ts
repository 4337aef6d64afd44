// Decodes a stored group: one document of kind `group`, named by the group id, with the members
// (classic/head-record.ts) and the committed offsets (offsets/offset-record.ts) of the group.

import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../store/store.ts'
import type { StoredGroup } from './classic/group.ts'
import { decodeHead, HEAD } from './classic/head-record.ts'
import { type CommittedOffset, decodeOffset, parseOffsetField } from './offsets/offset-record.ts'

export const KIND: DocumentKind = 'group'

/** A group as it is stored. */
export interface GroupRecord {
  /** Null when the store has no head: no member has joined. */
  readonly head: StoredGroup | null
  readonly offsets: Map<string, Map<number, CommittedOffset>>
}

/**
 * Decodes a stored group. Throws UnreadableDocument if any part of it has another form than this version writes,
 * because a group without one of its offsets would start to read at a wrong offset.
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
