import assert from 'node:assert/strict'
import { test } from 'node:test'
import { likelierType, placeInWords } from './schema-words.ts'

test('the root of a schema has a name', () => {
  for (const path of ['', '/', '#', '#/']) assert.equal(placeInWords(path), 'the root of the schema')
  assert.equal(placeInWords('/fields/0'), '/fields/0')
  assert.equal(placeInWords('#/properties/a'), '#/properties/a')
})

test('a text that looks like another type is told apart', () => {
  const proto = '// a file\nsyntax = "proto3";\nmessage A {}'
  assert.equal(likelierType(proto, 'AVRO'), 'PROTOBUF')
  assert.equal(likelierType(' message A {}', 'JSON'), 'PROTOBUF')
  assert.equal(likelierType(proto, 'PROTOBUF'), null)
  assert.equal(likelierType('{"type":"object"}', 'AVRO'), 'JSON')
  assert.equal(likelierType('{"properties":{}}', 'AVRO'), 'JSON')
  assert.equal(likelierType('{"type":"record","name":"A","fields":[]}', 'JSON'), 'AVRO')
  assert.equal(likelierType('{"type":"record","name":"A","fields":[]}', 'PROTOBUF'), 'AVRO')
  for (const text of ['{"type":"rec"}', '"int"', '{', '', '[]', 'messages'])
    assert.equal(likelierType(text, 'AVRO'), null)
})
