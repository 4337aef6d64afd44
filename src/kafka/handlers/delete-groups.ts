// DeleteGroups 0-2 (KIP-229): deletes consumer groups without members, with their offsets. A group with members gets
// NON_EMPTY_GROUP, an unknown group gets GROUP_ID_NOT_FOUND. A group that is named twice is deleted once and has one
// row, as in Kafka.
//
// Differences from Apache Kafka: none known.

import { deleteGroups as remove } from '../../admin/groups/groups.ts'
import { NONE } from '../../protocol/errors.ts'
import { deleteGroups } from '../../protocol/messages/delete-groups.ts'
import { handler } from '../handler.ts'
import { onEach } from '../needs.ts'

export const deleteGroupsHandler = handler(deleteGroups, rooms => ({
  needs: ({ body }) => onEach('DELETE', 'GROUP', body.groupsNames),
  audit: ({ body }) => ({ verb: 'delete groups', what: body.groupsNames }),
  async answer({ body, permissions }) {
    const asked = [...new Set(body.groupsNames)]
    const allowed = asked.filter(groupId => permissions.group(groupId) === null)
    const outcomes = new Map((await remove(rooms, allowed)).map(({ groupId, result }) => [groupId, result]))
    const results = asked.map(groupId => {
      const refusal = permissions.group(groupId) ?? outcomes.get(groupId)
      return { groupId, errorCode: refusal?.code ?? NONE }
    })
    return { throttleTimeMs: 0, results }
  },
  refused: ({ body }, refusal) => ({
    throttleTimeMs: 0,
    results: [...new Set(body.groupsNames)].map(groupId => ({ groupId, errorCode: refusal.code })),
  }),
}))
