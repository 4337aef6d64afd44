import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { batchOf, fetchOne, produceTo, startGround, valuesOf } from '../../../testing/kafka.ts'
import {
  INVALID_PARTITIONS,
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_REQUEST,
  NONE,
  REQUEST_TIMED_OUT,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { createPartitions } from '../../protocol/messages/create-partitions.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { Values } from '../../settings/settings.ts'

const SELF = 1

async function open(t: TestContext, overrides: Partial<Values> = {}) {
  const ground = await startGround(t, { 'broker.id': SELF, ...overrides })
  const wire = await ground.connect()
  const grow = async (
    topics: readonly { name?: string; count: number; assignments?: readonly (readonly number[])[] }[],
    { validateOnly = false, version = 3, timeoutMs = 5000 } = {},
  ) => {
    const { results } = await wire.send(createPartitions, version, {
      topics: topics.map(({ name = 't', count, assignments }) => ({
        name,
        count,
        assignments: assignments?.map(brokerIds => ({ brokerIds })) ?? null,
      })),
      timeoutMs,
      validateOnly,
    })
    return results.map(each => [each.name, each.errorCode, each.errorMessage])
  }
  const partitions = async () => {
    const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
    return topics[0]!.partitions.map(each => [each.partitionIndex, each.leaderId, each.errorCode])
  }
  return { ground, wire, grow, partitions }
}

test('a topic gets more partitions, which clients see and which take records at once; its records stay', async t => {
  const { wire, grow, partitions } = await open(t)
  await produceTo(wire, batchOf(['old']))
  for (let version = 0; version <= 3; version++) {
    assert.deepEqual(await grow([{ count: 2 + version }], { version }), [['t', NONE, null]])
  }
  assert.deepEqual(
    await partitions(),
    [0, 1, 2, 3, 4].map(index => [index, SELF, NONE]),
  )
  assert.deepEqual(await produceTo(wire, batchOf(['new']), { index: 4 }).then(row => [row.errorCode, row.baseOffset]), [
    NONE,
    0,
  ])
  assert.deepEqual(await valuesOf(await fetchOne(wire, 0)), [[0, 'old']])
  assert.equal((await produceTo(wire, batchOf(['old 2']))).baseOffset, 1)
})

test('a count that is no increase or too large, and a topic that is named twice, are refused in Kafka words', async t => {
  const { grow, partitions } = await open(t, { 'max-partitions-per-topic': 8 })
  await grow([{ count: 3 }])
  const cases: [Parameters<typeof grow>[0], number, string][] = [
    [[{ count: 3 }], INVALID_PARTITIONS.code, 'Topic already has 3 partition(s).'],
    [[{ count: 2 }], INVALID_PARTITIONS.code, 'The topic t currently has 3 partition(s); 2 would not be an increase.'],
    [
      [{ count: -1 }],
      INVALID_PARTITIONS.code,
      'The topic t currently has 3 partition(s); -1 would not be an increase.',
    ],
    [[{ count: 9 }], INVALID_PARTITIONS.code, "Topic 't' would have 9 partitions; svc.max-partitions-per-topic is 8."],
    [
      [{ count: 2 ** 31 - 1 }],
      INVALID_PARTITIONS.code,
      "Topic 't' would have 2147483647 partitions; svc.max-partitions-per-topic is 8.",
    ],
    [[{ count: 4 }, { count: 5 }], INVALID_REQUEST.code, 'Duplicate topic name.'],
    [
      [{ count: 5, assignments: [[SELF]] }],
      INVALID_REPLICA_ASSIGNMENT.code,
      'Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.',
    ],
    [
      [{ count: 4, assignments: [[]] }],
      INVALID_REPLICA_ASSIGNMENT.code,
      'The manual partition assignment includes an empty replica list.',
    ],
    [
      [{ count: 4, assignments: [[7]] }],
      INVALID_REPLICA_ASSIGNMENT.code,
      'The manual partition assignment includes broker 7, but no such broker is registered.',
    ],
    [
      [{ count: 4, assignments: [[SELF, SELF]] }],
      INVALID_REPLICA_ASSIGNMENT.code,
      'The manual partition assignment includes the broker 1 more than once.',
    ],
  ]
  for (const [request, code, message] of cases) {
    for (const validateOnly of [true, false])
      assert.deepEqual(await grow(request, { validateOnly }), [['t', code, message]])
  }
  assert.equal((await grow([{ name: 'nowhere', count: 4 }]))[0]![1], UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.equal((await partitions()).length, 3)
  assert.deepEqual(await grow([{ count: 4, assignments: [[SELF]] }]), [['t', NONE, null]])
})

test('validation alone adds nothing, and of two requests for the same count at once one is refused', async t => {
  const { grow, partitions } = await open(t)
  assert.deepEqual(await grow([{ count: 3 }], { validateOnly: true }), [['t', NONE, null]])
  assert.equal((await partitions()).length, 1)
  const outcomes = await Promise.all([grow([{ count: 3 }]), grow([{ count: 3 }])])
  assert.deepEqual(
    outcomes
      .flat()
      .map(row => row[1])
      .sort(),
    [NONE, INVALID_PARTITIONS.code],
  )
  assert.equal((await partitions()).length, 3)
})

test('if the store takes too long the answer is a timeout, and the partitions are still created', async t => {
  const { ground, grow, partitions } = await open(t)
  const release = ground.store.faults.hold('commit')
  assert.equal((await grow([{ count: 2 }], { timeoutMs: 5 }))[0]![1], REQUEST_TIMED_OUT.code)
  release()
  while ((await partitions()).length < 2) await new Promise(resolve => setImmediate(resolve))
})
