// Consumer groups of the whole cluster: where they are, how far behind, and what an operator may do to them.

import { z } from 'zod'
import {
  countMembers,
  deleteGroupOfCluster,
  deleteOffsetsOfCluster,
  describeGroupsOfCluster,
  listGroupsOfCluster,
} from '../../admin/cluster-groups.ts'
import type { GroupPosition, PartitionsOfTopic } from '../../admin/contract.ts'
import { describePositions } from '../../admin/group-positions.ts'
import type { ClusterGroup, GroupLag, ResetRequest, ResetRow, ResetTarget } from '../../admin/groups-contract.ts'
import { groupLags, lagOf } from '../../admin/lag.ts'
import { applyReset, OUTDATED, previewReset } from '../../admin/offset-reset.ts'
import { findTopic } from '../../admin/reach.ts'
import { because, GROUP_ID_NOT_FOUND, isRefusal, type Refusal } from '../../protocol/errors.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { SOUGHT_TIME } from '../query.ts'
import { reply, route } from '../route.ts'

const offset = z.int()
const timestampMs = z.int().meta({ description: 'Milliseconds since 1970.' })

const lagShape = z
  .object({
    totalLag: z
      .int()
      .nullable()
      .meta({ description: 'A lower bound where partitions are unknown; null when all are.' }),
    maxLag: z.int().nullable().meta({ description: 'Of one partition.' }),
    partitionsWithUnknownLag: z.int(),
    partitions: z.int().meta({ description: 'How many the group reads or has read.' }),
    lastCommitTimestamp: timestampMs.nullable(),
  })
  .meta({
    id: 'GroupLag',
    description:
      'Lag counts records that were not delivered to the group; where that is not known, those that were not committed.',
  })

const groupShape = z.object({
  groupId: z.string(),
  type: z.string(),
  state: z.string(),
  protocolType: z.string().meta({ description: 'consumer for consumers; empty where nobody ever joined.' }),
  coordinatorId: z.int(),
})

const listedShape = groupShape
  .extend({
    members: z.int().nullable().meta({ description: 'Null when the coordinator does not answer.' }),
    lag: lagShape,
  })
  .meta({ id: 'ListedGroup' })

const positionShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    memberId: z.string().nullable().meta({ description: 'Who reads the partition.' }),
    committedOffset: offset.nullable(),
    commitTimestamp: timestampMs.nullable(),
    metadata: z.string().nullable(),
    deliveredOffset: offset.nullable().meta({
      description:
        'The one after the last that was delivered; null while unknown, and always where another broker coordinates the group or leads the partition.',
    }),
    endOffset: offset.nullable(),
    lag: z.int().nullable(),
  })
  .meta({ id: 'GroupPosition' })

const memberShape = z
  .object({
    memberId: z.string(),
    instanceId: z.string().nullable(),
    clientId: z.string(),
    host: z.string(),
    assignment: z.array(z.object({ topic: z.string(), partitions: z.array(z.int()) })),
  })
  .meta({ id: 'GroupMember' })

const resetRowShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    memberId: z.string().nullable(),
    committedOffset: offset.nullable(),
    commitTimestamp: timestampMs.nullable(),
    metadata: z.string().nullable(),
    deliveredOffset: offset.nullable(),
    endOffset: offset.nullable(),
    newOffset: offset
      .nullable()
      .meta({ description: 'Null: forgotten; consumers begin where their auto.offset.reset says.' }),
  })
  .meta({ id: 'OffsetResetRow' })

const silentShape = z
  .object({ brokerId: z.int(), reason: z.string() })
  .meta({ id: 'SilentBroker', description: 'A broker that did not answer: its groups are missing.' })

const params = z.object({ group: z.string().min(1) })
const NOT_FOUND = 'GROUP_ID_NOT_FOUND'
const AWAY = 'BROKER_UNAVAILABLE, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS'

const MAX_TOPICS = 1_000
const MAX_PARTITIONS = 100_000
const MAX_RESET_BYTES = 16 * 1024 * 1024

const partitionIndex = z.int().min(0)
const topicName = z.string().min(1).max(249)

const resetBody = z.strictObject({
  scope: z
    .strictObject({
      topics: z.array(topicName).max(MAX_TOPICS).default([]),
      partitions: z
        .array(z.strictObject({ topic: topicName, partition: partitionIndex }))
        .max(MAX_PARTITIONS)
        .default([]),
    })
    .default({ topics: [], partitions: [] })
    .meta({ description: 'Empty: every partition in which the group has a position.' }),
  to: z.enum(['clear', 'earliest', 'latest', 'offset', 'timestamp']).default('clear'),
  offset: z.int().min(0).optional(),
  timestamp: timestampMs.min(0, SOUGHT_TIME).optional(),
  dryRun: z.boolean().default(false),
  token: z.string().optional().meta({ description: 'Of the preview that is to be applied.' }),
})

export const groupRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/groups',
    needs: 'viewer',
    verb: 'list groups',
    tag: 'groups',
    doc: 'The consumer groups of the whole cluster, with how far they are behind.',
    query: pagingQuery(['groupId', 'state', 'lag.totalLag']).extend({
      state: z.string().max(1_000).default('').meta({ description: 'States that are wanted, with commas between.' }),
    }),
    answers: {
      200: z.object({ groups: z.array(listedShape), total: z.int(), unavailableBrokers: z.array(silentShape) }),
    },
    async answer({ query }, rooms) {
      const states = query.state.split(',').filter(state => state.trim() !== '')
      const { groups, silent } = await listGroupsOfCluster(rooms, { states, types: [] })
      const isWanted = searchFor(query.q)
      const wanted = groups.filter(({ groupId }) => isWanted(groupId))
      const idOf = ({ groupId }: ClusterGroup) => groupId
      const lagsOf = async (some: readonly ClusterGroup[]) =>
        new Map(await Array.fromAsync(groupLags(rooms, some.map(idOf)), lag => [lag.groupId, lag] as const))
      const allLags = query.sort === 'lag.totalLag' ? await lagsOf(wanted) : null
      const sortBy = {
        groupId: idOf,
        state: ({ state }: ClusterGroup) => state,
        'lag.totalLag': ({ groupId }: ClusterGroup) => allLags?.get(groupId)?.totalLag ?? null,
      }[query.sort]
      const page = pageOf(wanted, query, sortBy, idOf)
      const [lags, members] = await Promise.all([allLags ?? lagsOf(page), countMembers(rooms, page)])
      return reply(200, {
        groups: page.map(group => ({
          ...group,
          members: members.get(group.groupId) ?? null,
          lag: lagBody(lags.get(group.groupId)!),
        })),
        total: wanted.length,
        unavailableBrokers: silent,
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/groups/:group',
    needs: 'viewer',
    verb: 'describe group',
    tag: 'groups',
    doc: 'One consumer group: its state, its members with what they read, and where it is in each partition.',
    params,
    answers: {
      200: groupShape.extend({
        protocolName: z.string().nullable(),
        coordinator: z.object({ id: z.int(), host: z.string(), port: z.int() }).nullable(),
        members: z.array(memberShape),
        lag: lagShape,
        positions: z.array(positionShape),
      }),
    },
    problems: { 404: NOT_FOUND, 503: AWAY },
    async answer({ params: { group } }, rooms) {
      const view = (await describeGroupsOfCluster(rooms, [group])).get(group) ?? GROUP_ID_NOT_FOUND
      if (isRefusal(view)) return named(view, group)
      const positions = (await describePositions(rooms, [group])).get(group)!
      const endpoint = rooms.cluster.brokers().find(({ id }) => id === view.coordinatorId)?.endpoints[0]
      return reply(200, {
        ...view,
        coordinator:
          endpoint === undefined ? null : { id: view.coordinatorId, host: endpoint.host, port: endpoint.port },
        members: view.members.map(({ clientHost, ...member }) => ({ ...member, host: clientHost })),
        lag: lagBody(lagOf(group, positions)),
        positions: positions.map(positionBody),
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/groups/:group/lag',
    needs: 'viewer',
    verb: 'show lag of group',
    tag: 'groups',
    doc: 'How far one group is behind, in all and in each partition.',
    params,
    answers: { 200: z.object({ groupId: z.string(), lag: lagShape, positions: z.array(positionShape) }) },
    problems: { 404: NOT_FOUND, 503: AWAY },
    async answer({ params: { group } }, rooms) {
      const view = (await describeGroupsOfCluster(rooms, [group])).get(group) ?? GROUP_ID_NOT_FOUND
      if (isRefusal(view)) return named(view, group)
      const positions = (await describePositions(rooms, [group])).get(group)!
      return reply(200, {
        groupId: group,
        lag: lagBody(lagOf(group, positions)),
        positions: positions.map(positionBody),
      })
    },
  }),

  route({
    method: 'DELETE',
    path: '/api/v1/groups/:group',
    needs: 'admin',
    verb: 'delete group',
    tag: 'groups',
    doc: 'Deletes a group that nobody is in, with its offsets.',
    params,
    answers: { 204: null },
    problems: { 404: NOT_FOUND, 409: 'NON_EMPTY_GROUP', 503: AWAY },
    async answer({ params: { group } }, rooms) {
      const refusal = await deleteGroupOfCluster(rooms, group)
      return refusal === null ? reply(204) : named(refusal, group)
    },
  }),

  route({
    method: 'DELETE',
    path: '/api/v1/groups/:group/offsets',
    needs: 'admin',
    verb: 'delete offsets of group',
    tag: 'groups',
    doc: 'Deletes what the group has committed in topics that none of its members reads.',
    params,
    query: z.object({
      topic: z
        .union([topicName, z.array(topicName).min(1).max(MAX_TOPICS)])
        .meta({ description: 'Once for each topic.' }),
    }),
    answers: {
      200: z.object({
        topics: z.array(
          z.object({
            topic: z.string(),
            partitions: z.int(),
            error: z
              .object({ code: z.string(), detail: z.string() })
              .nullable()
              .meta({ description: 'Why nothing of it was deleted.' }),
          }),
        ),
      }),
    },
    problems: {
      400: 'INVALID_TOPIC_EXCEPTION',
      404: `${NOT_FOUND}, UNKNOWN_TOPIC_OR_PARTITION`,
      409: 'NON_EMPTY_GROUP, GROUP_SUBSCRIBED_TO_TOPIC',
      503: AWAY,
    },
    async answer({ params: { group }, query }, rooms) {
      const asked: PartitionsOfTopic[] = []
      for (const name of new Set([query.topic].flat())) {
        const topic = await findTopic(rooms, name)
        if (isRefusal(topic)) return topic
        asked.push({ topic: name, partitions: Array.from({ length: topic.partitions }, (_, partition) => partition) })
      }
      const deletions = await deleteOffsetsOfCluster(rooms, group, asked)
      if (isRefusal(deletions)) return named(deletions, group)
      const rows = deletions.map(({ topic, partitions }) => {
        const refusal = partitions.find(({ result }) => result !== null)?.result ?? null
        return { topic, partitions: partitions.length, refusal }
      })
      const [first] = rows
      if (first?.refusal && rows.every(({ refusal }) => refusal !== null)) return first.refusal
      return reply(200, {
        topics: rows.map(({ refusal, ...row }) => ({
          ...row,
          error: refusal === null ? null : { code: refusal.name, detail: refusal.message },
        })),
      })
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/groups/:group/offsets/reset',
    needs: 'admin',
    verb: 'reset offsets of group',
    tag: 'groups',
    doc:
      'With `dryRun` shows, for each partition, the committed offset and delivery state that would go and what comes in their place, ' +
      'with a token. The same request with the token applies exactly that, or nothing. `clear` is the default: consumers then begin ' +
      'where their own auto.offset.reset says.',
    params,
    body: resetBody,
    bodyLimit: MAX_RESET_BYTES,
    audited: ['scope', 'to', 'offset', 'timestamp', 'dryRun'],
    answers: {
      200: z.object({
        applied: z.boolean(),
        rows: z.array(resetRowShape),
        blockedBy: z
          .object({ code: z.string(), detail: z.string() })
          .nullable()
          .meta({ description: 'Why it cannot be applied as things are.' }),
        token: z.string().nullable(),
      }),
    },
    problems: {
      400: 'INVALID_REQUEST',
      404: `${NOT_FOUND}, UNKNOWN_TOPIC_OR_PARTITION`,
      409: 'PREVIEW_REQUIRED, PREVIEW_OUTDATED, NON_EMPTY_GROUP',
      503: AWAY,
    },
    async answer({ params: { group }, body }, rooms) {
      const target = targetOf(body)
      if (isProblem(target)) return target
      const request: ResetRequest = { groupId: group, scope: body.scope, target }
      if (body.dryRun) {
        const preview = await previewReset(rooms, request)
        if (isRefusal(preview)) return named(preview, group)
        const { blockedBy, rows, token } = preview
        return reply(200, {
          applied: false,
          rows: rows.map(resetRowBody),
          blockedBy: blockedBy === null ? null : { code: blockedBy.name, detail: blockedBy.message },
          token,
        })
      }
      if (body.token === undefined) return problem('PREVIEW_REQUIRED')
      const applied = await applyReset(rooms, request, body.token)
      if (applied === OUTDATED) return problem('PREVIEW_OUTDATED')
      if (isRefusal(applied)) return named(applied, group)
      return reply(200, { applied: true, rows: applied.map(resetRowBody), blockedBy: null, token: null })
    },
  }),
]

/** A place that goes with another `to` is not passed over: whoever named it did not mean `clear`. */
function targetOf({ to, offset, timestamp }: z.output<typeof resetBody>): ResetTarget | Problem {
  const stray = to !== 'offset' && offset !== undefined ? 'offset' : 'timestamp'
  if (stray === 'offset' || (to !== 'timestamp' && timestamp !== undefined))
    return misplaced(stray, `goes with to: ${stray}, not with ${to}`)
  if (to === 'offset') return offset === undefined ? misplaced(to, 'is missing') : { to, offset }
  if (to === 'timestamp') return timestamp === undefined ? misplaced(to, 'is missing') : { to, timestampMs: timestamp }
  return { to }
}

function misplaced(field: 'offset' | 'timestamp', why: string): Problem {
  return problem('INVALID_REQUEST', `${field} ${why}.`, { fields: { [field]: why } })
}

/** Kafka's own text does not say which group it is about. */
function named(refusal: Refusal, group: string): Refusal {
  if (refusal.code !== GROUP_ID_NOT_FOUND.code) return refusal
  return because(refusal, `There is no group '${group}'.`)
}

function lagBody({ groupId: _, lastCommitTimestampMs, ...lag }: GroupLag) {
  return { ...lag, lastCommitTimestamp: lastCommitTimestampMs }
}

function positionBody({ topic, partition, memberId, deliveredOffset, endOffset, lag, committed }: GroupPosition) {
  return { topic, partition, memberId, ...committedBody(committed), deliveredOffset, endOffset, lag }
}

function resetRowBody({ topic, partition, memberId, deliveredOffset, endOffset, newOffset, committed }: ResetRow) {
  return { topic, partition, memberId, ...committedBody(committed), deliveredOffset, endOffset, newOffset }
}

function committedBody(committed: GroupPosition['committed']) {
  return {
    committedOffset: committed?.offset ?? null,
    commitTimestamp: committed?.commitTimestampMs ?? null,
    metadata: committed?.metadata ?? null,
  }
}
