import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aFewAtATime } from './a-few.ts'
import { systemClock } from './clock.ts'

test('many items are processed a few at a time, and the results keep the order of the items', async () => {
  const items = Array.from({ length: 250 }, (_, i) => i)
  let underWay = 0
  let most = 0
  const results = await aFewAtATime(systemClock, items, async item => {
    most = Math.max(most, ++underWay)
    await Promise.resolve()
    underWay--
    return item * 2
  })
  assert.deepEqual(
    results,
    items.map(item => item * 2),
  )
  assert.equal(most, 100)
})

test('if one call fails, the work ends and the remaining items are not started', async () => {
  const begun: number[] = []
  const work = aFewAtATime(
    systemClock,
    Array.from({ length: 300 }, (_, i) => i),
    async item => {
      begun.push(item)
      if (item === 150) throw new Error('no more')
    },
  )
  await assert.rejects(work, /no more/)
  assert.equal(begun.length, 200)
})
