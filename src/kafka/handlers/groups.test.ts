// The APIs for operators of consumer groups, over the wire in every version.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fetchFrom, startGround } from '../../../testing/kafka.ts'
import { assigning, subscribing } from '../../../testing/sim/groups.ts'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import type { Wire } from '../../../testing/wire.ts'
import { seededRandom } from '../../base/random.ts'
import { aloneInCluster } from '../../cluster/cluster.ts'
import { openClientQuotas } from '../../coordinator/client-quotas.ts'
import { openReadPositions } from '../../coordinator/read-positions.ts'
import { decodeRequest, encodeRequest } from '../../protocol/codec.ts'
import {
  GROUP_ID_NOT_FOUND,
  GROUP_SUBSCRIBED_TO_TOPIC,
  INVALID_GROUP_ID,
  NON_EMPTY_GROUP,
  NONE,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { deleteGroups } from '../../protocol/messages/delete-groups.ts'
import { describeGroups } from '../../protocol/messages/describe-groups.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { joinGroup } from '../../protocol/messages/join-group.ts'
import { leaveGroup } from '../../protocol/messages/leave-group.ts'
import { listGroups } from '../../protocol/messages/list-groups.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
import { offsetDelete } from '../../protocol/messages/offset-delete.ts'
import { offsetFetch } from '../../protocol/messages/offset-fetch.ts'
import { syncGroup } from '../../protocol/messages/sync-group.ts'
import type { Api, RequestOf } from '../../protocol/schema.ts'
import type { Request, Rooms } from '../handler.ts'
import { createThrottle } from '../throttle.ts'
import { fetchHandler } from './fetch.ts'

const versionsOf = ({ versions: { min, max } }: Api) => Array.from({ length: max - min + 1 }, (_, index) => min + index)

async function open(t: TestContext): Promise<Wire> {
  const ground = await startGround(t)
  return ground.connect()
}

/** A static member that reads partition 0 of `t`, stable. */
async function enter(wire: Wire, groupId: string, protocolType = 'consumer') {
  const asked = { groupId, memberId: '', groupInstanceId: 'here', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000 }
  const { protocols } = subscribing('t')
  const { memberId, generationId, errorCode } = await wire.send(joinGroup, 9, { ...asked, protocolType, protocols })
  assert.equal(errorCode, NONE)
  const assignments = [{ memberId, assignment: assigning({ t: [0] }) }]
  await wire.send(syncGroup, 3, { groupId, generationId, memberId, groupInstanceId: 'here', assignments })
  return memberId
}

async function commit(wire: Wire, groupId: string, name = 't') {
  const topics = [{ name, partitions: [{ partitionIndex: 0, committedOffset: 3, committedMetadata: '' }] }]
  const committed = await wire.send(offsetCommit, 8, { groupId, generationIdOrMemberEpoch: -1, memberId: '', topics })
  return committed.topics[0]!.partitions[0]!.errorCode
}

test('groups are listed in every version, by state and type if the version has these filters', async t => {
  const wire = await open(t)
  await enter(wire, 'members')
  await commit(wire, 'offsets')
  for (const version of versionsOf(listGroups)) {
    const { errorCode, groups } = await wire.send(listGroups, version, { statesFilter: [], typesFilter: [] })
    assert.equal(errorCode, NONE)
    const groupType = version < 5 ? '' : 'classic'
    assert.deepEqual(
      groups.map(group => ({ ...group })),
      [
        { groupId: 'members', protocolType: 'consumer', groupState: version < 4 ? '' : 'Stable', groupType },
        { groupId: 'offsets', protocolType: '', groupState: version < 4 ? '' : 'Empty', groupType },
      ],
    )
  }
  const listed = async (statesFilter: string[], typesFilter: string[] = []) => {
    const { groups } = await wire.send(listGroups, 5, { statesFilter, typesFilter })
    return groups.map(group => group.groupId)
  }
  assert.deepEqual(await listed(['EMPTY']), ['offsets'])
  assert.deepEqual(await listed([' stable', 'Dead']), ['members'])
  assert.deepEqual(await listed(['Assigning']), [])
  assert.deepEqual(await listed([], ['consumer', 'Classic']), ['members', 'offsets'])
  assert.deepEqual(await listed([], ['share', 'no type']), [])
})

test('a group is described in every version; an unknown one is Dead, and later not found', async t => {
  const wire = await open(t)
  const memberId = await enter(wire, 'g')
  for (const version of versionsOf(describeGroups)) {
    const asked = { groups: ['g', 'gone', 'g'], includeAuthorizedOperations: version >= 3 }
    const { groups } = await wire.send(describeGroups, version, asked, { clientId: 'tool' })
    const [known, unknown] = groups
    assert.equal(groups.length, 2, 'once')
    assert.deepEqual(
      [known!.errorCode, known!.groupState, known!.protocolType, known!.protocolData, known!.authorizedOperations],
      [NONE, 'Stable', 'consumer', 'range', version >= 3 ? 0b1101_0100_1000 : -(2 ** 31)],
    )
    const [member] = known!.members
    assert.deepEqual(
      [member!.memberId, member!.groupInstanceId, member!.clientId, member!.clientHost],
      [memberId, version < 4 ? null : 'here', 'wire', '/127.0.0.1'],
    )
    assert.deepEqual(Buffer.from(member!.memberAssignment), assigning({ t: [0] }))
    assert.deepEqual(Buffer.from(member!.memberMetadata), subscribing('t').protocols[0]!.metadata)
    assert.deepEqual(
      [unknown!.errorCode, unknown!.errorMessage, unknown!.groupState],
      version < 6 ? [NONE, null, 'Dead'] : [GROUP_ID_NOT_FOUND.code, 'Group gone not found.', 'Dead'],
    )
  }
})

test('groups are deleted in every version, each with its own outcome', async t => {
  const wire = await open(t)
  await enter(wire, 'used')
  for (const version of versionsOf(deleteGroups)) {
    await commit(wire, 'empty')
    await commit(wire, '')
    const { results } = await wire.send(deleteGroups, version, { groupsNames: ['empty', 'used', 'gone', 'empty', ''] })
    assert.deepEqual(
      results.map(row => [row.groupId, row.errorCode]),
      [
        ['empty', NONE],
        ['used', NON_EMPTY_GROUP.code],
        ['gone', GROUP_ID_NOT_FOUND.code],
        ['', NONE],
      ],
    )
  }
  await wire.send(leaveGroup, 3, { groupId: 'used', members: [{ memberId: '', groupInstanceId: 'here' }] })
  const { results } = await wire.send(deleteGroups, 2, { groupsNames: ['used'] })
  assert.equal(results[0]!.errorCode, NONE)
  assert.deepEqual((await wire.send(listGroups, 5, { statesFilter: [], typesFilter: [] })).groups, [])
})

test('positions are deleted row by row', async t => {
  const wire = await open(t)
  const deletion = async (groupId: string) => {
    const topics = [
      { name: 't', partitions: [{ partitionIndex: 0 }, { partitionIndex: 1 }, { partitionIndex: -1 }] },
      { name: 'gone', partitions: [{ partitionIndex: 0 }] },
    ]
    const answer = await wire.send(offsetDelete, 0, { groupId, topics })
    return answer.errorCode === NONE
      ? answer.topics.flatMap(({ name, partitions }) =>
          partitions.map(row => `${name}-${row.partitionIndex} ${row.errorCode}`),
        )
      : answer.errorCode
  }
  const missing = UNKNOWN_TOPIC_OR_PARTITION.code
  const row = (code: number) => [`t-0 ${code}`, `t-1 ${missing}`, `t--1 ${missing}`, `gone-0 ${missing}`]
  assert.equal(await deletion('g'), GROUP_ID_NOT_FOUND.code)
  assert.equal(await deletion(''), INVALID_GROUP_ID.code)
  await commit(wire, 'g')
  assert.deepEqual(await deletion('g'), row(NONE))
  const left = await wire.send(offsetFetch, 8, { groups: [{ groupId: 'g', topics: null }] })
  assert.deepEqual(left.groups[0]!.topics, [])
  await enter(wire, 'readers')
  assert.deepEqual(await deletion('readers'), row(GROUP_SUBSCRIBED_TO_TOPIC.code))
  await enter(wire, 'workers', 'connect')
  assert.equal(await deletion('workers'), NON_EMPTY_GROUP.code)
})

test('the records in a fetch answer count as delivered to its client, by client id and address', async t => {
  const { clock, store, settings, metrics, catalogue, logs, create, partition } = await openLogWorld(t)
  const topic = await create('t')
  await partition('t').append(batchOf(10), 0)
  const throttle = createThrottle(await openClientQuotas(store), clock)
  const readPositions = openReadPositions(clock)
  const rooms = {
    settings,
    metrics,
    catalogue,
    logs,
    readPositions,
    throttle,
    clock,
    random: seededRandom(1),
    cluster: aloneInCluster(0, null),
  }
  const handler = fetchHandler.open(rooms as unknown as Rooms)
  const fetched = async (offset: number, clientId: string, address = '10.0.0.1') => {
    const asked = decodeRequest(
      fetch,
      12,
      Buffer.concat(encodeRequest(fetch, 12, fetchFrom(offset, { maxWaitMs: 0 }))),
      0,
    )
    const { signal } = new AbortController()
    const request = {
      body: asked,
      apiVersion: 12,
      clientId,
      connection: { address, principal: 'User:ANONYMOUS', policy: null },
      receivedAtMs: 0,
      drain: signal,
      closed: signal,
    }
    await handler.answer(request as unknown as Request<RequestOf<typeof fetch>>)
    return readPositions.of('reader', '10.0.0.1', topic.id, 0)?.nextOffset ?? null
  }
  assert.equal(await fetched(3, 'other'), null)
  assert.equal(await fetched(3, 'reader', '10.0.0.2'), null)
  assert.equal(await fetched(99, 'reader'), null, 'a refused fetch delivers nothing')
  assert.equal(await fetched(3, 'reader'), 10)
  assert.equal(await fetched(10, 'reader'), 10, 'a client that asks for what follows has what comes before')
})
