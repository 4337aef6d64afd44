import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avro } from './avro.ts'

const parse = (text: string) => avro.parse({ text, dependencies: [] }, 'stored')
const differences = (reader: string, writer: string) => avro.compare(parse(reader), parse(writer), 'STRICT')
/** Type and path of each reason. */
const reasons = (reader: string, writer: string) =>
  differences(reader, writer).map(({ type, path }) => `${type} ${path}`)
const record = (...fields: readonly string[]) => `{"type":"record","name":"a.R","fields":[${fields.join(',')}]}`
const field = (name: string, type: string, more = '') => `{"name":"${name}","type":${type}${more}}`
const enumOf = (symbols: string, more = '') => `{"type":"enum","name":"a.E","symbols":${symbols}${more}}`
const fixed = (name: string, size: number, more = '') => `{"type":"fixed","name":"${name}","size":${size}${more}}`

const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
const PROMOTED = [
  'int long',
  'int float',
  'int double',
  'long float',
  'long double',
  'float double',
  'string bytes',
  'bytes string',
]

test('a primitive reads itself and what is promoted to it', () => {
  for (const reader of PRIMITIVES)
    for (const writer of PRIMITIVES) {
      const reads = reader === writer || PROMOTED.includes(`${writer} ${reader}`)
      assert.deepEqual(reasons(`"${reader}"`, `"${writer}"`), reads ? [] : ['TYPE_MISMATCH /'], `${reader} ${writer}`)
    }
})

test('other types read only their own kind', () => {
  const types = [
    enumOf('["A"]'),
    fixed('a.F', 4),
    record(),
    '{"type":"array","items":"int"}',
    '{"type":"map","values":"int"}',
    '"string"',
    '"bytes"',
  ]
  for (const reader of types)
    for (const writer of types) {
      const reads = reader === writer || (reader.length < 9 && writer.length < 9)
      assert.deepEqual(reasons(reader, writer), reads ? [] : ['TYPE_MISMATCH /'])
    }
})

test('named types match by the unqualified name, or by an alias of the reader that is the full name', () => {
  const named = (name: string, aliases = '') => `{"type":"record","name":"${name}","fields":[]${aliases}}`
  assert.deepEqual(reasons(named('b.R'), named('a.R')), [])
  assert.deepEqual(reasons(named('a.New', ',"aliases":["a.R"]'), named('a.R')), [])
  assert.deepEqual(reasons(named('a.New', ',"aliases":["R"]'), named('a.R')), [])
  assert.deepEqual(reasons(`["null",${named('a.New', ',"aliases":["R"]')}]`, named('a.R')), [])
  assert.deepEqual(reasons(`["null",${named('a.New')}]`, named('a.R')), ['MISSING_UNION_BRANCH /'])
  assert.deepEqual(reasons(named('b.New', ',"aliases":["R"]'), named('a.R')), ['NAME_MISMATCH /name'])
  assert.deepEqual(reasons(named('a.New'), named('a.R', ',"aliases":["a.New"]')), ['NAME_MISMATCH /name'])
  assert.deepEqual(reasons(fixed('a.G', 2), fixed('a.F', 2)), ['NAME_MISMATCH /name'])
  assert.deepEqual(reasons(fixed('a.F', 2), fixed('a.F', 3)), ['FIXED_SIZE_MISMATCH /size'])
  assert.deepEqual(reasons(fixed('a.G', 2), fixed('a.F', 3)), ['NAME_MISMATCH /name', 'FIXED_SIZE_MISMATCH /size'])
})

test('an enum has all symbols of the writer or a default', () => {
  assert.deepEqual(reasons(enumOf('["B","A","C"]'), enumOf('["A","B"]')), [])
  assert.deepEqual(reasons(enumOf('["A"]'), enumOf('["A","B"]')), ['MISSING_ENUM_SYMBOLS /symbols'])
  assert.deepEqual(reasons(enumOf('["A"]', ',"default":"A"'), enumOf('["A","B"]')), [])
})

test('a field that the writer lacks needs a default; null in its union or a default of its enum is none', () => {
  const missing = ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/0']
  assert.deepEqual(reasons(record(field('f', '"int"', ',"default":1')), record()), [])
  assert.deepEqual(reasons(record(field('f', '"null"', ',"default":null')), record()), [])
  assert.deepEqual(reasons(record(field('f', '"int"')), record()), missing)
  assert.deepEqual(reasons(record(field('f', '["null","int"]')), record()), missing)
  assert.deepEqual(reasons(record(field('f', enumOf('["A"]', ',"default":"A"'))), record()), missing)
  assert.deepEqual(reasons(record(field('F', '"int"')), record(field('f', '"int"'))), missing)
  // A wrong default helps as well.
  assert.deepEqual(reasons(record(field('f', '"int"', ',"default":"x"')), record()), [])
})

test('fields match by name and by aliases of the reader, and a field of the writer alone is skipped', () => {
  assert.deepEqual(
    reasons(record(field('g', '"int"'), field('f', '"int"')), record(field('f', '"int"'), field('g', '"int"'))),
    [],
  )
  assert.deepEqual(reasons(record(), record(field('f', '"int"'))), [])
  assert.deepEqual(reasons(record(field('new', '"long"', ',"aliases":["f"]')), record(field('f', '"int"'))), [])
  assert.deepEqual(
    reasons(record(field('f', '"int"', ',"default":1')), record(field('g', '"string"', ',"aliases":["f"]'))),
    [],
  )
  assert.deepEqual(reasons(record(field('f', '"int"')), record(field('f', '"long"'))), ['TYPE_MISMATCH /fields/0/type'])
  const two = record(field('f', '"int"'), field('g', '"int"'))
  assert.deepEqual(reasons(record(field('f', '"int"', ',"aliases":["g"]')), two), ['AMBIGUOUS_FIELD_ALIAS /fields/0'])
})

test('items and values are compared', () => {
  const [ints, longs] = ['"int"', '"long"']
  const array = (items: string) => `{"type":"array","items":${items}}`
  const map = (values: string) => `{"type":"map","values":${values}}`
  assert.deepEqual(reasons(array(longs), array(ints)), [])
  assert.deepEqual(reasons(array(ints), array(longs)), ['TYPE_MISMATCH /items'])
  assert.deepEqual(reasons(map(array(ints)), map(array(longs))), ['TYPE_MISMATCH /values/items'])
})

test('each branch of the writer is read by some branch of the reader', () => {
  assert.deepEqual(reasons('["null","string"]', '["string","null"]'), [])
  assert.deepEqual(reasons('["null"]', '["null","string","int"]'), [
    'MISSING_UNION_BRANCH /1',
    'MISSING_UNION_BRANCH /2',
  ])
  assert.deepEqual(reasons('"long"', '["int","long"]'), [])
  assert.deepEqual(reasons('"int"', '["int","long"]'), ['TYPE_MISMATCH /1'])
  assert.deepEqual(reasons('["float"]', '"int"'), [])
  assert.deepEqual(reasons('["string"]', '"bytes"'), [])
  assert.deepEqual(reasons('["string"]', '"int"'), ['MISSING_UNION_BRANCH /'])
})

test('anything reads an empty union, and an empty union reads nothing else', () => {
  for (const reader of ['"int"', '[]', '["null"]', record(field('f', '"int"'))])
    assert.deepEqual(reasons(reader, '[]'), [])
  assert.deepEqual(reasons('[]', '"int"'), ['MISSING_UNION_BRANCH /'])
  assert.deepEqual(reasons('[]', '["int"]'), ['MISSING_UNION_BRANCH /0'])
})

test('recursive types are compared once, and a pair in progress counts as readable', () => {
  const list = (type: string) => record(field('next', '["null","a.R"]'), field('value', type))
  assert.deepEqual(reasons(list('"long"'), list('"int"')), [])
  assert.deepEqual(reasons(list('"int"'), list('"long"')), ['TYPE_MISMATCH /fields/1/type'])
})

test('logical types, documentation, order and properties do not matter', () => {
  const at = (unit: string) => `{"type":"long","logicalType":"timestamp-${unit}"}`
  assert.deepEqual(reasons(at('millis'), at('micros')), [])
  const decimal = (scale: number) => `{"type":"bytes","logicalType":"decimal","precision":9,"scale":${scale}}`
  assert.deepEqual(reasons(decimal(1), decimal(2)), [])
  assert.deepEqual(
    reasons(record(field('f', '"int"', ',"doc":"d","order":"ignore","p":1')), record(field('f', '"int"'))),
    [],
  )
})

test('a reason is a sentence that names both sides', () => {
  const [first] = differences(record(field('f', '"int"')), '{"type":"record","name":"b.R","fields":[]}')
  assert.equal(
    first?.description,
    'the reader\'s field "f" of a.R has no default, and the writer\'s b.R has no such field',
  )
  assert.equal(
    differences('"int"', enumOf('["A"]'))[0]?.description,
    "the reader's int cannot read the writer's enum a.E",
  )
})

test('a thousand records against a thousand others are compared', () => {
  const union = (name: string) =>
    `[${Array.from({ length: 1000 }, (_, i) => `{"type":"record","name":"${name}${i}","fields":[${field('f', '"int"')}]}`).join(',')}]`
  assert.equal(differences(union('A'), union('B')).length, 100)
  assert.deepEqual(differences(union('A'), union('A')), [])
})
