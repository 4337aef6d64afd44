import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { firstIndex } from './bisect.ts'

test('the search finds the same item as a look at all of them, or the end', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.nat(20), (numbers, limit) => {
      const sorted = numbers.sort((one, other) => one - other)
      const found = sorted.findIndex(each => each > limit)
      assert.equal(
        firstIndex(sorted, each => each > limit),
        found < 0 ? sorted.length : found,
      )
    }),
  )
})
