import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, produceTo, startGround } from '../../../testing/kafka.ts'
import type { Wire } from '../../../testing/wire.ts'
import {
  FENCED_LEADER_EPOCH,
  INVALID_REQUEST,
  NONE,
  UNKNOWN_LEADER_EPOCH,
  UNKNOWN_TOPIC_OR_PARTITION,
  UNSUPPORTED_VERSION,
} from '../../protocol/errors.ts'
import { alterConfigs } from '../../protocol/messages/alter-configs.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'

const T0 = 1_700_000_000_000

async function ask(wire: Wire, version: number, timestamp: number, rest: Record<string, number> = {}) {
  const partitions = [{ partitionIndex: 0, timestamp, ...rest }]
  const { topics } = await wire.send(listOffsets, version, { replicaId: -1, topics: [{ name: 't', partitions }] })
  const { errorCode, offset, timestamp: found, leaderEpoch } = topics[0]!.partitions[0]!
  return { errorCode, offset, timestamp: found, leaderEpoch }
}

test('latest and earliest are answered without a time, in every version', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a', 'b', 'c']))
  for (let version = 1; version <= 11; version++) {
    const leaderEpoch = version < 4 ? -1 : 1
    assert.deepEqual(await ask(wire, version, -1), { errorCode: NONE, offset: 3, timestamp: -1, leaderEpoch })
    assert.deepEqual(await ask(wire, version, -2), { errorCode: NONE, offset: 0, timestamp: -1, leaderEpoch })
  }
})

test('each special timestamp has its first version, and is UNSUPPORTED_VERSION before', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a'], {}, T0))
  await produceTo(wire, batchOf(['b'], {}, T0 + 50))
  await produceTo(wire, batchOf(['c'], {}, T0 + 10))
  const nothing = { errorCode: NONE, offset: -1, timestamp: -1, leaderEpoch: -1 }
  const special = [
    [-3, 7, { errorCode: NONE, offset: 1, timestamp: T0 + 50, leaderEpoch: 1 }],
    [-4, 8, { errorCode: NONE, offset: 0, timestamp: -1, leaderEpoch: 1 }],
    [-5, 9, nothing],
    [-6, 11, nothing],
  ] as const
  for (const [timestamp, since, expected] of special) {
    for (let version = 4; version <= 11; version++) {
      const wanted = version < since ? { ...nothing, errorCode: UNSUPPORTED_VERSION.code } : expected
      assert.deepEqual(await ask(wire, version, timestamp), wanted, `${timestamp} in ${version}`)
    }
  }
  assert.equal((await ask(wire, 11, -7)).errorCode, UNSUPPORTED_VERSION.code)
})

test('a time finds the first record at or after it, with its own time; a time after the last finds no record', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const [at, value] of ['a', 'b', 'c'].entries()) await produceTo(wire, batchOf([value], {}, T0 + at * 100))
  const found = async (timestamp: number) => {
    const { errorCode, offset, timestamp: own } = await ask(wire, 5, timestamp)
    assert.equal(errorCode, NONE)
    return [offset, own]
  }
  assert.deepEqual(await found(0), [0, T0])
  assert.deepEqual(await found(T0), [0, T0])
  assert.deepEqual(await found(T0 + 1), [1, T0 + 100])
  assert.deepEqual(await found(T0 + 200), [2, T0 + 200])
  assert.deepEqual(await found(T0 + 201), [-1, -1])
  assert.deepEqual(await found(2 ** 53 - 1), [-1, -1])
})

test('a record with a timestamp beyond 53 bits is found, with the nearest time of 53 bits', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const configs = [{ name: 'message.timestamp.after.max.ms', value: '9223372036854775807' }]
  const resources = [{ resourceType: 2, resourceName: 't', configs }]
  await wire.send(alterConfigs, 2, { resources, validateOnly: false })
  const { errorCode } = await produceTo(wire, batchOf(['a'], {}, 2 ** 60))
  assert.equal(errorCode, NONE)
  const expected = { errorCode: NONE, offset: 0, timestamp: Number.MAX_SAFE_INTEGER, leaderEpoch: 1 }
  for (const timestamp of [-3, T0]) assert.deepEqual(await ask(wire, 7, timestamp), expected)
})

test('an empty partition has nothing at any time', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  assert.equal((await ask(wire, 7, -3)).offset, -1)
  assert.equal((await ask(wire, 7, T0)).offset, -1)
  assert.equal((await ask(wire, 7, -1)).offset, 0)
})

test('leader epochs are compared', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { leaderEpoch } = await ask(wire, 5, -1)
  assert.equal((await ask(wire, 5, -1, { currentLeaderEpoch: leaderEpoch })).errorCode, NONE)
  assert.equal((await ask(wire, 5, -1, { currentLeaderEpoch: leaderEpoch - 1 })).errorCode, FENCED_LEADER_EPOCH.code)
  assert.equal((await ask(wire, 5, -1, { currentLeaderEpoch: leaderEpoch + 1 })).errorCode, UNKNOWN_LEADER_EPOCH.code)
})

test('a partition that is named twice and an unknown partition have errors in their rows', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const partitions = [0, 0, 9].map(partitionIndex => ({ partitionIndex, timestamp: -1 }))
  const { topics } = await wire.send(listOffsets, 4, { replicaId: -1, topics: [{ name: 't', partitions }] })
  assert.deepEqual(
    topics[0]!.partitions.map(each => each.errorCode),
    [INVALID_REQUEST.code, INVALID_REQUEST.code, UNKNOWN_TOPIC_OR_PARTITION.code],
  )
})
