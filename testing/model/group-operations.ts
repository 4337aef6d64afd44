// Operations of consumers and operators on the offsets of groups while nothing is broken: commit, fetch, delete and
// expire offsets, and delete the group. member-operations.ts has the joins and leaves of members.

import type { Random } from '../../src/base/random.ts'
import {
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  GROUP_ID_NOT_FOUND,
  GROUP_SUBSCRIBED_TO_TOPIC,
  ILLEGAL_GENERATION,
  NON_EMPTY_GROUP,
  NONE,
  NOT_COORDINATOR,
  UNKNOWN_MEMBER_ID,
} from '../../src/protocol/errors.ts'
import { deleteGroups } from '../../src/protocol/messages/delete-groups.ts'
import { offsetCommit } from '../../src/protocol/messages/offset-commit.ts'
import { offsetDelete } from '../../src/protocol/messages/offset-delete.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import type { RequestInput, ResponseOf } from '../../src/protocol/schema.ts'
import { expect, expectSame } from './difference.ts'
import type { Answered, Committed, GroupMember, GroupModel } from './group-model.ts'
import { anyPlace, type Place } from './places.ts'
import type { Scene } from './scene.ts'

/** Errors while the coordinator of a group moves or loads the group. The request had no effect and can be repeated. */
const PASSING: ReadonlySet<number> = new Set([
  COORDINATOR_LOAD_IN_PROGRESS.code,
  COORDINATOR_NOT_AVAILABLE.code,
  NOT_COORDINATOR.code,
])

const FIRST_WITH_IDS = 10

export const anyGroup = ({ groups }: Scene, random: Random): GroupModel => groups[random.below(groups.length)]!

/**
 * Repeats the request while it gets a passing error and such an error is allowed: if the coordinator may move, or if
 * the group may be under removal.
 */
export async function persist<T>(
  scene: Scene,
  group: GroupModel,
  what: string,
  errorOf: (answer: T) => number,
  ask: () => Promise<T>,
): Promise<T> {
  return scene.until(what, async () => {
    const answer = await ask()
    group.age(Date.now())
    const mayPass = scene.mayMove || group.existence !== 'yes'
    return mayPass && PASSING.has(errorOf(answer)) ? undefined : answer
  })
}

// ---- offsets

export function commitOf(
  group: GroupModel,
  { topic, partition }: Place,
  version: number,
  committed: Committed,
  retentionMs: number,
  member: GroupMember | null,
  generation: number,
): RequestInput<typeof offsetCommit> {
  const { offset, leaderEpoch, metadata } = committed
  const row = {
    partitionIndex: partition,
    committedOffset: offset,
    committedLeaderEpoch: leaderEpoch,
    committedMetadata: metadata,
  }
  const named = version >= FIRST_WITH_IDS ? { topicId: topic.id } : { name: topic.name }
  return {
    groupId: group.name,
    generationIdOrMemberEpoch: generation,
    memberId: member?.id ?? '',
    groupInstanceId: version >= 7 ? (member?.instanceId ?? null) : null,
    retentionTimeMs: version <= 4 ? retentionMs : -1,
    topics: [{ ...named, partitions: [row] }],
  }
}

export function anyCommit(random: Random, version: number): Committed {
  return {
    offset: random.below(10_000),
    leaderEpoch: version >= 6 ? random.below(5) : -1,
    metadata: `note ${random.below(1_000)}`,
  }
}

/** Commits as a member, without a member, as an unknown member, or with an old generation. */
export async function commitOffset(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const group = anyGroup(scene, random)
  const version = 2 + random.below(9)
  const committed = anyCommit(random, version)
  const retentionMs = version <= 4 && random.below(2) === 0 ? 150 : -1
  const choice = random.below(6)
  const member = group.members[random.below(Math.max(1, group.members.length))] ?? null
  const stranger: GroupMember = { id: 'a stranger', instanceId: null }
  const who = choice === 0 ? stranger : choice === 1 ? null : member
  const isStale = choice === 2 && who !== null
  const generation = who === null ? -1 : group.generation - (isStale ? 1 : 0)
  const body = commitOf(group, place, version, committed, retentionMs, who, generation)
  const sentAtMs = Date.now()
  const answer = await persist(
    scene,
    group,
    `a commit of ${group.name}`,
    each => each.topics[0]!.partitions[0]!.errorCode,
    async () => scene.ask(await scene.coordinator(group), offsetCommit, version, body),
  )
  const { errorCode } = answer.topics[0]!.partitions[0]!
  const by = who?.id ?? 'no member'
  scene.note(
    `${group.name}: OffsetCommit ${version} by ${by} for ${place.log.name}, generation ${generation}: ${errorCode}`,
  )
  const what = `${group.name}: a commit by ${by} of generation ${generation}, with ${group.members.length} members`
  const allowed = codesOfCommit(group, who, isStale, version)
  expect(allowed.includes(errorCode), () => `${what}: the broker says ${errorCode}, the model ${allowed.join(' or ')}`)
  if (errorCode !== NONE) return
  const expiresAtMs = retentionMs < 0 ? null : sentAtMs + retentionMs
  group.commit(place.topic.id, place.partition, { ...committed, expiresAtMs })
}

/** Returns the allowed error codes: two if the broker may have removed the group. */
function codesOfCommit(
  group: GroupModel,
  who: GroupMember | null,
  isStale: boolean,
  version: number,
): readonly number[] {
  group.age(Date.now())
  if (who === null) return [group.members.length === 0 ? NONE : UNKNOWN_MEMBER_ID.code]
  if (group.members.includes(who)) return [isStale ? ILLEGAL_GENERATION.code : NONE]
  const missing = (version >= 9 ? GROUP_ID_NOT_FOUND : ILLEGAL_GENERATION).code
  return { no: [missing], maybe: [missing, UNKNOWN_MEMBER_ID.code], yes: [UNKNOWN_MEMBER_ID.code] }[group.existence]
}

/** Fetches the offset of every partition, by name or all at once, in a random version. */
export async function fetchOffsets(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  scene.note(`${group.name}: what is committed`)
  await checkOffsets(scene, group, random)
}

export async function checkOffsets(scene: Scene, group: GroupModel, random: Random): Promise<void> {
  const version = 1 + random.below(10)
  const isAll = version >= 2 && random.below(2) === 0
  const topics = [...scene.topics.values()]
  const named = topics.map(({ name, id, logs }) => {
    const partitionIndexes = [...logs.keys()]
    return version >= FIRST_WITH_IDS ? { topicId: id, partitionIndexes } : { name, partitionIndexes }
  })
  const wanted = isAll ? null : named
  const body: RequestInput<typeof offsetFetch> =
    version >= 8
      ? { groups: [{ groupId: group.name, topics: wanted }] }
      : { groupId: group.name, topics: wanted as never }
  const answer = await persist(
    scene,
    group,
    `the offsets of ${group.name}`,
    each => errorOf(each, version),
    async () => scene.ask(await scene.coordinator(group), offsetFetch, version, body),
  )
  const rows = rowsOf(answer, version)
  const known = topics.map(({ name, id }) => (version >= FIRST_WITH_IDS ? id : name))
  for (const { said } of rows) {
    const mayBeThere = known.includes(said) || scene.uncertain.has(said)
    expect(mayBeThere, () => `${group.name}: OffsetFetch ${version} names topic ${said}, which is not there`)
  }
  for (const [i, { id, logs }] of topics.entries()) {
    const row = rows.find(({ said }) => said === known[i])
    for (const partition of logs.keys()) {
      const found = row?.partitions.find(each => each.partitionIndex === partition)
      expect(isAll || found !== undefined, () => `${group.name}: OffsetFetch ${version} lacks ${logs[partition]!.name}`)
      if (found !== undefined) expectSame(`${group.name}: the error of an offset`, found.errorCode, NONE)
      group.saw(id, partition, committedOf(found, version), Date.now())
    }
  }
}

/** Returns the error of the group. Version 1 repeats it in each row. */
function errorOf({ groups, topics, errorCode }: ResponseOf<typeof offsetFetch>, version: number): number {
  if (version >= 8) return groups[0]!.errorCode
  return version >= 2 ? errorCode : (topics[0]?.partitions[0]?.errorCode ?? NONE)
}

/** Returns the topics of an answer, each with its name or id, as the version has it. */
function rowsOf({ groups, topics }: ResponseOf<typeof offsetFetch>, version: number) {
  if (version < 8) return topics.map(({ name, partitions }) => ({ said: name, partitions }))
  return groups[0]!.topics.map(({ name, topicId, partitions }) => ({
    said: version >= FIRST_WITH_IDS ? topicId : name,
    partitions,
  }))
}

/** Returns null if there is no committed offset. Versions before 5 do not return the epoch. */
function committedOf(
  row:
    | { readonly committedOffset: number; readonly committedLeaderEpoch: number; readonly metadata: string | null }
    | undefined,
  version: number,
): Answered | null {
  if (row === undefined || row.committedOffset < 0) return null
  const { committedOffset: offset, committedLeaderEpoch, metadata } = row
  return { offset, leaderEpoch: version >= 5 ? committedLeaderEpoch : null, metadata: metadata ?? '' }
}

export async function deleteOffset(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const group = anyGroup(scene, random)
  const topics = [{ name: topic.name, partitions: [{ partitionIndex: partition }] }]
  const answer = await persist(
    scene,
    group,
    `an offset of ${group.name} is deleted`,
    each => each.errorCode,
    async () => scene.ask(await scene.coordinator(group), offsetDelete, 0, { groupId: group.name, topics }),
  )
  scene.note(`${group.name}: delete the offset of ${log.name}: ${answer.errorCode}`)
  group.age(Date.now())
  group.sawExistence(answer.errorCode !== GROUP_ID_NOT_FOUND.code)
  if (group.existence === 'no') return
  expectSame(`${group.name}: the error of OffsetDelete`, answer.errorCode, NONE)
  const row = answer.topics[0]!.partitions[0]!
  const isSubscribed = group.members.length > 0
  expectSame(
    `${group.name}: OffsetDelete of ${log.name}`,
    row.errorCode,
    isSubscribed ? GROUP_SUBSCRIBED_TO_TOPIC.code : NONE,
  )
  if (!isSubscribed) group.forget(topic.id, partition)
}

/** Waits until the offsets with a retention time have expired. */
export async function expireOffsets(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  if (group.members.length > 0 || group.existence === 'no') return
  scene.note(`${group.name}: offsets expire`)
  for (const topic of scene.topics.values()) {
    for (const partition of topic.logs.keys()) {
      if (!group.hasExpiring(topic.id, partition)) continue
      await scene.until(`${group.name}: the offset of ${topic.logs[partition]!.name} expires`, async () => {
        await checkOffsets(scene, group, random)
        return group.hasExpiring(topic.id, partition) ? undefined : true
      })
    }
  }
}

export async function deleteGroup(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  const answer = await persist(
    scene,
    group,
    `${group.name} is deleted`,
    each => each.results[0]!.errorCode,
    async () => scene.ask(await scene.coordinator(group), deleteGroups, random.below(3), { groupsNames: [group.name] }),
  )
  const { errorCode } = answer.results[0]!
  scene.note(`${group.name}: delete the group: ${errorCode}`)
  group.age(Date.now())
  group.sawExistence(errorCode !== GROUP_ID_NOT_FOUND.code)
  if (group.existence === 'no') return
  expectSame(
    `${group.name}: the error of DeleteGroups`,
    errorCode,
    group.members.length > 0 ? NON_EMPTY_GROUP.code : NONE,
  )
  if (errorCode === NONE) group.remove()
}
