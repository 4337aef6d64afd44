import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aFewAtATime } from './a-few.ts'
import { systemClock } from './clock.ts'

test('many items are worked on a few at a time, and answered in their order', async () => {
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

test('what fails ends the work, and the items behind it are left out', async () => {
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
