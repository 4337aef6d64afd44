// Reads and replaces the stored offsets of a group that another broker coordinates. To read them, no broker is asked.
// To replace them is a compare-and-set of the group's document, which succeeds or fails as a whole. Afterwards the
// coordinator's version is outdated, so it loads the group again before it answers or stores offsets.

import { GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP } from '../../protocol/errors.ts'
import type { Row, Store } from '../../store/store.ts'
import { decodeGroup, KIND } from '../group-record.ts'
import { encodeOffset, offsetField, type StoredOffsets } from './offset-record.ts'
import { CHANGED, committedBy, type OffsetReplacement, type ReplaceOutcome } from './offset-replacement.ts'

/**
 * Resolves to the stored offsets; empty if the group does not exist. Throws what the store throws, or
 * UnreadableDocument.
 */
export async function loadOffsets(store: Store, groupId: string): Promise<StoredOffsets> {
  const document = await store.load(KIND, groupId)
  return document === null ? new Map() : decodeGroup(document).offsets
}

/**
 * Replaces the offsets of a group without members, all of them or none; see LiveGroup.replaceOffsets. Members that
 * join at this moment are not seen, and must join again. Throws what the store throws, or UnreadableDocument.
 */
export async function replaceStoredOffsets(
  store: Store,
  groupId: string,
  replacements: readonly OffsetReplacement[],
  nowMs: number,
): Promise<ReplaceOutcome> {
  const document = await store.load(KIND, groupId)
  if (document === null) return GROUP_ID_NOT_FOUND
  const { head, offsets } = decodeGroup(document)
  if (head !== null && head.state !== 'Empty') return NON_EMPTY_GROUP
  const isAsShown = replacements.every(each => each.isExpected(offsets.get(each.topicId)?.get(each.partition) ?? null))
  if (!isAsShown) return CHANGED
  const changes = replacements.map(({ topicId, partition, offset }): Row => {
    const value = offset === null ? null : encodeOffset(committedBy(offset, nowMs))
    return { key: offsetField(topicId, partition), value }
  })
  const outcome = await store.commit({ kind: KIND, name: groupId, expect: document.version, changes })
  return outcome.kind === 'committed' ? null : CHANGED
}
