import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REGISTRY_TYPES, registryTypeFor } from './schema-registry-media.ts'

const [V1, VND, JSON_TYPE] = REGISTRY_TYPES

test('a client without a wish gets the first type of the registry', () => {
  for (const accept of [undefined, '', ' ', '*/*', '*/json', 'application/*', '*', ',,', 'nonsense'])
    assert.equal(registryTypeFor(accept), V1, accept)
})

test('the headers of real clients get the type that each of them reads', () => {
  const cases = {
    // Java's URLConnection, in two generations, and curl.
    'text/html, image/gif, image/jpeg, */*; q=0.2': V1,
    'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2': V1,
    'application/vnd.schemaregistry.v1+json,application/vnd.schemaregistry+json,application/json': V1,
    'application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5': V1,
    'application/vnd.schemaregistry+json': VND,
    'application/json': JSON_TYPE,
    'APPLICATION/JSON; charset=utf-8': JSON_TYPE,
    'application/json, text/plain, */*': V1,
  }
  for (const [accept, type] of Object.entries(cases)) assert.equal(registryTypeFor(accept), type, accept)
})

test('the weights of the client decide, and the most specific range has the weight', () => {
  const cases = {
    'application/json;q=0.9, application/vnd.schemaregistry.v1+json;q=0.1': JSON_TYPE,
    'application/vnd.schemaregistry.v1+json;q=0, */*;q=0.5': VND,
    'application/*;q=0.1, application/json': JSON_TYPE,
    'application/json;q=0.5, application/vnd.schemaregistry+json;q=0.5': VND,
    'application/json;q=7, application/vnd.schemaregistry+json': VND,
  }
  for (const [accept, type] of Object.entries(cases)) assert.equal(registryTypeFor(accept), type, accept)
})

test('a header that takes none of the types has no type', () => {
  for (const accept of [
    'text/html',
    'application/json;q=0',
    '*/*;q=0',
    'application/vnd.schemaregistry.v2+json',
    'application/xml, text/*',
  ])
    assert.equal(registryTypeFor(accept), null, accept)
})

test('the time to read a weight grows with its length, not with the square', () => {
  assert.equal(registryTypeFor(`application/json;q=${'1'.repeat(1_000_000)}x`), JSON_TYPE)
})
