import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicOf } from '../../testing/catalogue-of.ts'
import { because, INVALID_CONFIG, UNKNOWN_TOPIC_ID } from '../protocol/errors.ts'
import { checkExpected, outdatedOr } from './expected-topic.ts'

const topic = topicOf('orders', { 'retention.ms': '5', 'cleanup.policy': 'delete' })
const { id, partitions } = topic

test('a topic is as expected if its id is the same, and every other member that is named', () => {
  const configs = { 'cleanup.policy': 'delete', 'retention.ms': '5' }
  for (const expected of [undefined, { id }, { id, partitions }, { id, configs }, { id, partitions, configs }])
    assert.equal(checkExpected(topic, expected), null)
  for (const expected of [
    { id: 'another' },
    { id, partitions: partitions + 1 },
    { id, configs: { ...configs, 'retention.ms': '6' } },
    { id, configs: { 'retention.ms': '5' } },
  ]) {
    const refusal = checkExpected(topic, expected)
    assert.ok(refusal !== null)
    assert.deepEqual(outdatedOr(refusal, expected), {
      ...{ kind: 'declined', code: 'PREVIEW_OUTDATED', fields: null },
      detail:
        'The preview no longer shows the present state, or this request asks for something else: ask for a new one.',
    })
  }
})

test('other refusals stay as they are', () => {
  const refusal = because(INVALID_CONFIG, 'no')
  assert.equal(outdatedOr(refusal, { id }), refusal)
  assert.equal(outdatedOr(UNKNOWN_TOPIC_ID, undefined), UNKNOWN_TOPIC_ID)
  const gone = outdatedOr(UNKNOWN_TOPIC_ID, { id })
  assert.equal('code' in gone && gone.code, 'PREVIEW_OUTDATED')
})
