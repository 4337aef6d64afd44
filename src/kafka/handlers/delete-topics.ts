// DeleteTopics 1-6: deletes topics with all their records. The rules are in admin/topics.ts.
//
// The answer has one row for each name or id. Clients that read or write a deleted topic get
// UNKNOWN_TOPIC_OR_PARTITION at once. Waiting fetches are answered. Groups lose their offsets of the topic.
//
// Versions: 5 has error messages (KIP-599). 6 names a topic by its name or by its id (KIP-516), never by both.

import type { DeletedTopic, TopicReference } from '../../admin/contract.ts'
import { deleteTopics as remove } from '../../admin/topics.ts'
import { isRefusal, NONE, type Refusal, UNKNOWN_TOPIC_ID } from '../../protocol/errors.ts'
import { deleteTopics } from '../../protocol/messages/delete-topics.ts'
import { type RequestOf, type ResponseInput, ZERO_UUID } from '../../protocol/schema.ts'
import { handler, type Request, type Rooms } from '../handler.ts'
import { type Need, onTopics } from '../needs.ts'
import { lookForTopics } from '../partitions.ts'
import type { Permissions } from '../permissions.ts'

type Body = RequestOf<typeof deleteTopics>
type Row = ResponseInput<typeof deleteTopics>['responses'][number]

const FIRST_WITH_IDS = 6

export const deleteTopicsHandler = handler(deleteTopics, rooms => ({
  needs: request => referencesOf(request).flatMap(needsOf),
  audit: request => ({
    verb: 'delete topics',
    what: referencesOf(request).map(({ name, topicId }) => name ?? topicId),
  }),
  async answer(request) {
    const references = referencesOf(request)
    const refusals = await refusalsOf(rooms, request.permissions, references)
    const allowed = references.filter((_, at) => refusals[at] === null)
    const outcomes = await remove(rooms, allowed, { timeoutMs: request.body.timeoutMs })
    let next = 0
    const responses = references.map((topic, at) => {
      const refusal = refusals[at]!
      if (refusal !== null) return rowOf(topic, refusal)
      const outcome = outcomes[next++]!
      return rowOf(outcome.topic, outcome.result)
    })
    return { responses }
  },
  refused: (request, refusal) => ({
    responses: referencesOf(request).map(topic => rowOf(topic, refusal)),
  }),
}))

function referencesOf({ body, apiVersion }: Request<Body>): readonly TopicReference[] {
  if (apiVersion < FIRST_WITH_IDS) return body.topicNames.map(name => ({ name, topicId: null }))
  return body.topics.map(({ name, topicId }) => ({ name, topicId: topicId === ZERO_UUID ? null : topicId }))
}

function needsOf({ name, topicId }: TopicReference): readonly Need[] {
  if (name !== null) return onTopics('DELETE', 'name', [{ name }])
  return topicId === null ? [] : onTopics('DELETE', 'topicId', [{ topicId }])
}

/** Returns the refusal of each reference; null if the client may delete the topic, or if there is no such name. */
async function refusalsOf(
  rooms: Rooms,
  permissions: Permissions,
  references: readonly TopicReference[],
): Promise<readonly (Refusal | null)[]> {
  if (permissions.policy === null) return references.map(() => null)
  await lookForTopics(
    rooms,
    permissions,
    'topicId',
    references.flatMap(({ topicId }) => topicId ?? []),
  )
  const { topicsById } = rooms.catalogue.current()
  return references.map(({ name, topicId }) => {
    if (name !== null) return permissions.topic('name', name)
    if (topicId === null) return null
    // An id that is known only after this check would be deleted without a permission.
    return topicsById.has(topicId) ? permissions.topic('topicId', topicId) : UNKNOWN_TOPIC_ID
  })
}

function rowOf(topic: TopicReference, result: DeletedTopic | Refusal): Row {
  if (!isRefusal(result)) return { ...result, errorCode: NONE, errorMessage: null }
  const { code, message } = result
  return { name: topic.name, topicId: topic.topicId ?? ZERO_UUID, errorCode: code, errorMessage: message }
}
