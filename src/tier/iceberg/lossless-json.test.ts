import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asInt64, parseJson, writeJson } from './lossless-json.ts'

test('metadata with 63-bit ids and odd numbers comes out as it went in, to the digit', () => {
  const text =
    '{"id":7397555330850519247,"least":-9223372036854775808,"safe":9007199254740991,"next":9007199254740993,' +
    '"ratio":1.0,"exponent":1e3,"minus":-0,"deep":[{"a":[18446744073709551615]}],"__proto__":{"b":1},"text":"1.0"}'
  assert.equal(writeJson(parseJson(text)), text)
})

test('equal integers are identical values, whether they fit a number or not', () => {
  const [small, large] = parseJson('[42, 7397555330850519247]') as unknown[]
  assert.equal(small, 42)
  assert.equal(large, 7397555330850519247n)
  assert.equal(asInt64(42n), small)
  assert.equal(asInt64(7397555330850519247n), large)
})

test('text that is no JSON throws a SyntaxError', () => {
  assert.throws(() => parseJson('{"a":01}'), SyntaxError)
})
