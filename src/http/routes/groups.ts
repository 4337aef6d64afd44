// Consumer groups of the whole cluster: their state, their lag, and the changes that an operator may make.

import type { z } from 'zod'
import type { GroupPosition, PartitionsOfTopic } from '../../admin/contract.ts'
import {
  countMembers,
  deleteGroupOfCluster,
  deleteOffsetsOfCluster,
  describeGroupsOfCluster,
  listGroupsOfCluster,
} from '../../admin/groups/cluster-groups.ts'
import type { ClusterGroup, GroupLag, ResetRequest, ResetRow, ResetTarget } from '../../admin/groups/groups-contract.ts'
import { groupLags, lagOf } from '../../admin/groups/lag.ts'
import { applyReset, OUTDATED, previewReset } from '../../admin/groups/offset-reset.ts'
import { describePositions } from '../../admin/groups/positions.ts'
import { findTopic } from '../../admin/reach.ts'
import {
  deletedOffsetsQuery,
  deletedOffsetsShape,
  describedGroupShape,
  groupListQuery,
  groupListShape,
  groupParams,
  LISTED_TOPICS,
  lagOfGroupShape,
  MAX_PARTITIONS,
  MAX_TOPICS,
  resetRequestShape,
  resetShape,
} from '../../api/groups.ts'
import { because, GROUP_ID_NOT_FOUND, isRefusal, type Refusal } from '../../protocol/errors.ts'
import { pageOf, searchFor } from '../paging.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'

const NOT_FOUND = 'GROUP_ID_NOT_FOUND'
const AWAY = 'BROKER_UNAVAILABLE, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS'

const MAX_RESET_BYTES = 16 * 1024 * 1024
/** Each partition is an object of two members. */
const MAX_RESET_VALUES = 5 * MAX_PARTITIONS + MAX_TOPICS + 100

export const groupRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/groups',
    needs: 'viewer',
    verb: 'list groups',
    tag: 'groups',
    doc: 'The consumer groups of the whole cluster with their lag and their topics. With `topic` only the groups that read it, each with its lag there.',
    query: groupListQuery,
    answers: { 200: groupListShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION' },
    async answer({ query }, rooms) {
      const topic = query.topic === undefined ? null : await findTopic(rooms, query.topic)
      if (isRefusal(topic)) return topic
      if (topic === null && query.sort === 'topicLag.totalLag')
        return misplaced('sort', 'by topicLag.totalLag needs topic')
      const states = query.state.split(',').filter(state => state.trim() !== '')
      const { groups, silent } = await listGroupsOfCluster(rooms, { states, types: [] })
      const isWanted = searchFor(query.q)
      const found = groups.filter(({ groupId }) => isWanted(groupId))
      const idOf = ({ groupId }: ClusterGroup) => groupId
      const lagsOf = async (some: readonly ClusterGroup[]) =>
        new Map(
          await Array.fromAsync(
            groupLags(rooms, some.map(idOf), topic?.id),
            reading => [reading.lag.groupId, reading] as const,
          ),
        )
      const allLags = topic !== null || query.sort === 'lag.totalLag' ? await lagsOf(found) : null
      const wanted = topic === null ? found : found.filter(({ groupId }) => allLags!.get(groupId)!.topicLag !== null)
      const sortBy = {
        groupId: idOf,
        state: ({ state }: ClusterGroup) => state,
        'lag.totalLag': ({ groupId }: ClusterGroup) => allLags?.get(groupId)?.lag.totalLag ?? null,
        'topicLag.totalLag': ({ groupId }: ClusterGroup) => allLags?.get(groupId)?.topicLag?.totalLag ?? null,
      }[query.sort]
      const page = pageOf(wanted, query, sortBy, idOf)
      const [lags, members] = await Promise.all([allLags ?? lagsOf(page), countMembers(rooms, page)])
      return reply(200, {
        groups: page.map(group => {
          const { lag, topics, topicLag } = lags.get(group.groupId)!
          return {
            ...group,
            members: members.get(group.groupId) ?? null,
            lag: lagBody(lag),
            topics: topics.slice(0, LISTED_TOPICS),
            topicCount: topics.length,
            topicLag: topicLag === null ? null : lagBody(topicLag),
          }
        }),
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
    doc: 'One consumer group: its state, its members with their partitions, and its position in each partition.',
    params: groupParams,
    answers: { 200: describedGroupShape },
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
    doc: 'The lag of one group, in total and in each partition.',
    params: groupParams,
    answers: { 200: lagOfGroupShape },
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
    doc: 'Deletes a group without members, with its offsets.',
    params: groupParams,
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
    doc: 'Deletes the committed offsets of the group in topics that no member reads.',
    params: groupParams,
    query: deletedOffsetsQuery,
    answers: { 200: deletedOffsetsShape },
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
      'With `dryRun` it shows, for each partition, the present committed and delivered offset and the offset that would replace them, ' +
      'with a token. The same request with the token applies exactly that, or nothing. `clear` is the default: consumers then begin ' +
      'where their own auto.offset.reset says.',
    params: groupParams,
    body: resetRequestShape,
    bodyLimit: MAX_RESET_BYTES,
    mostValues: MAX_RESET_VALUES,
    audited: ['scope', 'to', 'offset', 'timestamp', 'dryRun'],
    answers: { 200: resetShape },
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

/**
 * Returns the target of a reset. An `offset` or a `timestamp` that does not belong to `to` is refused: a client that
 * sends one does not mean `clear`.
 */
function targetOf({ to, offset, timestamp }: z.output<typeof resetRequestShape>): ResetTarget | Problem {
  const stray = to !== 'offset' && offset !== undefined ? 'offset' : 'timestamp'
  if (stray === 'offset' || (to !== 'timestamp' && timestamp !== undefined))
    return misplaced(stray, `goes with to: ${stray}, not with ${to}`)
  if (to === 'offset') return offset === undefined ? misplaced(to, 'is missing') : { to, offset }
  if (to === 'timestamp') return timestamp === undefined ? misplaced(to, 'is missing') : { to, timestampMs: timestamp }
  return { to }
}

function misplaced(field: 'offset' | 'timestamp' | 'sort', why: string): Problem {
  return problem('INVALID_REQUEST', `${field} ${why}.`, { fields: { [field]: why } })
}

/** Returns the refusal with the name of the group, which Kafka's own text does not contain. */
function named(refusal: Refusal, group: string): Refusal {
  if (refusal.code !== GROUP_ID_NOT_FOUND.code) return refusal
  return because(refusal, `There is no group '${group}'.`)
}

function lagBody({ groupId: _, lastCommitTimestampMs, ...lag }: GroupLag) {
  return { ...lag, lastCommitTimestamp: lastCommitTimestampMs }
}

function positionBody({ topicId: _, committed, ...position }: GroupPosition) {
  return { ...position, ...committedBody(committed) }
}

function resetRowBody({ topicId: _, committed, ...row }: ResetRow) {
  return { ...row, ...committedBody(committed) }
}

function committedBody(committed: GroupPosition['committed']) {
  return {
    committedOffset: committed?.offset ?? null,
    commitTimestamp: committed?.commitTimestampMs ?? null,
    metadata: committed?.metadata ?? null,
  }
}
