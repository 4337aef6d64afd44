import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dependency } from '../format.ts'
import { avro } from './avro.ts'

const print = (text: string, dependencies: readonly Dependency[] = []) =>
  avro.print(avro.parse({ text, dependencies }, 'new'))
const canonical = (text: string, dependencies: readonly Dependency[] = []) => print(text, dependencies).canonical

/** The canonical text of a record with these attributes, without the ones that all have. */
function field(attributes: string): string {
  const text = canonical(`{"type":"record","name":"R","fields":[{"name":"f",${attributes}}]}`)
  return text.slice('{"type":"record","name":"R","fields":[{"name":"f",'.length, -'}]}'.length)
}

test('a primitive is its name, with its properties an object, and its reserved attributes vanish', () => {
  assert.equal(canonical('{"type":"string"}'), '"string"')
  assert.equal(canonical('{"type":"int","name":"x","doc":"d"}'), '"int"')
  assert.equal(canonical('{"type":"string","x":1}'), '{"type":"string","x":1}')
  assert.equal(canonical(' [ "null" , {"type":"long"} ] '), '["null","long"]')
})

test('attributes stand in Java’s order, and an empty doc is kept', () => {
  assert.equal(
    canonical('{"p":1,"fields":[],"aliases":["O"],"doc":"","namespace":"n","name":"R","type":"record"}'),
    '{"type":"record","name":"R","namespace":"n","doc":"","fields":[],"p":1,"aliases":["O"]}',
  )
  assert.equal(
    canonical('{"default":"A","aliases":["O"],"q":2,"symbols":["A"],"name":"E","type":"enum","doc":"d"}'),
    '{"type":"enum","name":"E","doc":"d","symbols":["A"],"default":"A","q":2,"aliases":["O"]}',
  )
  assert.equal(canonical('{"size":4,"q":2,"name":"F","type":"fixed"}'), '{"type":"fixed","name":"F","size":4,"q":2}')
  assert.equal(
    field('"p":1,"aliases":["g"],"order":"descending","default":2,"doc":"d","type":"int"'),
    '"type":"int","doc":"d","default":2,"order":"descending","aliases":["g"],"p":1',
  )
  assert.equal(canonical('{"p":1,"items":"int","type":"array"}'), '{"type":"array","items":"int","p":1}')
  assert.equal(canonical('{"p":1,"values":"int","type":"map"}'), '{"type":"map","values":"int","p":1}')
})

test('a full name is split, beats the namespace, and nested types in one namespace lose theirs', () => {
  assert.equal(
    canonical('{"type":"record","name":"a.b.C","namespace":"x","fields":[]}'),
    '{"type":"record","name":"C","namespace":"a.b","fields":[]}',
  )
  const nested = (inner: string) => canonical(`{"type":"record","name":"a.R","fields":[{"name":"f","type":${inner}}]}`)
  const shown = (inner: string) =>
    `{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":${inner}}]}`
  assert.equal(nested('{"type":"enum","name":"a.E","symbols":[]}'), shown('{"type":"enum","name":"E","symbols":[]}'))
  assert.equal(
    nested('{"type":"enum","name":"E","namespace":"","symbols":[]}'),
    shown('{"type":"enum","name":"E","namespace":"","symbols":[]}'),
  )
  assert.equal(nested('["null","a.R"]'), shown('["null","R"]'))
  // A name that means a type keeps its namespace.
  assert.equal(
    nested('[{"type":"fixed","name":"int","size":1},{"type":"array","items":"a.int"}]'),
    shown('[{"type":"fixed","name":"int","size":1},{"type":"array","items":"a.int"}]'),
  )
})

test('the ascending order is dropped, and an alias in the own namespace is shortened', () => {
  assert.equal(field('"type":"int","order":"ascending"'), '"type":"int"')
  assert.equal(field('"type":"int","order":"IGNORE"'), '"type":"int","order":"ignore"')
  assert.equal(
    canonical('{"type":"fixed","name":"n.F","size":1,"aliases":["n.Old","m.Other","Plain","n.Old"]}'),
    '{"type":"fixed","name":"F","namespace":"n","size":1,"aliases":["Old","m.Other","Plain"]}',
  )
})

test('logical types and properties are kept in the order of the text', () => {
  const text = '{"type":"bytes","zz":{"b":[1,null],"a":"ä"},"scale":2,"logicalType":"decimal","precision":9,"10":true}'
  assert.equal(canonical(text), text)
})

test('numbers and texts are written as Java writes them, and no digit is lost', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['"type":"double","default":1', '1'],
    ['"type":"double","default":1.0', '1.0'],
    ['"type":"double","default":"1.5e3"', '1500.0'],
    ['"type":"double","default":"NaN"', '"NaN"'],
    ['"type":"double","default":1e10', '1.0E10'],
    ['"type":"double","default":1e400', '"Infinity"'],
    ['"type":"double","default":-0.0', '-0.0'],
    ['"type":"double","default":0.001', '0.001'],
    ['"type":"double","default":0.00012', '1.2E-4'],
    ['"type":"double","default":9999999.5', '9999999.5'],
    ['"type":"double","default":12345678.5', '1.23456785E7'],
    ['"type":"long","default":9223372036854775807', '9223372036854775807'],
    ['"type":"long","default":-0', '0'],
    ['"type":"string","default":"\\u00e4\\/\\u001f\\u007f\\t\\""', '"ä/\\u001F\u007f\\t\\""'],
  ]
  for (const [attributes, written] of rows)
    assert.equal(field(attributes), `${attributes.slice(0, attributes.indexOf(',"default"'))},"default":${written}`)
  assert.equal(
    canonical('{"type":"int","p":123456789012345678901234567890}'),
    '{"type":"int","p":123456789012345678901234567890}',
  )
})

test('an attribute that stands twice has its last value at its first place', () => {
  assert.equal(canonical('{"type":"int","p":1,"q":2,"p":3}'), '{"type":"int","p":3,"q":2}')
})

test('printing is stable: the canonical text of a canonical text is itself', () => {
  const text = canonical('{"type":"record","name":"a.R","fields":[{"name":"f","type":["null","a.R"],"default":null}]}')
  assert.equal(canonical(text), text)
})

const ADDRESS = {
  name: 'a.Address',
  text: '{"type":"record","name":"Address","namespace":"a","fields":[{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["X"]}}]}',
}

test('types of dependencies stand as names, and are written out at their first use when inlined', () => {
  const text = '{"type":"record","name":"b.R","fields":[{"name":"f","type":"a.Address"},{"name":"g","type":"a.Kind"}]}'
  const schema = avro.parse({ text, dependencies: [ADDRESS] }, 'new')
  const shown = (f: string, g: string) =>
    `{"type":"record","name":"R","namespace":"b","fields":[{"name":"f","type":${f}},{"name":"g","type":${g}}]}`
  const { canonical, normalized } = avro.print(schema)
  assert.deepEqual([canonical, normalized], [shown('"a.Address"', '"a.Kind"'), shown('"a.Address"', '"a.Kind"')])
  assert.equal(avro.inlined(schema), shown(ADDRESS.text, '"a.Kind"'))
})

test('record names are those of a record at the top', () => {
  assert.deepEqual(avro.recordNames(avro.parse({ text: ADDRESS.text, dependencies: [] }, 'new')), ['a.Address'])
  assert.deepEqual(avro.recordNames(avro.parse({ text: '["null","int"]', dependencies: [] }, 'new')), [])
})

test('the normalized text sorts properties and aliases, drops an empty doc and gives defaults the form of their type', () => {
  const text =
    '{"type":"record","name":"a.R","doc":"","z":1,"b":{"y":1,"x":2},"aliases":["z.B","A"],"fields":[' +
    '{"name":"f","type":"double","default":1,"aliases":["y","x"],"doc":""},' +
    '{"name":"g","type":{"type":"bytes","a":1,"scale":0,"precision":4,"logicalType":"decimal"}},' +
    '{"name":"h","type":{"type":"map","values":"float"},"default":{"b":1,"a":0.1}},' +
    '{"name":"i","type":["string","null"],"default":null}]}'
  assert.equal(
    print(text).normalized,
    '{"type":"record","name":"R","namespace":"a","fields":[' +
      '{"name":"f","type":"double","doc":"","default":1.0,"aliases":["x","y"]},' +
      '{"name":"g","type":{"type":"bytes","logicalType":"decimal","precision":4,"a":1,"scale":0}},' +
      '{"name":"h","type":{"type":"map","values":"float"},"default":{"a":0.1,"b":1.0}},' +
      '{"name":"i","type":["string","null"],"default":null}],"b":{"x":2,"y":1},"z":1,"aliases":["A","z.B"]}',
  )
})

test('ten thousand types that each need the next are printed and compared', () => {
  const chain = Array.from({ length: 10_000 }, (_, i) => {
    const type = i === 0 ? '"int"' : `"R${i - 1}"`
    return `{"type":"record","name":"R${i}","fields":[{"name":"f","type":${type}}]}`
  })
  const schema = avro.parse({ text: `[${chain.join(',')}]`, dependencies: [] }, 'new')
  assert.equal(avro.print(schema).canonical, `[${chain.join(',')}]`)
  assert.deepEqual(avro.compare(schema, schema, 'STRICT'), [])
  const other = avro.parse({ text: `[${chain.join(',').replace('"int"', '"string"')}]`, dependencies: [] }, 'new')
  assert.equal(avro.compare(schema, other, 'STRICT').length, 100)
  assert.ok(avro.compile(schema).code.length < 100_000)
  const deep = chain.slice(0, 6_000).map((text, i) => ({ name: `R${i}`, text }))
  const top = avro.parse({ text: '{"type":"array","items":"R5999"}', dependencies: deep }, 'new')
  assert.ok(avro.inlined(top).length > 300_000)
})
