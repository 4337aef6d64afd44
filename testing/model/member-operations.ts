// Members that join, stay and leave while nothing is broken. Each rebalance ends with one generation that all members
// know, and each member gets the assignment of the leader.

import type { Random } from '../../src/base/random.ts'
import { MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID } from '../../src/protocol/errors.ts'
import { heartbeat } from '../../src/protocol/messages/heartbeat.ts'
import { joinGroup } from '../../src/protocol/messages/join-group.ts'
import { leaveGroup } from '../../src/protocol/messages/leave-group.ts'
import { syncGroup } from '../../src/protocol/messages/sync-group.ts'
import type { ResponseOf } from '../../src/protocol/schema.ts'
import { assigning, subscribing } from '../sim/groups.ts'
import { connect } from '../wire.ts'
import { expect, expectSame } from './difference.ts'
import type { GroupMember, GroupModel } from './group-model.ts'
import { anyGroup, persist } from './group-operations.ts'
import type { Scene } from './scene.ts'

type Joined = ResponseOf<typeof joinGroup>

const MOST_MEMBERS = 3
const SESSION_MS = 600_000
const NOBODY: GroupMember = { id: '', instanceId: null }

export async function joinMember(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  if (group.members.length >= MOST_MEMBERS) return
  const instanceId = random.below(3) === 0 ? `seat ${random.below(1_000_000)}` : null
  let newcomer: GroupMember = { id: '', instanceId }
  if (instanceId === null) {
    const answer = await join(scene, group, NOBODY)
    expectSame(`${group.name}: a first join`, answer.errorCode, MEMBER_ID_REQUIRED.code)
    newcomer = { id: answer.memberId, instanceId }
  }
  scene.note(`${group.name}: ${instanceId ?? newcomer.id} joins ${group.members.length} others`)
  await rebalance(scene, group, newcomer)
}

export async function leaveMember(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  const leaving = group.members[random.below(Math.max(1, group.members.length))]
  if (leaving === undefined) return
  const members = [{ memberId: leaving.id, groupInstanceId: leaving.instanceId }]
  const answer = await persist(
    scene,
    group,
    `${leaving.id} leaves`,
    each => each.errorCode,
    async () => scene.ask(await scene.coordinator(group), leaveGroup, 4, { groupId: group.name, members }),
  )
  scene.note(`${group.name}: ${leaving.id} leaves ${group.members.length - 1} others`)
  expectSame(`${group.name}: ${leaving.id} leaves`, [answer.errorCode, answer.members[0]!.errorCode], [NONE, NONE])
  group.members = group.members.filter(each => each !== leaving)
  if (group.members.length > 0) return rebalance(scene, group, null)
  group.generation++
  group.left()
}

/** Sends a heartbeat for every member; no heartbeat may report a rebalance. */
export async function stayMembers(scene: Scene, random: Random): Promise<void> {
  const group = anyGroup(scene, random)
  for (const member of group.members) {
    expectSame(`${group.name}: a heartbeat of ${member.id}`, await beat(scene, group, member), NONE)
  }
  scene.note(`${group.name}: ${group.members.length} heartbeats`)
}

/** Joins on a connection of its own, because a join waits for the other members. */
async function join(scene: Scene, group: GroupModel, { id, instanceId }: GroupMember): Promise<Joined> {
  const body = {
    groupId: group.name,
    memberId: id,
    groupInstanceId: instanceId,
    sessionTimeoutMs: SESSION_MS,
    rebalanceTimeoutMs: SESSION_MS,
    protocolType: 'consumer',
    ...subscribing(...scene.topicNames),
  }
  return persist(
    scene,
    group,
    `a join of ${group.name}`,
    each => each.errorCode,
    async () => {
      const wire = await connect({ port: (await scene.coordinator(group)).running!.port })
      try {
        return await wire.send(joinGroup, 7, body)
      } finally {
        await wire.close()
      }
    },
  )
}

async function beat(scene: Scene, group: GroupModel, { id, instanceId }: GroupMember): Promise<number> {
  const body = { groupId: group.name, generationId: group.generation, memberId: id, groupInstanceId: instanceId }
  const answer = await persist(
    scene,
    group,
    `a heartbeat of ${group.name}`,
    each => each.errorCode,
    async () => scene.ask(await scene.coordinator(group), heartbeat, 4, body),
  )
  return answer.errorCode
}

/** Lets the present members join again, together with the newcomer if there is one. */
async function rebalance(scene: Scene, group: GroupModel, newcomer: GroupMember | null): Promise<void> {
  const others = group.members
  group.age(Date.now())
  const joining = newcomer === null ? [] : [join(scene, group, newcomer)]
  for (const one of joining) one.catch(() => {})
  for (const other of others) {
    await scene.until(`${other.id} is told of a rebalance`, async () =>
      (await beat(scene, group, other)) === REBALANCE_IN_PROGRESS.code ? true : undefined,
    )
  }
  const rejoining = others.map(other => join(scene, group, other))
  const answers = await Promise.all([...rejoining, ...joining])
  // A coordinator that loaded the group again has forgotten the id that it gave to the newcomer. A client would join
  // again without an id.
  const isForgotten = scene.mayMove && newcomer !== null && answers.at(-1)!.errorCode === UNKNOWN_MEMBER_ID.code
  if (isForgotten) answers.pop()
  if (answers.length === 0) return
  adopt(group, answers, newcomer === null || isForgotten ? others : [...others, newcomer])
  await assign(scene, group)
}

function adopt(group: GroupModel, answers: readonly Joined[], asked: readonly GroupMember[]): void {
  const { generationId, leader: leaderId } = answers[0]!
  for (const { errorCode, memberId, generationId: own, leader, members } of answers) {
    const what = `${group.name}: what the join of ${memberId} answers`
    expectSame(what, { errorCode, own, leader }, { errorCode: NONE, own: generationId, leader: leaderId })
    expectSame(`${group.name}: members shown to ${memberId}`, members.length, memberId === leader ? answers.length : 0)
  }
  const isAnew = group.mayBeAnew && generationId === 1
  if (!isAnew) expectSame(`${group.name}: the generation`, generationId, group.generation + 1)
  const members = answers.map(({ memberId }, i): GroupMember => ({ id: memberId, instanceId: asked[i]!.instanceId }))
  const leader = members.find(({ id }) => id === leaderId)
  expect(leader !== undefined, () => `${group.name}: the leader ${leaderId} is not among its members`)
  group.age(Date.now())
  group.generation = generationId
  group.existence = 'yes'
  group.mayBeAnew = false
  group.members = [leader, ...members.filter(each => each !== leader)]
}

async function assign(scene: Scene, group: GroupModel): Promise<void> {
  const partsOf = group.members.map((_, i) => assigning({ [scene.topicNames[i % scene.topicNames.length]!]: [i] }))
  const assignments = group.members.map(({ id }, i) => ({ memberId: id, assignment: partsOf[i]! }))
  for (const [i, { id, instanceId }] of group.members.entries()) {
    const body = {
      groupId: group.name,
      generationId: group.generation,
      memberId: id,
      groupInstanceId: instanceId,
      assignments: i === 0 ? assignments : [],
    }
    const answer = await persist(
      scene,
      group,
      `a sync of ${group.name}`,
      each => each.errorCode,
      async () => scene.ask(await scene.coordinator(group), syncGroup, 4, body),
    )
    expectSame(`${group.name}: the sync of ${id}`, answer.errorCode, NONE)
    expect(answer.assignment.equals(partsOf[i]!), () => `${group.name}: ${id} is given what another was`)
  }
}
