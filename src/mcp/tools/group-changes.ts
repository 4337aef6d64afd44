// Tools that change consumer groups: reset their offsets, and delete a group. The rules are in admin/. A group with
// members is not changed; the refusal names them.

import { z } from 'zod'
import { declined } from '../../admin/declined.ts'
import { deleteGroup, resetOffsets } from '../../admin/groups/group-changes.ts'
import { showGroup } from '../../admin/groups/shown-groups.ts'
import { type DescribedGroup, groupParams, resetRequestShape } from '../../api/groups.ts'
import { digestOf } from '../digest.ts'
import { firstRows } from '../first-rows.ts'
import { changing, type ToolDeclined } from '../tool.ts'

const groupArgument = groupParams.shape.group.meta({ description: 'The id of the consumer group.' })
const { scope, to, offset, timestamp } = resetRequestShape.shape
const NON_EMPTY = 'NON_EMPTY_GROUP'
const MOST_MEMBERS = 20

export const groupChangeTools = [
  changing({
    name: 'reset_offsets',
    title: 'Reset group offsets',
    description:
      'Sets the committed offsets of a consumer group without members. The preview shows the present and the new offset of each partition. ' +
      'Exactly these offsets are set, also if records are written meanwhile.',
    input: z.strictObject({
      group: groupArgument,
      scope,
      to: to.unwrap().meta({
        description:
          'clear deletes the offsets: consumers then begin where their own auto.offset.reset says. offset and timestamp need the argument of that name.',
      }),
      offset,
      timestamp,
    }),
    audited: ['group', 'scope', 'to', 'offset', 'timestamp'],
    isDestructive: true,
    changes: {
      async preview({ group, ...order }, rooms) {
        const found = await resetOffsets(rooms, group, { ...order, dryRun: true })
        if ('kind' in found) return found
        const { blockedBy, rows, token } = found
        if (blockedBy !== null) {
          const shown = await showGroup(rooms, group)
          return 'kind' in shown ? shown : blocked(shown, blockedBy.detail)
        }
        const { topics } = rooms.catalogue.current()
        const changes = rows.map(({ topic, partition, committedOffset, startOffset, endOffset, newOffset }) => ({
          ...{ topic, partition, committedOffset, newOffset, startOffset, endOffset },
        }))
        return {
          shown: { change: 'reset offsets', group, to: order.to, offsets: firstRows(changes) },
          // The end grows all the time, and the token has the new offsets. Of the start, only `earliest` depends.
          state: digestOf(
            rows.map(({ topic, partition, committedOffset, commitTimestamp, metadata, newOffset }) => ({
              ...{
                topic,
                topicId: topics.get(topic)?.id ?? null,
                partition,
                committedOffset,
                commitTimestamp,
                metadata,
              },
              newOffset: order.to === 'latest' || order.to === 'timestamp' ? null : newOffset,
            })),
          ),
          pins: { token },
        }
      },
      async apply({ group, ...order }, pins, rooms) {
        const { token } = resetPins.parse(pins)
        const applied = await resetOffsets(rooms, group, { ...order, dryRun: false, token })
        if ('kind' in applied) return applied
        const rows = applied.rows.map(({ topic, partition, committedOffset, newOffset }) => ({
          ...{ topic, partition, before: committedOffset, after: newOffset },
        }))
        return { body: { reset: { group }, offsets: firstRows(rows) } }
      },
    },
  }),

  changing({
    name: 'delete_group',
    title: 'Delete a group',
    description:
      'Deletes a consumer group without members, with its committed offsets. The preview shows the offsets that are lost.',
    input: z.strictObject({ group: groupArgument }),
    audited: ['group'],
    isDestructive: true,
    changes: {
      async preview({ group }, rooms) {
        const found = await showGroup(rooms, group)
        if ('kind' in found) return found
        const { state, members, positions, lag } = found
        if (members.length > 0 || state !== 'Empty') return blocked(found)
        const offsets = positions.map(({ topic, partition, committedOffset, commitTimestamp, metadata }) => ({
          ...{ topic, partition, committedOffset, commitTimestamp, metadata },
        }))
        return {
          shown: {
            change: 'delete group',
            group: { groupId: group, state, lag: lag.totalLag },
            offsets: firstRows(offsets.map(({ metadata: _, ...row }) => row)),
          },
          state: digestOf({ state, offsets }),
          pins: null,
        }
      },
      async apply({ group }, _pins, rooms) {
        const refusal = await deleteGroup(rooms, group)
        return refusal ?? { body: { deleted: { group } } }
      },
    },
  }),
]

const resetPins = z.strictObject({ token: z.string() })

/** Returns the refusal of a change of a group that is in use. It names the first members. */
function blocked({ state, members }: DescribedGroup, detail?: string): ToolDeclined {
  const count = members.length === 1 ? '1 member' : `${members.length} members`
  const named = members
    .slice(0, MOST_MEMBERS)
    .map(({ memberId, clientId, host }) => [memberId, `client ${clientId} at ${host}`] as const)
  return declined(
    NON_EMPTY,
    detail ?? `The group is ${state} with ${count}. Stop its consumers first.`,
    named.length === 0 ? null : Object.fromEntries(named),
  )
}
