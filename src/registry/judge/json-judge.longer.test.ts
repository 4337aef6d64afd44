// JSON payloads, which threads judge: beside other formats in one batch, in pieces, and when they take too long.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgedTopic, named, openJudgeWorld } from '../../../testing/judge-world.ts'
import { accepted } from '../../../testing/registry-world.ts'
import { INVALID_RECORD, isRefusal } from '../../protocol/errors.ts'
import { framed } from '../payload/framing.ts'

const T = judgedTopic('t')
const CLOSED = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false }
const NAME = { type: 'record', name: 'Name', fields: [{ name: 'name', type: 'string' }] }
const json = (value: unknown) => Buffer.from(JSON.stringify(value))

test('JSON payloads are judged beside the keys of another format, and the bad ones are named in order', async t => {
  const { broken, register, counts, judge } = openJudgeWorld(t)
  const { id } = await register('t-value', CLOSED, 'JSON')
  const key = await register('t-key', NAME)
  const record = (value: unknown, name = '0261') => ({
    key: framed(key.id, Buffer.from(name, 'hex')),
    value: framed(id, json(value)),
  })
  assert.deepEqual(await broken(T, [record({ n: 1 }), record({})]), [])
  assert.deepEqual(
    await broken(T, [
      record({ n: 'x' }),
      record({ n: 1 }),
      record({}, '04'),
      record({ o: 1 }),
      record({ n: 1.5 }, '04'),
    ]),
    ['0 value bad-value', '2 key truncated', '3 value bad-value', '4 key truncated'],
  )
  assert.deepEqual(await counts(T), { valid: 3, truncated: 2, 'bad-value': 2 })
  assert.deepEqual([judge.judged(T).key.refused, judge.judged(T).value.refused], [2, 2])
  const schema = await register('t-value', CLOSED, 'JSON')
  assert.deepEqual(await broken(T, [named('header-guid', schema, json({ n: 1 }))]), [])
  assert.deepEqual(await broken(T, [named('header-id', schema, json({ n: '' }))]), ['0 value bad-value'])
  assert.deepEqual(await broken(T, [{ value: framed(id, Buffer.from('{"n":1')) }, { value: framed(id) }]), [
    '0 value bad-value',
    '1 value truncated',
  ])
})

test('a record of an old version must also match the latest one, if not all of them do', async t => {
  const { broken, register, registry } = openJudgeWorld(t)
  const open = { type: 'object', properties: { n: {} } }
  const v1 = await register('t-value', open, 'JSON')
  accepted(await registry.putConfig('t-value', { compatibility: 'NONE' }))
  await register('t-value', CLOSED, 'JSON')
  const records = [{ n: 1 }, { n: 'x' }, { m: 1 }].map(value => ({ value: framed(v1.id, json(value)) }))
  assert.deepEqual(await broken(T, records), [])
  accepted(await registry.putConfig('t-value', { compatibility: 'BACKWARD' }))
  assert.deepEqual(await broken(T, records), ['1 value bad-value', '2 value bad-value'])
})

test('a large batch is judged in pieces, and its last record counts', async t => {
  const { broken, register } = openJudgeWorld(t)
  const { id } = await register('t-value', { type: 'object', required: ['a'] }, 'JSON')
  const record = (value: unknown) => ({ value: framed(id, json(value)) })
  const large = Array.from({ length: 30 }, (_, n) => record({ a: 'x'.repeat(700_000), n }))
  assert.deepEqual(await broken(T, [...large, record({ a: 1 })], { compression: 'zstd' }), [])
  assert.deepEqual(await broken(T, [...large, record({ b: 1 })], { compression: 'zstd' }), ['30 value bad-value'])
  const many = await Promise.all(
    Array.from({ length: 4 }, () => broken(T, [record({ b: 1 }), ...large], { compression: 'zstd' })),
  )
  assert.deepEqual(many, Array(4).fill(['0 value bad-value']))
  const huge = { value: framed(id, Buffer.alloc(17 << 20, 0x20)) }
  assert.deepEqual(await broken(T, [record({ a: 1 }), huge], { compression: 'zstd' }), ['1 value too-large'])
})

test('a record that keeps a thread busy has its batch refused, and another topic does not wait for it', async t => {
  const { judged, broken, register } = openJudgeWorld(t, { recordCpuMs: 100 })
  const evil = await register('t-value', { type: 'string', pattern: '^(a+)+$' }, 'JSON')
  const other = await register('other-value', CLOSED, 'JSON')
  const slow = { value: framed(evil.id, json(`${'a'.repeat(40)}!`)) }
  const OTHER = judgedTopic('other')
  assert.deepEqual(await broken(OTHER, [{ value: framed(other.id, json({})) }]), [])
  const refused = Array.from({ length: 3 }, () => judged(T, [{ value: framed(evil.id, json('a')) }, slow]))
  let isRefused = false
  const all = Promise.all(refused).finally(() => {
    isRefused = true
  })
  for (let i = 0; i < 5; i++) assert.deepEqual(await broken(OTHER, [{ value: framed(other.id, json({})) }]), [])
  assert.equal(isRefused, false)
  for (const refusal of await all) {
    assert.ok(isRefusal(refusal) && refusal.code === INVALID_RECORD.code, JSON.stringify(refusal))
    assert.deepEqual(
      refusal.recordErrors!.map(({ batchIndex }) => batchIndex),
      [1],
    )
    assert.match(refusal.message, /rule too-slow: it takes more than 100 ms of processor time/)
  }
})

test('a batch that is not judged in time is refused, and never passes', async t => {
  const { judged, register, counts } = openJudgeWorld(t, { recordCpuMs: 100, timeoutMs: 300 })
  const { id } = await register('t-value', { type: 'string', pattern: '^(a+)+$' }, 'JSON')
  const slow = { value: framed(id, json(`${'a'.repeat(40)}!`)) }
  const verdicts = await Promise.all(Array.from({ length: 8 }, () => judged(T, [slow])))
  assert.ok(verdicts.every(isRefusal), JSON.stringify(verdicts))
  assert.equal((await counts(T)).valid, undefined)
})
