import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, fetchOne, produceTo, startGround } from '../../../testing/kafka.ts'
import { INVALID_REQUEST, NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION } from '../../protocol/errors.ts'
import { deleteTopics } from '../../protocol/messages/delete-topics.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../../protocol/messages/offset-fetch.ts'
import { ZERO_UUID } from '../../protocol/schema.ts'

const named = (...names: string[]) => names.map(name => ({ name }))

test('a topic goes away by its name, in every version, with its records', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let version = 1; version <= 6; version++) {
    await wire.send(metadata, 4, { topics: named('t') })
    assert.equal((await produceTo(wire, batchOf(['v']))).baseOffset, 0)
    const topics = ['t', 'nope'].map(name => ({ name, topicId: ZERO_UUID }))
    const which = { topics, topicNames: ['t', 'nope'] }
    const { responses } = await wire.send(deleteTopics, version, { ...which, timeoutMs: 5000 })
    assert.deepEqual(
      responses.map(each => [each.name, each.errorCode]),
      [
        ['t', NONE],
        ['nope', UNKNOWN_TOPIC_OR_PARTITION.code],
      ],
    )
    assert.equal((await fetchOne(wire, 0)).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  }
})

test('version 6 takes an id in place of a name, and not both', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 12, { topics: named('t') })
  const { topicId } = topics[0]!
  const stranger = 'abcdefghijklmnopqrstuQ'
  const both = await wire.send(deleteTopics, 6, { topics: [{ name: 't', topicId }], timeoutMs: 5000 })
  assert.equal(both.responses[0]!.errorCode, INVALID_REQUEST.code)
  const byId = await wire.send(deleteTopics, 6, {
    topics: [{ topicId }, { topicId: stranger }, { topicId: ZERO_UUID }],
    timeoutMs: 5000,
  })
  assert.deepEqual(
    byId.responses.map(each => [each.errorCode, each.name, each.topicId]),
    [
      [NONE, 't', topicId],
      [UNKNOWN_TOPIC_ID.code, null, stranger],
      [INVALID_REQUEST.code, null, ZERO_UUID],
    ],
  )
})

test('groups lose the offsets of a deleted topic, so that a topic that is created again starts without', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const partitions = [{ partitionIndex: 0, committedOffset: 5, committedMetadata: '' }]
  const commit = { groupId: 'g', generationIdOrMemberEpoch: -1, memberId: '', topics: [{ name: 't', partitions }] }
  await wire.send(offsetCommit, 8, commit)
  const committed = async () => {
    const asked = { groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }
    return (await wire.send(offsetFetch, 5, asked)).topics[0]!.partitions[0]!.committedOffset
  }
  assert.equal(await committed(), 5)
  await wire.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 5000 })
  await wire.send(metadata, 4, { topics: named('t') })
  assert.equal(await committed(), -1)
})
