import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { option, quote, Unquotable } from './shell.ts'

/** Returns the words that a real shell makes of the text. */
function wordsOf(command: string, shell = 'sh'): readonly string[] {
  const { stdout, stderr, status } = spawnSync(shell, ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
  assert.equal(stderr, '')
  assert.equal(status, 0)
  return stdout.split('\0').slice(0, -1)
}

test('names without special characters stay readable', () => {
  for (const name of ['orders', 'a.b_c-9', 'localhost:9092,localhost:9093', 'retention.ms=60000', 'a@b/c%', '-x'])
    assert.equal(quote(name), name)
  assert.equal(option('--topic', 'my topic'), "--topic='my topic'")
  assert.equal(option('--partitions', 3), '--partitions=3')
})

test('the shell passes on exactly the names, whatever is in them', () => {
  const names = [
    ...[
      '',
      ' ',
      "it's",
      '"',
      '\\',
      '$HOME',
      '`id`',
      '$(id)',
      '!!',
      '*',
      '~',
      '#x',
      '=x',
      'a;b',
      'a&b',
      'a|b',
      '<x>',
      '{a,b}',
    ],
    ...[
      '[::1]:9092',
      "'",
      "''",
      '\t',
      'a\nb',
      'a\x1b[201~; id\n; x',
      '%s%d',
      "%'\x03\\",
      '\u202Egnp',
      'Größe',
      '\u{1f600}',
    ],
    ...['-n', '-', '--', '\r\nx', '\x7f', 'x\u20281', '\x019'],
  ]
  for (const shell of ['sh', 'bash']) assert.deepEqual(wordsOf(names.map(quote).join(' '), shell), names)
})

test('a pasted command has no character on which a terminal acts, and none that reorders it', () => {
  const command = quote('a\x03b\x1b[201~\u202Ec\n\td')
  assert.equal(command, `"$(printf -- 'a\\003b\\033[201~\\342\\200\\256c\\012\\011d')"`)
})

test('any text is passed on, or refused with a sentence', () => {
  const texts = fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(texts, all => {
      const passed: string[] = []
      const command = all.flatMap(text => {
        try {
          const word = quote(text)
          assert.ok(!/\p{Cc}/u.test(word))
          passed.push(text)
          return [word]
        } catch (error) {
          assert.ok(error instanceof Unquotable)
          assert.match(error.message, /^The text .*\.$/)
          assert.ok(text.includes('\0') || text.endsWith('\n') || !text.isWellFormed(), JSON.stringify(text))
          return []
        }
      })
      if (passed.length > 0) assert.deepEqual(wordsOf(command.join(' ')), passed)
    }),
    { numRuns: 60 },
  )
})

test('text that no command can pass on is refused', () => {
  for (const text of ['a\0', 'a\n', '\ud800']) assert.throws(() => quote(text), Unquotable)
})
