// The changes of a consumer group that an operator may make, as the admin API takes them: delete it, delete its
// offsets in topics, and reset its offsets.

import type { DeletedOffsets, Reset, ResetOrder } from '../../api/groups.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { PartitionsOfTopic } from '../contract.ts'
import { type Declined, declined, isDeclined, misplaced } from '../declined.ts'
import { findTopic } from '../reach.ts'
import { type ClusterGroupRooms, deleteGroupOfCluster, deleteOffsetsOfCluster } from './cluster-groups.ts'
import type { ResetRequest, ResetRow, ResetTarget } from './groups-contract.ts'
import { applyReset, OUTDATED, previewReset, type ResetRooms } from './offset-reset.ts'
import { namingGroup, shownCommitted } from './shown-groups.ts'

/** Deletes an empty group with its offsets; resolves to null then. Throws PeerUnavailable. */
export async function deleteGroup(rooms: ClusterGroupRooms, groupId: string): Promise<Refusal | null> {
  const refusal = await deleteGroupOfCluster(rooms, groupId)
  return refusal === null ? null : namingGroup(refusal, groupId)
}

/**
 * Deletes the committed offsets of the group in each of these topics. Resolves to one row for each topic, or to a
 * refusal if no offset was deleted. Throws PeerUnavailable.
 */
export async function deleteOffsetsInTopics(
  rooms: ClusterGroupRooms,
  groupId: string,
  topics: readonly string[],
): Promise<DeletedOffsets | Refusal> {
  const asked: PartitionsOfTopic[] = []
  for (const name of new Set(topics)) {
    const topic = await findTopic(rooms, name)
    if (isRefusal(topic)) return topic
    asked.push({ topic: name, partitions: Array.from({ length: topic.partitions }, (_, partition) => partition) })
  }
  const deletions = await deleteOffsetsOfCluster(rooms, groupId, asked)
  if (isRefusal(deletions)) return namingGroup(deletions, groupId)
  const rows = deletions.map(({ topic, partitions }) => {
    const refusal = partitions.find(({ result }) => result !== null)?.result ?? null
    return { topic, partitions: partitions.length, refusal }
  })
  const [first] = rows
  if (first?.refusal && rows.every(({ refusal }) => refusal !== null)) return first.refusal
  return {
    topics: rows.map(({ refusal, ...row }) => ({
      ...row,
      error: refusal === null ? null : { code: refusal.name, detail: refusal.message },
    })),
  }
}

/**
 * With `dryRun`, resolves to the rows that the reset would change, with a token. The same order with the token applies
 * exactly these rows, or is declined. Throws what the store throws, and PeerUnavailable.
 */
export async function resetOffsets(
  rooms: ResetRooms,
  groupId: string,
  order: ResetOrder,
): Promise<Reset | Refusal | Declined> {
  const target = targetOf(order)
  if (isDeclined(target)) return target
  const request: ResetRequest = { groupId, scope: order.scope, target }
  if (order.dryRun) {
    const preview = await previewReset(rooms, request)
    if (isRefusal(preview)) return namingGroup(preview, groupId)
    const { blockedBy, rows, token } = preview
    return {
      applied: false,
      rows: rows.map(shownRow),
      blockedBy: blockedBy === null ? null : { code: blockedBy.name, detail: blockedBy.message },
      token,
    }
  }
  if (order.token === undefined) return declined('PREVIEW_REQUIRED')
  const applied = await applyReset(rooms, request, order.token)
  if (applied === OUTDATED) return declined('PREVIEW_OUTDATED')
  if (isRefusal(applied)) return namingGroup(applied, groupId)
  return { applied: true, rows: applied.map(shownRow), blockedBy: null, token: null }
}

/**
 * Returns the target of a reset. An `offset` or a `timestamp` that does not belong to `to` is declined: a client that
 * sends one does not mean `clear`.
 */
function targetOf({ to, offset, timestamp }: ResetOrder): ResetTarget | Declined {
  const stray = to !== 'offset' && offset !== undefined ? 'offset' : 'timestamp'
  if (stray === 'offset' || (to !== 'timestamp' && timestamp !== undefined))
    return misplaced(stray, `goes with to: ${stray}, not with ${to}`)
  if (to === 'offset') return offset === undefined ? misplaced(to, 'is missing') : { to, offset }
  if (to === 'timestamp') return timestamp === undefined ? misplaced(to, 'is missing') : { to, timestampMs: timestamp }
  return { to }
}

function shownRow({ topicId: _, committed, ...row }: ResetRow): Reset['rows'][number] {
  return { ...row, ...shownCommitted(committed) }
}
