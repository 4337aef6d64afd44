import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SchemaType } from '../../registry/format.ts'
import { formatOf } from '../../registry/formats.ts'
import { reasonsOf } from './versions.ts'

function placesOf(type: SchemaType, writer: string, reader: string): string[] {
  const format = formatOf(type)
  const [from, to] = [writer, reader].map(text => format.parse({ text, dependencies: [] }, 'new'))
  return reasonsOf(format.compare(to, from, 'STRICT')).map(({ path }) => path)
}

test('operators see places in schemas in one form, whatever their format', () => {
  const record = (type: string) => `{"type":"record","name":"R","fields":[{"name":"a","type":"${type}"}]}`
  const object = (type: string) => `{"properties":{"a":{"type":"${type}"}}}`
  const message = (type: string) => `syntax = "proto3"; message M { message N { ${type} a = 1; } }`
  assert.deepEqual(placesOf('AVRO', record('int'), record('string')), ['/fields/0/type'])
  assert.deepEqual(placesOf('JSON', object('integer'), object('string')), ['/properties/a'])
  assert.deepEqual(placesOf('PROTOBUF', message('int32'), message('string')), ['/M/N/1'])
  assert.deepEqual(placesOf('AVRO', '"int"', '"string"'), ['/'])
  assert.deepEqual(placesOf('JSON', '{"type":"integer"}', '{"type":"string"}'), ['/'])
  assert.deepEqual(placesOf('PROTOBUF', 'package a; message M {}', 'package b; message M {}'), ['/'])
})
