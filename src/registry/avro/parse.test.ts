import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidSchema, type Strictness } from '../format.ts'
import { avro } from './avro.ts'

const parse = (text: string, strictness: Strictness = 'new') => avro.parse({ text, dependencies: [] }, strictness)
const record = (...fields: readonly string[]) => `{"type":"record","name":"a.R","fields":[${fields.join(',')}]}`
const field = (type: string, more = '') => `{"name":"f","type":${type}${more}}`

/** The message that refuses the text. */
function refusal(text: string, strictness: Strictness = 'new'): string {
  try {
    parse(text, strictness)
  } catch (error) {
    if (error instanceof InvalidSchema) return error.message
    throw error
  }
  return 'accepted'
}

test('Java’s parser accepts these, and so does this one', () => {
  for (const text of [
    '"string"',
    '[]',
    '["null","int",{"type":"array","items":"int"},{"type":"map","values":[]}]',
    '/* a comment */ {"type":"int"} // and one more',
    record(field('["string","null"]', ',"default":null')),
    record(field('["null","a.R"]', ',"default":null')),
    record(field('["null","R"]')),
    // A name without a namespace is found from within another one.
    `[{"type":"fixed","name":"F","size":1},${record(field('"F"'))}]`,
    record(field('"float"', ',"default":"1.5"')),
    record(field('"double"', ',"default":"Infinity"')),
    record(field('{"type":"fixed","name":"F","size":0}', ',"default":"any length"')),
    record(field('{"type":"enum","name":"E","symbols":["A"]}', ',"default":"NOT_A_SYMBOL"')),
    record(field('{"type":"record","name":"I","fields":[{"name":"x","type":"int","default":1}]}', ',"default":{}')),
    record(field('{"type":"enum","name":"E","symbols":[],"default":null}')),
    '{"type":"error","name":"E","fields":[]}',
    '{"type":"record","name":"R","doc":1,"namespace":2,"fields":[]}',
    '{"type":"record","name":"ns.int","fields":[]}',
    '{"type":"record","name":"array","fields":[]}',
    `${record(field('{"type":"fixed","name":"F","size":1}'), '{"name":"g","type":{"type":"F"}}')}`,
  ])
    assert.equal(refusal(text), 'accepted', text)
})

test('a refusal names the place and what is expected there', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['', 'the schema is no JSON: line 1, column 1: expected a value, found the end'],
    ['{"type":"int"} x', 'the schema is no JSON: line 1, column 16: expected the end of the text, found "x"'],
    ['{"type":}', 'the schema is no JSON: line 1, column 9: expected a value, found "}"'],
    ['"unknown"', 'at the top: expected a type that is defined before it is used; "unknown" is not defined'],
    ['1', 'at the top: expected a type name, an object with "type" or a union, not a number'],
    ['{}', 'at /type: expected the name of a type, not nothing'],
    ['{"type":{"type":"int"}}', 'at /type: expected the name of a type, not an object'],
    ['{"type":"unknown"}', 'at /type: expected a type, not "unknown"'],
    ['["int","int"]', 'at /1: expected one branch of int, not two'],
    ['[["int"]]', 'at /0: expected a branch that is no union itself'],
    ['{"type":"array"}', 'at /items: expected the type of the items of the array'],
    ['{"type":"map","values":null}', 'at /values: expected a type name, an object with "type" or a union, not null'],
    ['{"type":"record","name":"R"}', 'at /fields: expected the list of fields, not nothing'],
    ['{"type":"record","fields":[]}', 'at /name: expected the name of the type, not nothing'],
    ['{"type":"record","name":"int","fields":[]}', 'at /name: expected a name that is no primitive type, as "int" is'],
    [record('1'), 'at /fields/0: expected an object with "name" and "type", not a number'],
    [record('{"name":"f"}'), 'at /fields/0/type: expected the type of field "f"'],
    [record('{"type":"int"}'), 'at /fields/0/name: expected the name of the field, not nothing'],
    [record(field('"int"'), field('"int"')), 'at /fields/1/name: expected one field "f", not two'],
    [record(field('"int"', ',"order":"up"')), 'at /fields/0/order: expected "ascending", "descending" or "ignore"'],
    [record(field('"int"', ',"aliases":"g"')), 'at /fields/0/aliases: expected a list of names'],
    [record(field(record())), 'at /fields/0/type/name: expected one definition of a.R, not two'],
    ['{"type":"enum","name":"E"}', 'at /symbols: expected the list of symbols, not nothing'],
    ['{"type":"enum","name":"E","symbols":["A","A"]}', 'at /symbols/1: expected one symbol "A", not two'],
    ['{"type":"enum","name":"E","symbols":["A"],"default":"B"}', 'at /default: expected one of the symbols'],
    ['{"type":"fixed","name":"F","size":-1}', 'at /size: expected the bytes of the fixed, from 0 to 2^31-9'],
    ['{"type":"fixed","name":"F","size":2147483648}', 'at /size: expected the bytes of the fixed, from 0 to 2^31-9'],
    ['{"type":"fixed","name":"F","size":1.0}', 'at /size: expected the bytes of the fixed, from 0 to 2^31-9'],
  ]
  for (const [text, message] of rows) assert.equal(refusal(text), message)
})

test('a new schema has no fixed that no record can hold, and a stored one may', () => {
  const fixed = (size: number) => record(field(`{"type":"fixed","name":"F","size":${size}}`))
  assert.equal(refusal(fixed(67_108_864)), 'accepted')
  for (const size of [67_108_865, 2_147_483_639]) {
    assert.equal(
      refusal(fixed(size)),
      `at /fields/0/type/size: expected at most 67108864 bytes, since no record holds the ${size} of the fixed a.F`,
    )
    assert.equal(refusal(fixed(size), 'stored'), 'accepted')
  }
})

test('a new schema has names of Avro, and a stored one any', () => {
  for (const text of [
    '{"type":"record","name":"1R","fields":[]}',
    '{"type":"record","name":"R","namespace":"a-b.c","fields":[]}',
    '{"type":"record","name":"Größe","fields":[]}',
    '{"type":"record","name":"R","aliases":["a b"],"fields":[]}',
    '{"type":"enum","name":"E","symbols":["a-b"]}',
    record('{"name":"f.g","type":"int"}'),
    record('{"name":"","type":"int"}'),
  ]) {
    assert.match(refusal(text), /a name has letters A-Z, a-z, digits and _, no digit first$/)
    assert.equal(refusal(text, 'stored'), 'accepted')
  }
})

test('a new schema has defaults of the type, and a stored one any', () => {
  const inner = '{"type":"record","name":"I","fields":[{"name":"x","type":"int"}]}'
  const rows: readonly (readonly [string, string, string])[] = [
    ['"int"', '"1"', 'expected an integer of 32 bits, not a string'],
    ['"int"', '2147483648', 'expected an integer of 32 bits, not a number (2147483648)'],
    ['"int"', '1.0', 'expected an integer of 32 bits, not a number (1.0)'],
    ['"long"', '9223372036854775808', 'expected an integer of 64 bits, not a number (9223372036854775808)'],
    ['"boolean"', 'null', 'expected true or false, not null'],
    ['"null"', 'false', 'expected null, not false'],
    ['"string"', '1', 'expected a string for the string, not a number (1)'],
    ['"double"', 'true', 'expected a number, not true'],
    ['{"type":"array","items":"int"}', '[1,"2"]', 'expected an integer of 32 bits, not a string'],
    ['{"type":"map","values":"int"}', '[]', 'expected an object for the map, not an array'],
    ['["null","int"]', '"x"', 'expected a value of a branch of the union, not a string'],
    ['[]', 'null', 'expected a value of a branch of the union, not null'],
    [inner, '{}', 'the record a.I lacks its field "x"'],
    [inner, '1', 'expected an object for the record a.I, not a number (1)'],
    ['"a.R"', '{}', 'the record a.R has a default within its own definition'],
  ]
  for (const [type, value, why] of rows) {
    const text = record(field(type, `,"default":${value}`))
    assert.equal(refusal(text), `at /fields/0/default: expected a default of field "f" that is valid: ${why}`)
    assert.equal(refusal(text, 'stored'), 'accepted')
  }
  assert.equal(
    refusal(record(field('"float"', ',"default":"one"'))),
    'at /fields/0/default: expected a number, not "one"',
  )
})

test('types in each other have a bound, and so has JSON', () => {
  const nested = (levels: number) => `${'{"type":"array","items":'.repeat(levels - 1)}"int"${'}'.repeat(levels - 1)}`
  assert.equal(refusal(nested(64)), 'accepted')
  assert.match(refusal(nested(65)), /^at (\/items){64}: expected at most 64 types in each other$/)
  assert.match(refusal('['.repeat(200_000)), /expected at most 256 levels, found/)
  assert.match(refusal(`{"type":"int","p":${'['.repeat(300)}`), /expected at most 256 levels/)
})

test('defaults that fill each other do not take exponential time', () => {
  const types = Array.from({ length: 60 }, (_, i) => {
    const type = i === 0 ? '"int","default":1' : `"R${i - 1}","default":{}`
    return `{"type":"record","name":"R${i}","fields":[{"name":"f","type":${type}},{"name":"g","type":${type}}]}`
  })
  assert.equal(refusal(`[${types.join(',')}]`), 'accepted')
})

test('a dependency is read as stored, its faults are named with it, and its types cannot be defined again', () => {
  const dependency = (text: string) => ({ name: 'a.D', text })
  const bad = dependency('{"type":"record","name":"a.D","fields":[{"name":"f","type":"int","default":"x"}]}')
  assert.equal(avro.parse({ text: '"a.D"', dependencies: [bad] }, 'new').root.kind, 'record')
  assert.throws(
    () => avro.parse({ text: '"a.D"', dependencies: [dependency('{"type":"record"}')] }, 'new'),
    new InvalidSchema('reference "a.D" at /name: expected the name of the type, not nothing'),
  )
  assert.throws(
    () => avro.parse({ text: '"a.D"', dependencies: [dependency('{')] }, 'new'),
    /^InvalidSchema: reference "a.D" is no JSON: line 1, column 2: expected a name in quotes, found/,
  )
  assert.throws(
    () => avro.parse({ text: bad.text, dependencies: [bad] }, 'new'),
    new InvalidSchema('at /name: expected one definition of a.D, not two'),
  )
})

test('a message repeats no long text', () => {
  const long = 'x'.repeat(100_000)
  for (const text of [
    `"${long}"`,
    `{"type":"${long}"}`,
    `{"type":"enum","name":"-${long}","symbols":[]}`,
    `{"${long}"}`,
  ])
    assert.ok(refusal(text).length < 1000)
})
