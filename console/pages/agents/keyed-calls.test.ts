import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyed } from './keyed-calls.ts'

const call = (calledAt: string, name: string) => ({
  ...{ calledAt, name, client: null, from: '127.0.0.1', what: '{}', outcome: 'ok', bytes: 1, tookMs: 1 },
})

test('a call keeps its key while newer calls arrive, also if several have its time', () => {
  const [first, second, third] = [call('a', 'list_topics'), call('a', 'storage'), call('b', 'storage')]
  const before = keyed([second, first]).map(({ key }) => key)
  assert.deepEqual(before, ['a 1', 'a 0'])
  const after = keyed([third, second, first])
  assert.deepEqual(
    after.map(({ key }) => key),
    ['b 0', ...before],
  )
  assert.deepEqual(
    after.map(({ call }) => call),
    [third, second, first],
  )
})
