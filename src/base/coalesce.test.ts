import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coalesce } from './coalesce.ts'

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
