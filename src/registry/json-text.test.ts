// Reading and writing JSON as it was written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { digestOf, keyOfJson, plain, writeJson } from './json/json-values.ts'
import { InvalidJson, type Json, readJson } from './json-text.ts'

const minified = (text: string) => writeJson(readJson(text, 64))

test('numbers keep their digits and members their order', () => {
  const text = '{"z":1.50,"a":[1E400,-0,12345678901234567890.123456789012345678901]}'
  assert.equal(minified(text), text)
})

test('white space goes away outside of strings', () => {
  assert.equal(minified(' {\n "a b" : [ true ,\tfalse,\r\nnull ] , "c":{ } } '), '{"a b":[true,false,null],"c":{}}')
})

test('escapes are undone where JSON needs none', () => {
  assert.equal(minified(String.raw`"\u00e9\/\u0041\u001f\n\ud800"`), String.raw`"é/A\u001f\n\ud800"`)
})

test('of two members with one name the last one counts, at the place of the first one', () => {
  assert.equal(minified('{"a":1,"b":2,"a":3}'), '{"a":3,"b":2}')
})

test('a repeated member can be refused', () => {
  assert.throws(
    () => readJson('{"a":1,"b":{"c":1,"c":2}}', 64, { mayRepeat: false }),
    /expected no second "c", found ":2}}"/,
  )
  assert.equal(writeJson(readJson('{"a":{"b":1},"b":1}', 64, { mayRepeat: false })), '{"a":{"b":1},"b":1}')
})

test('comments of Java are read where they are allowed', () => {
  const text = '/* a */ [ // b\n 1 /**/ , "/* no comment */" ] // c'
  assert.equal(writeJson(readJson(text, 64, { hasComments: true })), '[1,"/* no comment */"]')
  assert.throws(() => readJson(text, 64), /line 1, column 1: expected a value/)
  assert.throws(() => readJson('1 /* open', 64, { hasComments: true }), /expected the end of the text/)
})

test('a member called __proto__ is a member', () => {
  assert.equal(minified('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}')
  const object = plain(readJson('{"__proto__":{"a":1}}', 64)) as Record<string, unknown>
  assert.deepEqual(Object.keys(object), ['__proto__'])
  assert.equal(object.a, undefined)
})

test('members can be sorted at every level', () => {
  assert.equal(writeJson(readJson('{"b":[{"d":1,"c":2}],"a":3}', 64), true), '{"a":3,"b":[{"c":2,"d":1}]}')
})

for (const [text, message] of [
  ['', 'line 1, column 1: expected a value, found the end'],
  ['{"a":1,}', 'line 1, column 8: expected a name in quotes, found "}"'],
  ['{"a" 1}', 'line 1, column 6: expected ":", found "1}"'],
  ['[1\n2]', 'line 2, column 1: expected "," or "]", found "2]"'],
  ['{"a":1', 'line 1, column 7: expected "," or "}", found the end'],
  ['"a', 'line 1, column 1: expected a string with a closing quote, found "\\"a"'],
  ['"\t"', 'line 1, column 1: expected a string with the escapes of JSON and without control characters'],
  ['"\\x"', 'line 1, column 1: expected a string with the escapes of JSON and without control characters'],
  ['nul', 'line 1, column 1: expected null, found "nul"'],
  ['01', 'line 1, column 2: expected the end of the text, found "1"'],
  ['1 1', 'line 1, column 3: expected the end of the text, found "1"'],
  ['.5', 'line 1, column 1: expected a value, found ".5"'],
  ['NaN', 'line 1, column 1: expected a value, found "NaN"'],
] as const) {
  test(`the text ${JSON.stringify(text)} is refused with its place`, () => {
    assert.throws(
      () => readJson(text, 64),
      (error: Error) => error instanceof InvalidJson && error.message.startsWith(message),
    )
  })
}

test('a value of more levels than allowed is refused, and one of as many is read', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.equal(minified(nested(64)), nested(64))
  assert.throws(() => readJson(nested(65), 64), /line 1, column 65: expected at most 64 levels/)
  assert.throws(() => readJson('['.repeat(1_000_000), 64), /at most 64 levels/)
})

test('a string of a megabyte is read', () => {
  const text = JSON.stringify('a"'.repeat(500_000))
  assert.equal(minified(text), text)
})

test('any value that JSON.stringify writes is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = JSON.stringify(value, null, 1)
      assert.deepEqual(plain(readJson(text, 512)), JSON.parse(text))
      assert.equal(minified(text), JSON.stringify(JSON.parse(text)))
    }),
  )
})

test('a text is JSON for the reader exactly if it is JSON for JSON.parse', () => {
  const mutated = fc.tuple(
    fc.jsonValue(),
    fc.nat(),
    fc.constantFrom('', ',', '"', '\\', '{', ']', '0', '-', 'e', ' ', '\u0001'),
  )
  fc.assert(
    fc.property(mutated, ([value, at, piece]) => {
      const text = JSON.stringify(value)
      const cut = at % (text.length + 1)
      const broken = text.slice(0, cut) + piece + text.slice(cut + 1)
      assert.equal(
        reads(() => readJson(broken, 512)),
        reads(() => JSON.parse(broken)),
        broken,
      )
    }),
  )
})

test('equal values have equal keys and digests, and others have not', () => {
  const of = (text: string): [string, string] => [keyOfJson(readJson(text, 64)), digestOf(readJson(text, 64))]
  assert.deepEqual(of('{"a":1.0,"b":[2]}'), of('{"b":[2e0],"a":1}'))
  const different = [
    '1',
    '"1"',
    '[1]',
    '[[1]]',
    '{"1":1}',
    '[1,2]',
    '[2,1]',
    'null',
    '"null"',
    '{}',
    '[]',
    '9007199254740993',
    '9007199254740992',
  ]
  assert.equal(new Set(different.map(text => of(text)[0])).size, different.length)
  assert.equal(new Set(different.map(text => of(text)[1])).size, different.length)
})

function reads(read: () => Json): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
