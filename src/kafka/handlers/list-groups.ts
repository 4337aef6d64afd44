// ListGroups 0-5: lists the consumer groups of this broker.
//
//   4    states in the answer, and a filter for them (KIP-518)
//   5    types in the answer, and a filter for them; all groups here are `classic` (KIP-848)
//
// Filters ignore upper and lower case. A filter with an unknown value matches no group, as in Kafka. A group that
// waits for its first rebalance is listed.
//
// Differences from Apache Kafka: none known.

import { listGroups as list } from '../../admin/groups/groups.ts'
import { isRefusal, NONE } from '../../protocol/errors.ts'
import { listGroups } from '../../protocol/messages/list-groups.ts'
import { handler } from '../handler.ts'
import { CLUSTER, onListed } from '../needs.ts'

export const listGroupsHandler = handler(listGroups, rooms => ({
  needs: () => [{ ...onListed('DESCRIBE', 'GROUP'), or: { operation: 'DESCRIBE', resource: CLUSTER } }],
  answer({ body, permissions }) {
    const listed = list(rooms, { states: body.statesFilter, types: body.typesFilter })
    if (isRefusal(listed)) return { throttleTimeMs: 0, errorCode: listed.code, groups: [] }
    const shown = listed.filter(({ groupId }) => permissions.shows('GROUP', groupId))
    const groups = shown.map(({ groupId, protocolType, state, type }) => ({
      groupId,
      protocolType,
      groupState: state,
      groupType: type,
    }))
    return { throttleTimeMs: 0, errorCode: NONE, groups }
  },
  refused: (_request, refusal) => ({ throttleTimeMs: 0, errorCode: refusal.code, groups: [] }),
}))
