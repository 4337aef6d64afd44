import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentCalls } from './recent-calls.ts'

test('the last hundred calls are kept, the newest first', () => {
  const recent = new RecentCalls()
  const common = {
    calledAt: '2026-11-28T00:00:00.000Z',
    client: null,
    from: '127.0.0.1',
    what: '{}',
    outcome: 'ok',
    bytes: 1,
  }
  for (let i = 0; i < 250; i++) recent.add({ ...common, name: `call ${i}`, tookMs: 1 })
  const names = recent.newestFirst().map(({ name }) => name)
  assert.equal(names.length, 100)
  assert.deepEqual([names[0], names[99]], ['call 249', 'call 150'])
})
