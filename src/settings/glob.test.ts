import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseGlob } from './glob.ts'

test('a glob matches whole names', () => {
  const cases: readonly [string, readonly string[], readonly string[]][] = [
    ['orders', ['orders'], ['order', 'orders2', 'Orders', '']],
    ['*', ['a', 'a.b-c_d'], []],
    ['orders.*', ['orders.', 'orders.eu', 'orders.eu.x'], ['orders', 'xorders.eu']],
    ['*.eu', ['a.eu', '.eu', 'x.eu.eu'], ['eu', 'a.eus']],
    ['a*b*c', ['abc', 'aXbYc', 'abbcc', 'abcbc'], ['acb', 'ab']],
    ['log-?', ['log-1'], ['log-', 'log-12']],
    ['log-[0-9a]', ['log-5', 'log-a'], ['log-b', 'log-']],
    ['[!a-c]x', ['dx', '9x'], ['ax', 'x']],
    ['[^a]', ['b'], ['a']],
    ['a**b', ['ab', 'axb'], ['a']],
    ['[a-]', ['a', '-'], ['b']],
    ['a.b', ['a.b'], ['axb']],
  ]
  for (const [text, matching, others] of cases) {
    const glob = parseGlob(text)
    assert(glob, text)
    for (const name of matching) assert.equal(glob.matches(name), true, `${text} matches ${name}`)
    for (const name of others) assert.equal(glob.matches(name), false, `${text} does not match '${name}'`)
  }
})

test('text that is no glob, or could never match a topic name, is refused', () => {
  for (const text of [
    '',
    '[',
    '[a',
    '[]',
    '[!]',
    '[b-a]',
    '{a,b}',
    'a b',
    'a/b',
    'a:b',
    '\\*',
    '(a+)+',
    'ä',
    'a'.repeat(1025),
  ]) {
    assert.equal(parseGlob(text), null, text)
  }
})

test('matching a glob with many * takes at most (length of glob) x (length of name) steps', () => {
  // Backtracking over twenty runs would take longer than this process lives.
  const glob = parseGlob(`${'a*'.repeat(20)}b`)
  assert.equal(glob?.matches('a'.repeat(249)), false)
})
