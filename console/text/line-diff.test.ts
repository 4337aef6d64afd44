import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { lineDiff } from './line-diff.ts'

const SIGNS = { same: ' ', removed: '-', added: '+' } as const
const shown = (before: string, after: string) => lineDiff(before, after).map(({ kind, text }) => SIGNS[kind] + text)

test('changed lines stand where they were, with their numbers', () => {
  assert.deepEqual(lineDiff('a\nb\nc\n', 'a\nx\nc'), [
    { kind: 'same', text: 'a', before: 1, after: 1 },
    { kind: 'removed', text: 'b', before: 2, after: null },
    { kind: 'added', text: 'x', before: null, after: 2 },
    { kind: 'same', text: 'c', before: 3, after: 3 },
  ])
  assert.deepEqual(shown('', ''), [])
  assert.deepEqual(shown('', 'a'), ['+a'])
  assert.deepEqual(shown('a\n\nb', 'a\nb'), [' a', '-', ' b'])
  assert.deepEqual(shown('a\nb\nc\na\nb\nb\na', 'c\nb\na\nb\na\nc').filter(line => line[0] !== ' ').length, 5)
})

test('both texts can be read from the difference, and no shorter difference is possible', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map(lines => lines.map(line => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const rows = lineDiff(before, after)
      const side = (without: string) => rows.filter(row => row.kind !== without)
      assert.equal(
        side('added')
          .map(row => `${row.text}\n`)
          .join(''),
        before,
      )
      assert.equal(
        side('removed')
          .map(row => `${row.text}\n`)
          .join(''),
        after,
      )
      assert.deepEqual(
        side('added').map(row => row.before),
        side('added').map((_, at) => at + 1),
      )
      assert.deepEqual(
        side('removed').map(row => row.after),
        side('removed').map((_, at) => at + 1),
      )
      const common = rows.filter(row => row.kind === 'same').length
      assert.equal(common, longestCommon(before.split('\n').slice(0, -1), after.split('\n').slice(0, -1)))
    }),
    { numRuns: 500 },
  )
})

test('texts with nothing in common are shown one after the other, in a moment', () => {
  const many = (letter: string) => Array.from({ length: 30_000 }, (_, at) => `${letter}${at}`).join('\n')
  const rows = lineDiff(`same\n${many('a')}`, `same\n${many('b')}`)
  assert.deepEqual(
    [rows[0]!.kind, rows[1]!.kind, rows[30_000]!.kind, rows[30_001]!.kind],
    ['same', 'removed', 'removed', 'added'],
  )
  assert.equal(rows.length, 60_001)
  // Work that grew with the square of the length would not end within the limit of the test.
})

/** The textbook algorithm. */
function longestCommon(one: readonly string[], other: readonly string[]): number {
  let row = new Array<number>(other.length + 1).fill(0)
  for (const line of one) {
    const next = [0]
    for (const [at, each] of other.entries())
      next.push(line === each ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!))
    row = next
  }
  return row.at(-1)!
}
