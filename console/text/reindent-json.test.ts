import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { reindentJson } from './reindent-json.ts'

/** Removes white space outside of strings, by another way than the code. */
function bare(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
}

test('members and elements get a line each', () => {
  assert.equal(
    reindentJson('{"a":[1,{"b":null}],"c":{},"d":[ ]}'),
    '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ],\n  "c": {},\n  "d": []\n}',
  )
  assert.equal(reindentJson('[true]', 4), '[\n    true\n]')
})

test('big numbers, 1.10, duplicate keys and the order of keys stay as they are', () => {
  const produced = '{"id":73314510714175488,"price":1.10,"2":1,"1":2,"id":1E400,"e":-0.0e-10}'
  assert.equal(bare(reindentJson(produced)!), produced)
})

test('a single value is JSON too, and the space around it goes', () => {
  for (const value of ['1', '-0', '"a  b"', 'true', 'null', '""', '1e5'])
    assert.equal(reindentJson(`\n ${value}\t`), value)
})

test('escapes stay as they are, and white space in strings too', () => {
  const produced = '{"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9 ,:{}[]":"  \u2028 \\ud800"}'
  assert.equal(bare(reindentJson(produced)!), bare(produced))
  assert.match(reindentJson(produced)!, / {2}\u2028 /)
})

test('text that is not one JSON value gives null', () => {
  const texts = [
    ...['', ' ', 'hello', '{', '}', '[1', '[1,]', '[,1]', '{"a"}', '{"a":}', '{"a":1,}', '{a:1}', "{'a':1}", '[1 2]'],
    ...[
      '1 2',
      '01',
      '+1',
      '.5',
      '1.',
      '1e',
      '-',
      'NaN',
      'tru',
      'truely',
      '"a',
      '"\n"',
      '"\\x"',
      '"\\u12g4"',
      '"\\',
      ']',
    ],
    ...['[1}', '{"a":1]', '{"a":1}}', '[1]]', '{"a":1 "b":2}', '{"a"::1}', '// x\n1', '\u00a01', '\ufeff1', '"\\u12'],
  ]
  for (const text of texts) assert.equal(reindentJson(text), null, JSON.stringify(text))
})

test('it agrees with JSON.parse about which texts are JSON', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b":',
    '1',
    '-1.5e3',
    'true',
    'null',
    ' ',
    '\\',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
      const text = pieces.join('')
      let isJson = true
      try {
        JSON.parse(text)
      } catch {
        isJson = false
      }
      assert.equal(reindentJson(text) !== null, isJson, text)
    }),
    { numRuns: 3_000 },
  )
})

test('only white space outside of strings changes', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t '), (json, space) => {
      const text = `${space}${json}${space}`
      const lines = reindentJson(text)!
      assert.equal(bare(lines), bare(text))
      assert.equal(reindentJson(lines), lines)
      assert.deepEqual(JSON.parse(lines), JSON.parse(text))
    }),
  )
})

test('text that is nested too deep gives null, and the deepest that is taken is taken', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`
  assert.notEqual(reindentJson(nested(200)), null)
  assert.equal(reindentJson(nested(201)), null)
  assert.equal(reindentJson('['.repeat(1_000_000)), null)
})

test('text that indentation would make huge gives null', () => {
  assert.equal(reindentJson(`${'['.repeat(150)}${'1,'.repeat(500_000)}1${']'.repeat(150)}`), null)
})

test('5 MB take a moment', () => {
  const row = '{"id":73314510714175488,"name":"a longer text with \\"quotes\\" in it","tags":["a","b"],"price":1.10}'
  const text = `[${Array.from({ length: 50_000 }, () => row).join(',')}]`
  assert.equal(reindentJson(text)!.split('\n').length, 50_000 * 9 + 2)
  const longString = JSON.stringify('a\\'.repeat(2_500_000))
  assert.equal(reindentJson(longString), longString)
  // Work that grew with the square of the length would not end within the limit of the test.
})
