// The size of a matching against all ways to match, and the number of questions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { maximumMatching } from './matching.ts'

function run(
  fits: readonly (readonly boolean[])[],
  rights: number,
  wanted: number,
  likely: (left: number) => number | undefined,
) {
  const asked = new Set<string>()
  const matching = maximumMatching(fits.length, rights, wanted, likely)
  let step = matching.next()
  while (!step.done) {
    const { left, right } = step.value
    assert.equal(asked.has(`${left} ${right}`), false, 'a pair is asked for once')
    asked.add(`${left} ${right}`)
    step = matching.next(fits[left]![right]!)
  }
  return { size: step.value, questions: asked.size }
}

/** Tries all ways. */
function best(fits: readonly (readonly boolean[])[], left = 0, taken = 0): number {
  if (left === fits.length) return 0
  let most = best(fits, left + 1, taken)
  for (const [right, isEdge] of fits[left]!.entries()) {
    if (isEdge && (taken & (1 << right)) === 0) most = Math.max(most, 1 + best(fits, left + 1, taken | (1 << right)))
  }
  return most
}

test('a matching is as large as the largest one', () => {
  const graph = fc.integer({ min: 1, max: 6 }).chain(rights => {
    const row = fc.array(fc.boolean(), { minLength: rights, maxLength: rights })
    return fc.tuple(
      fc.constant(rights),
      fc.array(row, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(rights - 1), { minLength: 6 }),
    )
  })
  fc.assert(
    fc.property(graph, ([rights, fits, likely]) => {
      const wanted = Math.min(fits.length, rights)
      const { size } = run(fits, rights, wanted, left => (likely[left]! % 2 === 0 ? likely[left] : undefined))
      const most = best(fits)
      // It may stop early once it is clear that not all of them can be matched.
      assert.equal(size === wanted, most === wanted)
      assert.ok(size <= most)
    }),
  )
})

test('members with the likely partner cost one question each', () => {
  const size = 500
  const fits = Array.from({ length: size }, (_, left) =>
    Array.from({ length: size }, (_, right) => right === size - 1 - left),
  )
  assert.deepEqual(
    run(fits, size, size, left => size - 1 - left),
    { size, questions: size },
  )
})
