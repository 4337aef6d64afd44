// A registry with the real formats and without threads for schemas, and schemas of each format with payloads.

import { systemClock } from '../src/base/clock.ts'
import type { SchemaType } from '../src/registry/format.ts'
import { formatOf } from '../src/registry/formats.ts'
import type { Registry } from '../src/registry/registry.ts'
import type { CleanUp } from './broker.ts'
import { accepted, openTestRegistry } from './registry-world.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import { inlineWork } from './toy-format.ts'

export function openFormats(cleanUp: CleanUp): Registry {
  return openTestRegistry(cleanUp, createMemoryStore(systemClock), { work: inlineWork(formatOf), isShared: false })
}

/** Registers the schema of a subject and resolves with its id. */
export async function register(registry: Registry, subject: string, type: SchemaType, schema: string): Promise<number> {
  return accepted(await registry.register(subject, { type, schema })).id
}

export const ORDER_AVRO = JSON.stringify({
  type: 'record',
  name: 'Order',
  namespace: 'shop',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'note', type: ['null', 'string'], default: null },
    { name: 'lines', type: { type: 'array', items: 'string' }, default: [] },
  ],
})

/** Longs beyond 2^53, a union, a list. */
export const ORDER_AVRO_TEXT = '{"id":9007199254740993,"note":{"string":"é"},"lines":["a","b"]}'
export const ORDER_AVRO_BODY = Buffer.from('8280808080808020' + '0204c3a9' + '0402610262' + '00', 'hex')

export const ORDER_PROTOBUF = `syntax = "proto3";
package shop;
message Order {
  int64 id = 1;
  repeated string lines = 2;
  message Line { string text = 1; }
}
message Refund { int64 id = 1; }
`
export const REFUND_TEXT = '{"id":"9007199254740993"}'
export const REFUND_BODY = Buffer.from('088180808080808010', 'hex')
/** Of shop.Refund, the second message. */
export const REFUND_INDEXES = Buffer.from([2, 2])

export const ORDER_JSON = JSON.stringify({
  title: 'Order',
  type: 'object',
  properties: { id: { type: 'integer' }, note: { type: 'string', maxLength: 5 } },
  required: ['id'],
})
export const ORDER_JSON_TEXT = '{ "id": 9007199254740993, "note": "é" }'

/** Registers the schema of a subject at a broker, and resolves with its id. */
export async function registerAt(
  url: string,
  subject: string,
  schemaType: SchemaType,
  schema: string,
): Promise<number> {
  const answer = await fetch(`${url}/schema-registry/subjects/${encodeURIComponent(subject)}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schemaType, schema }),
  })
  const body = (await answer.json()) as { readonly id?: number }
  if (body.id === undefined) throw new Error(`not registered: ${JSON.stringify(body)}`)
  return body.id
}
