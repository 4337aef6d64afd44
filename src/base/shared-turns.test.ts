import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldLoop } from '../../testing/sim/held-loop.ts'
import { type Clock, systemClock } from './clock.ts'
import { aFewInSharedTurns } from './shared-turns.ts'

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

test('a hundred callers that share turns hold the event loop no longer than one does', async () => {
  const { clock, heldMs, hold } = heldLoop()
  const aFew = aFewInSharedTurns(clock, 16)
  const items = upTo(100)
  const callers = upTo(100).map(() =>
    aFew(items, async item => {
      // The first items of each call wait for no turn.
      if (item >= 16) hold(0.25)
      await Promise.resolve()
      return item
    }),
  )
  for (const results of await Promise.all(callers)) assert.deepEqual(results, items)
  assert.ok(Math.max(...heldMs.values()) <= 5.25, `${[...heldMs.values()]}`)
  assert.ok(heldMs.size > 400)
})

test('a small request waits for no turn, however busy others are', async () => {
  const clock: Clock = { ...systemClock, soon: () => assert.fail('it waits') }
  assert.deepEqual(await aFewInSharedTurns(clock, 16)(upTo(16), async item => item), upTo(16))
})

test('of each call as many items are in progress as its limit says, and a slow one does not stop the others', async () => {
  let underWay = 0
  let most = 0
  const slow = Promise.withResolvers<void>()
  let done = 0
  const results = aFewInSharedTurns(systemClock, 4)(upTo(50), async item => {
    most = Math.max(most, ++underWay)
    await (item === 1 ? slow.promise : Promise.resolve())
    underWay--
    if (++done === 49) slow.resolve()
    return item * 2
  })
  assert.deepEqual(
    await results,
    upTo(50).map(item => item * 2),
  )
  assert.equal(most, 4)
})

test('if one call fails, the remaining items are not started', async () => {
  const begun: number[] = []
  const work = aFewInSharedTurns(systemClock, 4)(upTo(300), async item => {
    begun.push(item)
    if (item === 10) throw new Error('no more')
  })
  await assert.rejects(work, /no more/)
  assert.ok(begun.length <= 14, `${begun.length}`)
})
