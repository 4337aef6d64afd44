import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coalesce, coalesceEach } from './coalesce.ts'

function gated() {
  const gates: PromiseWithResolvers<void>[] = []
  const run = coalesce(() => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    return gate.promise
  })
  const settle = () => new Promise(resolve => setImmediate(resolve))
  return { run, gates, settle }
}

test('callers that call during a run share the next run, which begins after it', async () => {
  const { run, gates, settle } = gated()
  const order: string[] = []
  const first = run().then(() => order.push('first'))
  await settle()
  const others = ['second', 'third'].map(name => run().then(() => order.push(name)))
  await settle()
  assert.equal(gates.length, 1)
  gates[0]!.resolve()
  await first
  await settle()
  assert.equal(gates.length, 2)
  gates[1]!.resolve()
  await Promise.all(others)
  assert.deepEqual(order, ['first', 'second', 'third'])
})

test('the error of a failed run goes to the callers of that run and to no others', async () => {
  const { run, gates, settle } = gated()
  const first = run()
  await settle()
  const second = run()
  gates[0]!.reject(new Error('no'))
  await assert.rejects(first, /no/)
  await settle()
  gates[1]!.resolve()
  await second
})

test('a thousand callers with one key share a run, callers during it share the next one, and other keys do not wait', async () => {
  const shared = coalesceEach<string, number>()
  const gate = Promise.withResolvers<void>()
  let runs = 0
  const work = async () => {
    const run = ++runs
    await gate.promise
    return run
  }
  const first = Array.from({ length: 1_000 }, () => shared('a', work))
  await Promise.resolve()
  await Promise.resolve()
  const later = Array.from({ length: 1_000 }, () => shared('a', work))
  const other = shared('b', async () => -1)
  assert.equal(await other, -1)
  gate.resolve()
  assert.deepEqual(new Set(await Promise.all(first)), new Set([1]))
  assert.deepEqual(new Set(await Promise.all(later)), new Set([2]))
  assert.equal(runs, 2)
})

test('after a failure the next caller with the key begins anew', async () => {
  const shared = coalesceEach<string, string>()
  const broken = shared('a', async () => {
    throw new Error('the store is away')
  })
  await assert.rejects(broken, /the store is away/)
  assert.equal(await shared('a', async () => 'right'), 'right')
})
