import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readJson } from './json-body.ts'

const read = (text: string | Uint8Array) => readJson(typeof text === 'string' ? Buffer.from(text) : text)

const refusal = (text: string | Uint8Array) => {
  const outcome = read(text)
  return 'refused' in outcome ? outcome.refused : null
}

test('a body of null is refused, and null within a body is not', () => {
  assert.equal(refusal(' null '), 'The body is null; leave it out, or send an object.')
  assert.equal(refusal('{"a": null}'), null)
})

test('JSON is read as it is written', () => {
  const text = '{"a": [1, -2.5e3, "x\\"}:\\u0041", true, null, {"a": {}}], "constructor": "c", "": 0}'
  assert.deepEqual(read(text), { value: JSON.parse(text) })
  assert.deepEqual(read(' 7 '), { value: 7 })
  assert.deepEqual(read('"a:b"'), { value: 'a:b' })
})

test('a body that two readers could understand differently is refused', () => {
  assert.match(refusal('{"a": 1, "b": {"a": 1}, "\\u0061": 2}')!, /"a" twice/)
  assert.match(refusal('[{"a": 1}, {"a": 1, "a": 1}]')!, /"a" twice/)
  assert.equal(refusal('[{"a": 1}, {"a": 1}]'), null)
  assert.match(refusal('{"n": 1e400}')!, /1e400/)
  assert.match(refusal('{"n": -9007199254740993}')!, /-9007199254740993.*must be a string/)
  for (const written of ['9007199254740993.0', '9007199254740993e0', '-90071992547409.93e2', '9007199254740992'])
    assert.match(refusal(`[${written}]`)!, /too large/, written)
  for (const exact of ['1e20', '1.7976931348623157e308', '-9007199254740991.0', '0.1234567890123456789', '1e-400'])
    assert.equal(refusal(`[${exact}]`), null, exact)
  assert.equal(refusal('{"n": 9007199254740991, "s": "9007199254740993"}'), null)
  assert.match(refusal(Buffer.from([0x22, 0xc3, 0x28, 0x22]))!, /not UTF-8/)
  assert.match(refusal('\uFEFF{}')!, /byte order mark/)
  for (const text of ['{"n": NaN}', "{'a': 1}", '{"a": 1,}', '// x\n{}', '', '{"a"'])
    assert.equal(refusal(text), 'The body is not JSON.')
})

test('an unpaired surrogate is refused wherever it stands, and a pair is taken however it is written', () => {
  const unpaired = ['\\ud800', '\\uDFFF', 'a\\ud83db', '\\ude00\\ud83d', '\\ud83d\\\\ude00', '\\ud83d\\ud83d\\ude00']
  for (const one of unpaired)
    for (const body of [`"${one}"`, `[{"a": ["${one}"]}]`, `{"${one}": 1}`])
      assert.match(refusal(body)!, /unpaired surrogate/, body)
  for (const paired of ['\\ud83d\\ude00', '\\uD83D\\uDE00', '\u{1f600}', '\\ud7ff\\ue000', '\\\\ud800', '\\uffff'])
    assert.deepEqual(read(`{"${paired}": "${paired}"}`), { value: JSON.parse(`{"${paired}": "${paired}"}`) }, paired)
})

test('nesting is bounded', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.equal(refusal(nested(64)), null)
  assert.match(refusal(nested(65))!, /64 levels/)
  assert.match(refusal(nested(9_000))!, /64 levels/)
  assert.match(refusal(`${'{"a":'.repeat(4_000)}1${'}'.repeat(4_000)}`)!, /64 levels/)
})

test('a member __proto__ is refused however it is written', () => {
  assert.match(refusal('{"__proto__": {"isAdmin": true}}')!, /__proto__/)
  assert.match(refusal('{"a": [{"\\u005f_proto__": 1}]}')!, /__proto__/)
  assert.equal(refusal('{"name": "__proto__"}'), null)
})

test('a number has a bounded length: reading its digits takes steps', () => {
  assert.equal(refusal(`[0.${'1'.repeat(1_000)}]`), null)
  assert.match(refusal(`[1${'0'.repeat(500_000)}1e-499982]`)!, /a number of more than 1100 characters/)
  assert.match(refusal(`{"a": -${'9'.repeat(1_100)}}`)!, /a number of more than 1100 characters/)
})

const many = (one: (at: number) => string, count: number) => Array.from({ length: count }, (_, at) => one(at)).join()

test('a body with more values than its route takes is refused before any of them is made', t => {
  const bodies = [
    `{${many(at => `"k${at}":1`, 5_000)}}`,
    `{${many(at => `"\\u0041${at}":1`, 5_000)}}`,
    `[${many(() => '"\\ud83d\\ude00"', 10_000)}]`,
    `[${many(() => '{}', 5_000)}]`,
    `[${many(() => '1e20', 10_000)}]`,
    '['.repeat(10_001),
    `{${'"a":'.repeat(10_001)}`,
    // Also where it is no JSON.
    `"${','.repeat(20_000)}" ${','.repeat(10_001)}`,
  ]
  const parse = t.mock.method(JSON, 'parse')
  for (const body of bodies)
    assert.deepEqual(readJson(Buffer.from(body)), { refused: 'The body has more than 10000 values.' })
  assert.equal(parse.mock.callCount(), 0)
})

test('a text of half a megabyte is one value, whatever it is made of, and is parsed at most twice', t => {
  for (const piece of [',', '\\"', '\\\\', '\\n', '\\u0041', '\\ud83d\\ude00', '{[', 'x']) {
    const body = `{"schema":"${piece.repeat((512 * 1024) / piece.length)}"}`
    const parse = t.mock.method(JSON, 'parse')
    assert.ok('value' in readJson(Buffer.from(body), 3), piece)
    assert.ok(parse.mock.callCount() <= 2, `${piece}: parsed ${parse.mock.callCount()} times`)
    parse.mock.restore()
  }
})

test('the values that a route takes are counted with the names of members', () => {
  assert.deepEqual(readJson(Buffer.from('{"a": 1, "b": [2, ",:{["]}'), 7), { value: { a: 1, b: [2, ',:{['] } })
  assert.ok('refused' in readJson(Buffer.from('{"a": 1, "b": [2, ",:{["]}'), 6))
})
