import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { Fifo } from './fifo.ts'

test('a queue returns its items in order, for any mixture of calls', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.constant('push' as const) },
    { weight: 4, arbitrary: fc.constant('shift' as const) },
    { weight: 1, arbitrary: fc.constant('unshift' as const) },
    { weight: 1, arbitrary: fc.constant('burst' as const) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), steps => {
      const queue = new Fifo<number>()
      const model: number[] = []
      let next = 0
      for (const what of steps) {
        if (what === 'push') model.push(next) && queue.push(next++)
        else if (what === 'shift') assert.equal(queue.shift(), model.shift())
        else if (what === 'unshift') {
          model.unshift(next, next + 1)
          queue.unshift([next, next + 1])
          next += 2
        } else for (let i = 0; i < 20; i++) model.push(next) && queue.push(next++)
        assert.equal(queue.length, model.length)
        for (const at of [0, 1, model.length - 1, model.length])
          assert.equal(queue.at(at), at < 0 ? queue.at(at) : model[at])
      }
    }),
    { numRuns: 50 },
  )
})
