import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../base/random.ts'
import { unifiedDiff } from './unified-diff.ts'

const names = ['a', 'b'] as const

test('equal texts have no difference', () => {
  assert.equal(unifiedDiff('x\ny\n', 'x\ny\n', names), '')
})

test('a change has three lines around it, and changes that are near share a hunk', () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`)
  const changed = lines.toSpliced(2, 1, 'two').toSpliced(15, 0, 'new', 'newer').toSpliced(19, 1)
  assert.equal(
    unifiedDiff(`${lines.join('\n')}\n`, changed.join('\n'), names),
    [
      '--- a',
      '+++ b',
      '@@ -1,6 +1,6 @@',
      ...[' line 0', ' line 1', '-line 2', '+two', ' line 3', ' line 4', ' line 5'],
      '@@ -13,8 +13,9 @@',
      ...[
        ' line 12',
        ' line 13',
        ' line 14',
        '+new',
        '+newer',
        ' line 15',
        ' line 16',
        '-line 17',
        ' line 18',
        ' line 19',
      ],
      '',
    ].join('\n'),
  )
})

test('an empty text is the range before the first line', () => {
  assert.equal(unifiedDiff('', 'x\n', names), '--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n')
  assert.equal(unifiedDiff('x\n', '', names), '--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n')
})

/** Applies a difference as `patch` does. Throws if a line before the change is not there. */
function patched(before: readonly string[], difference: string): readonly string[] {
  const after: string[] = []
  let at = 0
  for (const line of difference.split('\n').slice(2, -1)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(line)
    if (hunk !== null) {
      const from = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1)
      after.push(...before.slice(at, from))
      at = from
      assert.equal(after.length, Number(hunk[3]) - (hunk[4] === '0' ? 0 : 1))
      continue
    }
    if (line[0] !== '+') assert.equal(before[at++], line.slice(1))
    if (line[0] !== '-') after.push(line.slice(1))
  }
  return [...after, ...before.slice(at)]
}

test('the difference makes the second text of the first, for generated texts', () => {
  const random = seededRandom(7)
  for (let round = 0; round < 500; round++) {
    const before = Array.from({ length: random.below(60) }, () => `${random.below(6)}`)
    const change = (line: string) =>
      random.below(5) === 0 ? [] : random.below(6) === 0 ? [line, `${random.below(9)}`] : [line]
    const after = before.flatMap(change)
    const text = (lines: readonly string[]) => lines.map(line => `${line}\n`).join('')
    const difference = unifiedDiff(text(before), text(after), names)
    assert.deepEqual(difference === '' ? before : patched(before, difference), after)
  }
})

test('texts that differ everywhere are replaced as a whole', () => {
  const lines = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`)
  const difference = unifiedDiff(lines('a').join('\n'), lines('b').join('\n'), names)
  assert.deepEqual(patched(lines('a'), difference), lines('b'))
})
