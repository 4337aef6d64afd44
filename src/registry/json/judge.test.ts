// Values against schemas: the faults that people read, and the places where ajv alone would be wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_4, DRAFT_2019, DRAFT_2020, parse, type Source } from '../../../testing/json-compatibility.ts'
import { jsonSchema } from './json-schema.ts'
import { judgeOf } from './judge.ts'

function faultOf(source: Source, value: unknown): string | null {
  return judgeOf(jsonSchema.compile(parse(source, 'stored')).text)(value)?.message ?? null
}

const ORDER = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    lines: { type: 'array', items: { type: 'object', properties: { n: { minimum: 1 } } } },
  },
  required: ['id'],
  additionalProperties: false,
}

test('a fault names the place and the rule', () => {
  assert.equal(faultOf(ORDER, { id: 1, lines: [{ n: 1 }] }), null)
  assert.equal(faultOf(ORDER, { id: 1, lines: [{ n: 1 }, { n: 0 }] }), 'at /lines/1/n: must be >= 1')
  assert.equal(faultOf(ORDER, {}), "at the root: must have required property 'id'")
  assert.equal(faultOf(ORDER, { id: 1, x: 1 }), 'at the root: must not have the additional property "x"')
  assert.equal(faultOf(ORDER, { id: 'a' }), 'at /id: must be integer')
  assert.equal(faultOf(ORDER, 7), 'at the root: must be object')
})

test('multiples are those of decimal numbers, and large ones do no harm', () => {
  assert.equal(faultOf({ multipleOf: 0.1 }, 0.3), null)
  assert.equal(faultOf({ multipleOf: 0.01 }, 1234567.89), null)
  assert.equal(faultOf({ multipleOf: 0.01 }, 19.991), 'at the root: must be a multiple of 0.01')
  assert.equal(faultOf({ multipleOf: 2 }, 3), 'at the root: must be a multiple of 2')
  assert.equal(faultOf({ multipleOf: 3 }, JSON.parse('12345678901234567890123')), null)
  assert.equal(faultOf({ type: 'integer', multipleOf: 1e-300 }, 1e300), null)
  assert.notEqual(faultOf({ type: 'integer', multipleOf: 0.123456789 }, 1e308), null)
  // It is a number of JSON, although no double can hold it.
  assert.equal(faultOf({ type: 'number' }, JSON.parse('1e999')), null)
})

test('lengths count code points', () => {
  assert.equal(faultOf({ maxLength: 2 }, '😀😀'), null)
  assert.equal(faultOf({ maxLength: 2 }, '😀😀😀'), 'at the root: must NOT have more than 2 characters')
  assert.equal(faultOf({ minLength: 2 }, '😀'), 'at the root: must NOT have fewer than 2 characters')
  assert.equal(faultOf({ minLength: 2 }, '😀a'), null)
  assert.equal(faultOf({ minLength: 3 }, 'ab'), 'at the root: must NOT have fewer than 3 characters')
  assert.equal(faultOf({ maxLength: 0 }, ''), null)
})

test('a long enumeration has all its values and no others', () => {
  const values = [...Array.from({ length: 5_000 }, (_, at) => `v${at}`), 7, null, { a: [1, 2] }]
  for (const value of ['v0', 'v4999', 7, null, { a: [1, 2] }]) assert.equal(faultOf({ enum: values }, value), null)
  for (const value of ['v5000', '7', { a: [2, 1] }, [], false]) {
    assert.equal(faultOf({ enum: values }, value), 'at the root: must be equal to one of the allowed values')
  }
})

test('an enumeration without values allows none', () => {
  assert.notEqual(faultOf({ enum: [] }, 1), null)
})

test('names of the prototype are names', () => {
  const required = { type: 'object', required: ['toString'], properties: { constructor: { type: 'string' } } }
  assert.equal(faultOf(required, {}), "at the root: must have required property 'toString'")
  assert.equal(faultOf(required, JSON.parse('{"toString":1}')), null)
  assert.equal(faultOf(required, JSON.parse('{"toString":1,"constructor":2}')), 'at /constructor: must be string')
  const proto = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as object
  assert.equal(faultOf(proto, JSON.parse('{"__proto__":1}')), 'at /__proto__: must be string')
  assert.equal(faultOf(proto, JSON.parse('{"__proto__":"a"}')), null)
})

test('formats are not judged', () => {
  assert.equal(faultOf({ type: 'string', format: 'date-time' }, 'tomorrow'), null)
  assert.equal(faultOf({ type: 'string', format: 'unheard-of' }, 'x'), null)
})

test('a pattern without its own u flag is judged without it', () => {
  assert.equal(faultOf({ pattern: '^\\-a$' }, '-a'), null)
  assert.equal(faultOf({ pattern: '^\\-a$' }, 'a'), 'at the root: must match pattern "^\\-a$"')
  // A stored pattern that does not compile cannot be judged.
  assert.equal(faultOf({ pattern: '(?<name' }, 'a'), null)
})

/** The keyword, a draft in which it says nothing, one in which it does, and a value that only the latter refuses. */
const BY_DRAFT: readonly (readonly [object, string, string, unknown])[] = [
  [{ const: 1 }, DRAFT_4, DRAFT_2020, 2],
  [{ contains: { type: 'null' } }, DRAFT_4, DRAFT_2020, [1]],
  [{ propertyNames: { maxLength: 1 } }, DRAFT_4, DRAFT_2020, { ab: 1 }],
  [{ if: { type: 'string' }, ...Object.fromEntries([['then', false]]) }, DRAFT_4, DRAFT_2020, 'x'],
  [{ dependentRequired: { a: ['b'] } }, 'http://json-schema.org/draft-07/schema#', DRAFT_2019, { a: 1 }],
  [{ dependentSchemas: { a: false } }, 'http://json-schema.org/draft-07/schema#', DRAFT_2019, { a: 1 }],
  [{ unevaluatedProperties: false }, 'http://json-schema.org/draft-07/schema#', DRAFT_2019, { a: 1 }],
  [{ dependencies: { a: ['b'] } }, DRAFT_2020, DRAFT_4, { a: 1 }],
  [{ dependencies: { a: { maxProperties: 0 } } }, DRAFT_2020, DRAFT_4, { a: 1 }],
  [{ prefixItems: [{ type: 'string' }] }, DRAFT_2019, DRAFT_2020, [1]],
  [{ items: [{}], additionalItems: false }, DRAFT_2020, DRAFT_2019, [1, 2]],
  [{ contains: {}, maxContains: 1 }, 'http://json-schema.org/draft-07/schema#', DRAFT_2019, [1, 2]],
]

for (const [schema, silent, speaking, value] of BY_DRAFT) {
  test(`${Object.keys(schema).join(' and ')} means something only in its drafts`, () => {
    assert.equal(faultOf({ $schema: silent, ...schema }, value), null)
    assert.notEqual(faultOf({ $schema: speaking, ...schema }, value), null)
  })
}

test('keywords whose values make no sense are left out', () => {
  const nonsense = {
    type: 'strin',
    minimum: 'a',
    maxLength: -1,
    multipleOf: 0,
    required: 'a',
    properties: [],
    anyOf: [],
    items: 7,
  }
  assert.equal(faultOf(nonsense, { a: 1 }), null)
  assert.equal(faultOf({ type: ['string', 'strin'] }, 1), 'at the root: must be string')
})
