import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchAddress } from './resource.ts'

const TOPIC = { uri: 'ketch://topics/{topic}' }

test('an address fits with one segment for each variable, which is decoded', () => {
  assert.deepEqual(matchAddress({ uri: 'ketch://health' }, 'ketch://health'), {})
  assert.deepEqual(matchAddress(TOPIC, 'ketch://topics/a%2Fb'), { topic: 'a/b' })
  for (const other of [
    'ketch://topics/',
    'ketch://topics/a/b',
    'ketch://topics/a/',
    'ketch://topic/a',
    'ketch://topics/%',
  ])
    assert.equal(matchAddress(TOPIC, other), null, other)
  assert.equal(matchAddress(TOPIC, `ketch://topics/a${'/'.repeat(1_000_000)}`), null)
})
