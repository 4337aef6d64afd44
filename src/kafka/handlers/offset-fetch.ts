// OffsetFetch 1-10: returns the committed offsets of one group, or of many. A partition without a committed offset
// has offset -1 and no error, and so has a topic name that does not exist. A group that does not exist has no
// offsets. Null topics ask for all topics.
//
//   1    no error for the whole group: every row has it
//   2    null topics; an error for the whole answer
//   5    the leader epoch that was committed with the offset (KIP-320)
//   7    requireStable (KIP-447): answers always wait for commits in progress; there are no transactions to wait for
//   8    many groups with an error each; the single group is ignored (KIP-709)
//   9    member id and epoch, which only the new consumer protocol uses (KIP-848): ignored, as in Kafka
//   10   topics by id only; an unknown id gets UNKNOWN_TOPIC_ID (KIP-848)
//
// Differences from Apache Kafka: a group that a request names more than once is refused with INVALID_REQUEST, and so
// is such a partition in each of its rows, because their answers may be much longer than their names.

import { aFewAtATime } from '../../base/a-few.ts'
import type { FetchedOffset } from '../../coordinator/groups.ts'
import type { Catalogue } from '../../log/catalogue.ts'
import { COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST, isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { offsetFetch } from '../../protocol/messages/offset-fetch.ts'
import { type RequestOf, ZERO_UUID } from '../../protocol/schema.ts'
import { handler, type Request, type Rooms } from '../handler.ts'
import { type Need, onEach, onListed, onTopics } from '../needs.ts'
import { findRepeated, findTopic, keyOf, lookForTopics, type Naming } from '../partitions.ts'

const FIRST_WITH_IDS = 10

/** One group of a request of any version. */
interface Asked {
  readonly groupId: string
  readonly topics: readonly Wanted[] | null
}

interface Wanted {
  readonly name: string
  readonly topicId: string
  readonly partitionIndexes: readonly number[]
}

interface Row {
  readonly partitionIndex: number
  readonly committedOffset: number
  readonly committedLeaderEpoch: number
  readonly metadata: string
  readonly errorCode: number
}

interface Found {
  readonly groupId: string
  readonly topics: readonly { readonly name: string; readonly topicId: string; readonly partitions: readonly Row[] }[]
  readonly errorCode: number
}

export const offsetFetchHandler = handler(offsetFetch, rooms => ({
  needs: request => askedOf(request).flatMap(asked => needsOf(asked, namingOf(request.apiVersion))),
  storeAway: COORDINATOR_LOAD_IN_PROGRESS,
  async answer(request) {
    const naming = namingOf(request.apiVersion)
    const repeated = repeatedIn(askedOf(request).map(({ groupId }) => groupId))
    const named = askedOf(request).flatMap(({ topics }) => topics?.map(each => each[naming]) ?? [])
    const looked = lookForTopics(rooms, request.permissions, naming, named)
    if (looked !== null) await looked
    const catalogue = rooms.catalogue.current()
    const groups = await aFewAtATime(rooms.clock, askedOf(request), async asked =>
      rooms.logger.during(request, () => {
        const denied = request.permissions.group(asked.groupId)
        const refusal = denied ?? (repeated.has(asked.groupId) ? INVALID_REQUEST : null)
        return refusal === null
          ? find(rooms, catalogue, naming, asked, request)
          : refuse(asked, refusal, request.apiVersion)
      }),
    )
    return toAnswer(request, groups)
  },
  refused: (request, refusal) =>
    toAnswer(
      request,
      askedOf(request).map(asked => refuse(asked, refusal, request.apiVersion)),
    ),
}))

function repeatedIn(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  return new Set(names.filter(name => seen.size === seen.add(name).size))
}

function namingOf(apiVersion: number): Naming {
  return apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'name'
}

function needsOf({ groupId, topics }: Asked, naming: Naming): readonly Need[] {
  const ofTopics = topics === null ? [onListed('DESCRIBE', 'TOPIC')] : onTopics('DESCRIBE', naming, topics)
  return [...onEach('DESCRIBE', 'GROUP', [groupId]), ...ofTopics]
}

function askedOf({ apiVersion, body }: Request<RequestOf<typeof offsetFetch>>): readonly Asked[] {
  if (apiVersion >= 8) return body.groups
  const topics = body.topics?.map(topic => ({ ...topic, topicId: ZERO_UUID })) ?? null
  return [{ groupId: body.groupId, topics }]
}

async function find(
  rooms: Rooms,
  catalogue: Catalogue,
  naming: Naming,
  asked: Asked,
  { apiVersion, permissions }: Request<unknown>,
): Promise<Found> {
  const { groupId } = asked
  if (asked.topics === null) {
    const { error, topics } = await rooms.groups.fetchOffsets({ groupId, topics: null })
    if (error !== null) return refuse(asked, error, apiVersion)
    const alive = topics.flatMap(({ topicId, offsets }) => {
      const topic = catalogue.topicsById.get(topicId)
      return topic === undefined || !permissions.shows('TOPIC', topic.name)
        ? []
        : [{ name: topic.name, topicId, partitions: offsets.map(rowOf) }]
    })
    return { groupId, topics: alive, errorCode: NONE }
  }

  const wanted = asked.topics.map(each => {
    const denied = permissions.topic(naming, each[naming])
    return { ...each, denied, topic: denied ?? findTopic(catalogue, naming, each[naming]) }
  })
  const known = wanted.flatMap(({ topic, partitionIndexes }) =>
    isRefusal(topic) ? [] : [{ topicId: topic.id, partitions: partitionIndexes }],
  )
  const { error, topics } = await rooms.groups.fetchOffsets({ groupId, topics: known })
  if (error !== null) return refuse(asked, error, apiVersion)
  const repeated = findRepeated(asked.topics.map(each => ({ topic: each[naming], partitions: each.partitionIndexes })))
  const positions = new Map<string, FetchedOffset>()
  for (const { topicId, offsets } of topics) {
    for (const offset of offsets) positions.set(keyOf(topicId, offset.partition), offset)
  }
  return {
    groupId,
    topics: wanted.map(({ name, topicId, partitionIndexes, denied, topic }) => ({
      name,
      topicId,
      partitions: partitionIndexes.map(index => {
        if (denied !== null) return nothing(index, denied.code)
        // An unknown name is not an error in this API; an unknown id is.
        if (isRefusal(topic)) return nothing(index, naming === 'topicId' ? topic.code : NONE)
        if (repeated.has(keyOf(naming === 'name' ? name : topicId, index))) return nothing(index, INVALID_REQUEST.code)
        const offset = positions.get(keyOf(topic.id, index))
        return offset === undefined ? nothing(index, NONE) : rowOf(offset)
      }),
    })),
    errorCode: NONE,
  }
}

function refuse({ groupId, topics }: Asked, refusal: Refusal, apiVersion: number): Found {
  const rows = (topics ?? []).map(({ name, topicId, partitionIndexes }) => ({
    name,
    topicId,
    partitions: partitionIndexes.map(index => nothing(index, refusal.code)),
  }))
  return { groupId, topics: apiVersion < 2 ? rows : [], errorCode: refusal.code }
}

function rowOf(fetched: FetchedOffset): Row {
  return {
    partitionIndex: fetched.partition,
    committedOffset: fetched.offset,
    committedLeaderEpoch: fetched.leaderEpoch,
    metadata: fetched.metadata,
    errorCode: NONE,
  }
}

function nothing(partitionIndex: number, errorCode: number): Row {
  return { partitionIndex, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode }
}

function toAnswer({ apiVersion }: Request<unknown>, groups: readonly Found[]) {
  if (apiVersion >= 8) return { topics: [], errorCode: NONE, groups }
  const only = groups[0]!
  return { topics: only.topics, errorCode: only.errorCode, groups: [] }
}
