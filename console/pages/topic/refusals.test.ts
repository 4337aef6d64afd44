import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../api/problem.ts'
import { refusalsOf } from './refusals.ts'

const fieldsOf = (code: string, detail: string, fields = {}) => {
  const { fields: found, rest } = refusalsOf(new Problem({ code, detail, fields }))
  return [found, rest?.code ?? null]
}

test('a refusal stands at the field that it belongs to', () => {
  assert.deepEqual(fieldsOf('INVALID_TOPIC_EXCEPTION', 'Topic name is invalid: …'), [
    { name: 'Topic name is invalid: …' },
    null,
  ])
  assert.deepEqual(fieldsOf('TOPIC_ALREADY_EXISTS', "Topic 'a' already exists."), [
    { name: "Topic 'a' already exists." },
    null,
  ])
  assert.deepEqual(fieldsOf('INVALID_PARTITIONS', 'Too many.'), [{ partitions: 'Too many.' }, null])
  assert.deepEqual(fieldsOf('INVALID_CONFIG', 'retention.ms: got "-7", takes an integer'), [
    { 'retention.ms': 'Got "-7", takes an integer.' },
    null,
  ])
  assert.deepEqual(fieldsOf('INVALID_REQUEST', 'partitions: got 0', { partitions: 'got 0' }), [
    { partitions: 'Got 0.' },
    null,
  ])
  assert.deepEqual(fieldsOf('INVALID_REQUEST', 'x', { 'configs.retention.ms': 'got a number' }), [
    { 'retention.ms': 'Got a number.' },
    null,
  ])
  assert.deepEqual(fieldsOf('INVALID_REQUEST', 'x', { 'set.segment.ms': 'got a list' }), [
    { 'segment.ms': 'Got a list.' },
    null,
  ])
})

test('a refusal of no field stays a problem', () => {
  assert.deepEqual(fieldsOf('REQUEST_TIMED_OUT', 'The store did not answer.'), [{}, 'REQUEST_TIMED_OUT'])
  assert.deepEqual(fieldsOf('INVALID_CONFIG', 'Unknown topic config name: zzz'), [{}, 'INVALID_CONFIG'])
  assert.deepEqual(refusalsOf(null), { fields: {}, rest: null })
})
