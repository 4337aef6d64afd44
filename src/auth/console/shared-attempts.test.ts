import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSharedAttempts } from './shared-attempts.ts'

test('a thousand callers at once share a run, and callers during a run share the next one', async () => {
  const shared = createSharedAttempts<number>()
  const gate = Promise.withResolvers<void>()
  let runs = 0
  const work = async () => {
    const run = ++runs
    await gate.promise
    return run
  }
  const first = Array.from({ length: 1_000 }, () => shared.take('a', work))
  await Promise.resolve()
  await Promise.resolve()
  const later = Array.from({ length: 1_000 }, () => shared.take('a', work))
  const other = shared.take('b', async () => -1)
  assert.equal(await other, -1)
  gate.resolve()
  assert.deepEqual(new Set(await Promise.all(first)), new Set([1]))
  assert.deepEqual(new Set(await Promise.all(later)), new Set([2]))
  assert.equal(runs, 2)
})

test('after a failure the next caller begins anew', async () => {
  const shared = createSharedAttempts<string>()
  const broken = shared.take('a', async () => {
    throw new Error('the store is away')
  })
  await assert.rejects(broken, /the store is away/)
  assert.equal(await shared.take('a', async () => 'right'), 'right')
})
