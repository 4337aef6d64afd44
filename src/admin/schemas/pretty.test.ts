import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pretty } from './pretty.ts'

test('the text of a schema is cut into lines, two spaces for each level', () => {
  const text = '{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]}],"aliases":[],"x":{}}'
  assert.equal(pretty('AVRO', text), JSON.stringify(JSON.parse(text), null, 2))
  assert.equal(pretty('JSON', '  "string" '), '"string"')
})

test('numbers and names keep their spelling', () => {
  const text = '{"default":9007199254740993,"a":1e2,"b":-0.0,"c":"{\\"x\\":[1,2]}","\\u0041":true}'
  const lines = pretty('JSON', text)
  assert.equal(lines.replaceAll(/\n\s*/g, '').replaceAll(': ', ':'), text)
  assert.ok(lines.includes('\n  "default": 9007199254740993,'))
})

test('a text that is no JSON, or would take megabytes in lines, comes back as it is', () => {
  for (const text of ['{"a":', 'syntax = "proto3";\n']) assert.equal(pretty('PROTOBUF', text), text)
  for (const text of ['{"a":[', ']', '"open']) assert.equal(pretty('JSON', text), text)
  const wide = `${'['.repeat(60)}${'1,'.repeat(100_000)}1${']'.repeat(60)}`
  assert.equal(pretty('JSON', wide), wide)
})
