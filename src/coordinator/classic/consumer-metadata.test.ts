import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { encodeMessage } from '../../protocol/codec.ts'
import { consumerProtocolAssignment, consumerProtocolSubscription } from '../../protocol/messages/consumer-protocol.ts'
import { assignedPartitions, subscribedTopics } from './consumer-metadata.ts'

function encode(version: number, topics: readonly string[]): Buffer {
  const value = { topics, userData: null, ownedPartitions: [{ topic: 'owned', partitions: [1] }] }
  return Buffer.concat([Buffer.from([0, version]), ...encodeMessage(consumerProtocolSubscription, version, value)])
}

test('the topics of a subscription are read for any version', () => {
  for (let version = 0; version <= 3; version++) {
    assert.deepEqual(subscribedTopics(encode(version, ['a', 'ü', 'a'])), new Set(['a', 'ü']))
    assert.deepEqual(subscribedTopics(encode(version, [])), new Set())
  }
})

test('metadata that is not a subscription has no topics, and nothing throws', () => {
  const good = encode(1, ['topic'])
  for (let end = 0; end < 13; end++) assert.equal(subscribedTopics(good.subarray(0, end)), null)
  assert.equal(subscribedTopics(Buffer.from([0xff, 0xff, 0, 0, 0, 0])), null)
  assert.equal(subscribedTopics(Buffer.from([0, 0, 0x7f, 0xff, 0xff, 0xff])), null)
  assert.equal(subscribedTopics(Buffer.from([0, 0, 0, 0, 0, 1, 0, 1, 0xff])), null)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), bytes => {
      subscribedTopics(bytes)
      assignedPartitions(bytes)
    }),
  )
})

test('the partitions of an assignment are read for any version, and not from other bytes', () => {
  const assigned = [
    { topic: 'a', partitions: [0, 5] },
    { topic: 'ü', partitions: [] },
    { topic: 'a', partitions: [7] },
  ]
  for (let version = 0; version <= 3; version++) {
    const message = encodeMessage(consumerProtocolAssignment, version, { assignedPartitions: assigned, userData: null })
    const bytes = Buffer.concat([Buffer.from([0, version]), ...message])
    const expected = new Map([
      ['a', [0, 5, 7]],
      ['ü', []],
    ])
    assert.deepEqual(assignedPartitions(bytes), expected)
    for (let end = 0; end < bytes.length - 4; end++) assert.equal(assignedPartitions(bytes.subarray(0, end)), null)
  }
  assert.equal(assignedPartitions(Buffer.alloc(0)), null)
  assert.equal(assignedPartitions(Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0x7f, 0xff, 0xff, 0xff])), null)
})
