// Consumer groups of the whole cluster: their state, their lag, and the changes that an operator may make.

import { deleteGroup, deleteOffsetsInTopics, resetOffsets } from '../../admin/groups/group-changes.ts'
import { listGroupPage, showGroup, showGroupLag } from '../../admin/groups/shown-groups.ts'
import {
  deletedOffsetsQuery,
  deletedOffsetsShape,
  describedGroupShape,
  groupListQuery,
  groupListShape,
  groupParams,
  lagOfGroupShape,
  MAX_PARTITIONS,
  MAX_TOPICS,
  resetRequestShape,
  resetShape,
} from '../../api/groups.ts'
import { found, reply, route } from '../route.ts'

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
      return found(await listGroupPage(rooms, query))
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
      return found(await showGroup(rooms, group))
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
      return found(await showGroupLag(rooms, group))
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
      return (await deleteGroup(rooms, group)) ?? reply(204)
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
      return found(await deleteOffsetsInTopics(rooms, group, [query.topic].flat()))
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
      return found(await resetOffsets(rooms, group, body))
    },
  }),
]
