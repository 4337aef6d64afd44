import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avro } from './avro.ts'
import { decodeAvro } from './decode.ts'
import { encodeAvro } from './encode.ts'

const programOf = (text: string) => avro.compile(avro.parse({ text, dependencies: [] }, 'new'))
const record = (...fields: readonly string[]) => `{"type":"record","name":"a.R","fields":[${fields.join(',')}]}`
const MOST = 1_000_000

function decoded(schema: string, hex: string, most = MOST): string {
  const bytes = Buffer.from(`ff${hex.replaceAll(' ', '')}ff`, 'hex')
  const text = decodeAvro(programOf(schema), bytes, 1, bytes.length - 1, most)
  return typeof text === 'string' ? text : `${text.reason}: ${text.message}`
}

function encoded(schema: string, text: string, most = MOST): string {
  const bytes = encodeAvro(programOf(schema), text, most)
  return Buffer.isBuffer(bytes) ? bytes.toString('hex') : bytes.message
}

const ENUM = '{"type":"enum","name":"E","symbols":["A","B"]}'
const FIXED = '{"type":"fixed","name":"F","size":2}'

test('values are shown as JSON, and their text makes the same bytes', () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['"null"', '', 'null'],
    ['"boolean"', '01', 'true'],
    ['"int"', 'ffffffff0f', '-2147483648'],
    ['"long"', 'feffffffffffffffff01', '9223372036854775807'],
    ['"long"', 'ffffffffffffffffff01', '-9223372036854775808'],
    ['"long"', '8480808080808020', '9007199254740994'],
    ['"float"', 'cdcccc3d', '0.1'],
    ['"float"', '0000807f', '"Infinity"'],
    ['"double"', '000000000000f83f', '1.5'],
    ['"double"', '0000000000000080', '-0.0'],
    ['"double"', '9a9999999999b93f', '0.1'],
    ['"double"', '000000000000f8ff', '"NaN"'],
    ['"bytes"', '0a 00 22 41 7f ff', '"\\u0000\\"A\\u007f\\u00ff"'],
    [FIXED, 'fe31', '"\\u00fe1"'],
    ['"string"', '08 c3a4 22 0a', '"ä\\"\\n"'],
    [ENUM, '02', '"B"'],
    ['{"type":"array","items":"int"}', '04020400', '[1,2]'],
    ['{"type":"array","items":"int"}', '00', '[]'],
    ['{"type":"map","values":"int"}', '0202610200', '{"a":1}'],
    ['["null","string"]', '00', 'null'],
    ['["null","string"]', '020261', '{"string":"a"}'],
    [`["null",${record('{"name":"f","type":"int"}')}]`, '0204', '{"a.R":{"f":2}}'],
    [
      record('{"name":"f","type":["null","R"]}', '{"name":"n","type":"null"}'),
      '0200',
      '{"f":{"a.R":{"f":null,"n":null}},"n":null}',
    ],
  ]
  for (const [schema, hex, text] of rows) {
    assert.equal(decoded(schema, hex), text)
    if (!text.includes('NaN')) assert.equal(encoded(schema, text), hex.replaceAll(' ', ''))
  }
  // Two blocks, one of them with its length in bytes.
  assert.equal(decoded('{"type":"array","items":"int"}', '01 02 02 02 04 00'), '[1,2]')
})

test('a payload that is not valid is shown as its fault', () => {
  assert.equal(decoded('"boolean"', '02'), 'bad-value: at byte 0: a boolean is 0 or 1, not 2')
  assert.equal(decoded('"int"', '0202'), 'trailing-bytes: at byte 1: 1 bytes follow the value')
})

test('text and depth of what is shown are bounded', () => {
  assert.equal(decoded('"string"', '06616263', 5), '"abc"')
  assert.equal(
    decoded('"string"', '06616263', 4),
    'too-many-elements: at byte 4: the value as JSON is longer than 4 bytes',
  )
  const doubled = Array.from({ length: 60 }, (_, i) => {
    const type = i === 0 ? '"null"' : `"R${i - 1}"`
    return `{"type":"record","name":"R${i}","fields":[{"name":"f","type":${type}},{"name":"g","type":${type}}]}`
  })
  assert.match(decoded(`[${doubled.join(',')}]`, '76'), /^too-many-elements/)
  const chain = Array.from(
    { length: 3000 },
    (_, i) => `{"type":"record","name":"R${i}","fields":[{"name":"f","type":${i === 0 ? '"null"' : `"R${i - 1}"`}}]}`,
  )
  assert.match(decoded(`[${chain.join(',')}]`, 'ee2e'), /^too-deep: at byte 2: more than 512 levels/)
  const list = record('{"name":"f","type":["null","R"]}')
  const text = decoded(list, `${'02'.repeat(512)}00`)
  assert.equal(encoded(list, text), `${'02'.repeat(512)}00`)
  assert.equal(
    encoded(list, `${'{"f":{"a.R":'.repeat(513)}{}${'}}'.repeat(513)}`),
    `at ${'/f/a.R'.repeat(50)}: expected at most 512 levels`,
  )
})

test('in a union a value may stand without its branch if one branch fits', () => {
  const union = `["null","int","string",${ENUM},{"type":"map","values":"int"}]`
  assert.equal(encoded(union, 'null'), '00')
  assert.equal(encoded(union, '5'), '020a')
  assert.equal(encoded(union, '"x"'), '040278')
  assert.equal(encoded(union, '{"E":"A"}'), '0600')
  assert.equal(encoded(union, '{"x":1}'), '080202780200')
  assert.equal(
    encoded(union, '"A"'),
    'at the top: expected the name of the branch, as in {"E": …}: several branches fit',
  )
  assert.equal(
    encoded(union, '1.5'),
    'at the top: expected a value of a branch of the union (null, int, string, E, map), not 1.5',
  )
  assert.equal(encoded('["null","int"]', '{"int":"x"}'), 'at /int: expected an integer of 32 bits, not "x"')
})

test('bare values in each other take no exponential time', () => {
  const list = record('{"name":"f","type":["null","R"]}')
  assert.equal(encoded(list, `${'{"f":'.repeat(200)}null${'}'.repeat(200)}`), `${'02'.repeat(199)}00`)
  // Here each level fits twice.
  const both = record('{"name":"f","type":["null","R",{"type":"map","values":"R"}]}')
  const text = `${'{"f":'.repeat(200)}null${'}'.repeat(200)}`
  assert.match(encoded(both, text), /expected (a value with fewer ways to read its unions|a value of a branch)/)
})

test('fields that are left out get their default', () => {
  const inner =
    '{"type":"record","name":"I","fields":[{"name":"x","type":"int","default":7},{"name":"u","type":["null","string"],"default":"s"}]}'
  const schema = record(
    '{"name":"a","type":"string"}',
    '{"name":"b","type":["string","null"],"default":null}',
    `{"name":"c","type":${inner},"default":{"x":8}}`,
    '{"name":"d","type":"double","default":"NaN"}',
    '{"name":"e","type":"bytes","default":"\\u00ff"}',
  )
  assert.equal(encoded(schema, '{"a":"A"}'), ['0241', '02', '10020273', '000000000000f87f', '02ff'].join(''))
  assert.equal(
    encoded(schema, '{"a":"A","c":{},"d":0,"e":""}'),
    ['0241', '02', '0e020273', '0000000000000000', '00'].join(''),
  )
  // Both branches fit the default: the first one holds it.
  assert.equal(encoded(record('{"name":"f","type":["long","int"],"default":1}'), '{}'), '0002')
  assert.equal(encoded(schema, '{}'), 'at the top: expected the field "a", which has no default')
})

test('text that is no value of the schema is refused with the place', () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['"int"', '{', 'it is no JSON: line 1, column 2: expected a name in quotes, found the end'],
    ['"int"', '2147483648', 'at the top: expected an integer of 32 bits, not 2147483648'],
    ['"long"', '9223372036854775808', 'at the top: expected an integer of 64 bits, not 9223372036854775808'],
    ['"long"', '1.0', 'at the top: expected an integer of 64 bits, not 1.0'],
    ['"null"', '0', 'at the top: expected null, not 0'],
    ['"boolean"', '1', 'at the top: expected true or false, not 1'],
    ['"double"', '"1"', 'at the top: expected a number, not "1"'],
    ['"bytes"', '"€"', 'at the top: expected a string of characters up to U+00FF, one for each byte, not "€"'],
    [FIXED, '"abc"', 'at the top: expected 2 bytes for the fixed, not 3'],
    [ENUM, '"C"', 'at the top: expected a symbol of E, not "C"'],
    ['{"type":"array","items":"int"}', '[1,null]', 'at /1: expected an integer of 32 bits, not null'],
    ['{"type":"map","values":"int"}', '[]', 'at the top: expected an object, not an array'],
    [record('{"name":"f","type":"int"}'), '{"f":1,"g":2}', 'at the top: expected only fields of a.R, not "g"'],
    [record('{"name":"f","type":"int"}'), '1', 'at the top: expected an object for a.R, not 1'],
  ]
  for (const [schema, text, message] of rows) assert.equal(encoded(schema, text), message)
  assert.equal(encoded('"string"', '"abcdef"', 3), 'at the top: expected at most 3 bytes')
})

test('defaults that fill each other without bytes come to an end', () => {
  const types = Array.from({ length: 60 }, (_, i) => {
    const type = i === 0 ? '"null","default":null' : `"R${i - 1}","default":{}`
    return `{"type":"record","name":"R${i}","fields":[{"name":"f","type":${type}},{"name":"g","type":${type}}]}`
  })
  assert.match(encoded(`[${types.join(',')}]`, '{"R59":{}}'), /expected a value with fewer ways to read its unions$/)
})
