import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import type { StoredGroup } from './classic/group.ts'
import { decodeHead, encodeHead } from './classic/head-record.ts'
import { decodeOffset, encodeOffset, offsetField, parseOffsetField } from './offsets/offset-record.ts'

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const text = fc.string({ unit: 'grapheme' })
const bytes = fc.uint8Array({ maxLength: 50 }).map(each => Buffer.from(each))

const member = fc.record({
  id: text,
  instanceId: fc.option(text),
  clientId: text,
  clientHost: text,
  rebalanceTimeoutMs: int32,
  sessionTimeoutMs: int32,
  protocols: fc.array(fc.record({ name: text, metadata: bytes }), { maxLength: 3 }),
  assignment: bytes,
})

const head: fc.Arbitrary<StoredGroup> = fc.record({
  state: fc.constantFrom('Empty', 'PreparingRebalance', 'CompletingRebalance', 'Stable'),
  stateSinceMs: fc.nat(),
  generation: int32,
  protocolType: fc.option(text),
  protocolName: fc.option(text),
  leader: fc.option(text),
  members: fc.array(member, { maxLength: 4 }),
})

const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown

test('a stored group is read back as it was', () => {
  fc.assert(fc.property(head, group => assert.deepEqual(plain(decodeHead(encodeHead(group))), plain(group))))
})

test('a stored offset is read back as it was, below zero and up to the largest exact number', () => {
  for (const offset of [0, -1, -2, Number.MAX_SAFE_INTEGER]) {
    const committed = { offset, leaderEpoch: -1, metadata: 'ü', commitTimestampMs: 1_700_000_000_000 }
    for (const expireAtMs of [-1, 1_700_000_000_001]) {
      assert.deepEqual({ ...decodeOffset(encodeOffset({ ...committed, expireAtMs })) }, { ...committed, expireAtMs })
    }
  }
})

test('the name of a field names the partition of its offset', () => {
  assert.deepEqual(parseOffsetField(offsetField('AAAA-_AAAAAAAAAAAAAAAQ', 127)), {
    topicId: 'AAAA-_AAAAAAAAAAAAAAAQ',
    partition: 127,
  })
  assert.equal(parseOffsetField('head'), null)
})

test('values of a later version, with an unknown state, or cut short are refused, and the error says what was expected', () => {
  const whole = encodeOffset({ offset: 1, leaderEpoch: 0, metadata: '', commitTimestampMs: 0, expireAtMs: -1 })
  assert.throws(() => decodeOffset(Buffer.from([0, 1, ...whole.subarray(2)])), /version 1, this broker knows up to 0/)
  assert.throws(() => decodeOffset(Buffer.alloc(0)), /version -1/)
  assert.throws(() => decodeOffset(whole.subarray(0, whole.length - 1)))
  const empty = { stateSinceMs: 0, generation: 0, protocolType: null, protocolName: null, leader: null, members: [] }
  const group = Buffer.from(encodeHead({ state: 'Empty', ...empty }))
  group[2] = 4
  assert.throws(() => decodeHead(group), /state 4, 0 to 3 are known/)
})
