// DescribeGroups 0-6: returns the state, the protocol and the members of consumer groups. Only a stable group shows
// the metadata and the assignments of its members. An unknown group has the state Dead.
//
//   3    a request may ask for authorized operations (KIP-430)
//   4    instance ids (KIP-345)
//   6    an unknown group gets GROUP_ID_NOT_FOUND (KIP-1043)
//
// Differences from Apache Kafka: a group that is named twice is answered once.

import { describeGroups as describe } from '../../admin/groups/groups.ts'
import type { GroupDescription } from '../../coordinator/classic/questions.ts'
import { GROUP_ID_NOT_FOUND, isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { describeGroups } from '../../protocol/messages/describe-groups.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onEach } from '../needs.ts'
import { operationsOf } from '../operations.ts'

type Row = ResponseInput<typeof describeGroups>['groups'][number]

const FIRST_WITH_NOT_FOUND = 6

export const describeGroupsHandler = handler(describeGroups, rooms => ({
  needs: ({ body }) => onEach('DESCRIBE', 'GROUP', body.groups),
  async answer({ apiVersion, body, permissions }) {
    const withOperations = (row: Row): Row =>
      body.includeAuthorizedOperations && row.errorCode === NONE
        ? { ...row, authorizedOperations: operationsOf(permissions.policy, 'GROUP', row.groupId) }
        : row
    const asked = [...new Set(body.groups)]
    const allowed = asked.filter(groupId => permissions.group(groupId) === null)
    const outcomes = new Map((await describe(rooms, allowed)).map(({ groupId, result }) => [groupId, result]))
    const groups = asked.map(groupId => {
      const result = outcomes.get(groupId) ?? permissions.group(groupId)!
      return withOperations(rowOf(groupId, result, apiVersion))
    })
    return { throttleTimeMs: 0, groups }
  },
  refused: ({ apiVersion, body }, refusal) => ({
    throttleTimeMs: 0,
    groups: body.groups.map(groupId => rowOf(groupId, refusal, apiVersion)),
  }),
}))

function rowOf(groupId: string, result: GroupDescription | Refusal, apiVersion: number): Row {
  if (isRefusal(result)) {
    const isUnknown = result.code === GROUP_ID_NOT_FOUND.code
    const isError = !isUnknown || apiVersion >= FIRST_WITH_NOT_FOUND
    return {
      errorCode: isError ? result.code : NONE,
      errorMessage: isUnknown ? `Group ${groupId} not found.` : result.message,
      groupId,
      groupState: isUnknown ? 'Dead' : '',
      protocolType: '',
      protocolData: '',
      members: [],
    }
  }
  const { state, protocolType, protocolName, members } = result
  return {
    errorCode: NONE,
    groupId,
    groupState: state,
    protocolType: protocolType ?? '',
    protocolData: state === 'Stable' ? (protocolName ?? '') : '',
    members: members.map(({ memberId, instanceId, clientId, clientHost, metadata, assignment }) => ({
      memberId,
      groupInstanceId: instanceId,
      clientId,
      // Tools print it unchanged, and Kafka writes addresses like this.
      clientHost: `/${clientHost}`,
      memberMetadata: metadata,
      memberAssignment: assignment,
    })),
  }
}
