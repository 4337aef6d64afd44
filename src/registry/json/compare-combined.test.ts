// Rows for the rules about allOf, anyOf, oneOf and lists of types, schemas that refer to themselves, and sizes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_2020, parse, reasons, testRows } from '../../../testing/json-compatibility.ts'
import { jsonSchema } from './json-schema.ts'

const S = { type: 'string' }
const N = { type: 'number' }
const I = { type: 'integer' }
const B = { type: 'boolean' }
const SHORT = { type: 'string', maxLength: 3 }
const anyOf = (...anyOf: unknown[]) => ({ anyOf })
const oneOf = (...oneOf: unknown[]) => ({ oneOf })
const allOf = (...allOf: unknown[]) => ({ allOf })

const NO_MATCH = 'COMBINED_TYPE_SUBSCHEMAS_CHANGED'

testRows('one schema becomes several', [
  ['one sub-schema that reads it', I, oneOf(N), ''],
  ['one sub-schema that does not read it', S, oneOf(N), 'TYPE_CHANGED'],
  ['anyOf with one that reads it', I, anyOf(S, N), ''],
  ['oneOf with one that reads it', I, oneOf(S, N), ''],
  ['anyOf with none that reads it', B, anyOf(S, N), 'TYPE_CHANGED'],
  ['allOf', S, allOf(S, { maxLength: 3 }), 'TYPE_CHANGED'],
  ['allOf of one', S, allOf(S), ''],
  ['a type becomes a list of types', S, { type: ['string', 'null'] }, ''],
  ['a type becomes a list without it', B, { type: ['string', 'null'] }, 'TYPE_CHANGED'],
])

testRows('several schemas become one', [
  ['one sub-schema that can be read', oneOf(I), N, ''],
  ['one sub-schema that cannot be read', oneOf(S), N, 'TYPE_CHANGED'],
  ['allOf with one that can be read', allOf(S, { maximum: 3 }), S, ''],
  ['allOf with none that can be read', allOf(S, { maximum: 3 }), B, 'TYPE_CHANGED'],
  ['anyOf', anyOf(S, I), S, 'TYPE_CHANGED'],
  ['a list of types loses one', { type: ['string', 'null'] }, S, 'TYPE_CHANGED'],
  ['anything', anyOf(S, I), {}, ''],
])

testRows('the criterion', [
  ['stays', anyOf(S, N), anyOf(S, N), ''],
  ['becomes anyOf from oneOf', oneOf(S, N), anyOf(S, N), ''],
  ['becomes anyOf from allOf', allOf(S, SHORT), anyOf(S, SHORT), ''],
  ['becomes oneOf from anyOf', anyOf(S, N), oneOf(S, N), 'COMBINED_TYPE_CHANGED'],
  ['becomes allOf from anyOf', anyOf(S, SHORT), allOf(S, SHORT), 'COMBINED_TYPE_CHANGED'],
  ['becomes oneOf from allOf', allOf(S, SHORT), oneOf(S, SHORT), 'COMBINED_TYPE_CHANGED'],
  ['both are single', anyOf(S), allOf(S), ''],
  ['a single one becomes oneOf', allOf(S), oneOf(S, N), ''],
  ['allOf becomes a single one', allOf(S, SHORT), oneOf(S), ''],
  ['anyOf becomes a single oneOf', anyOf(S, N), oneOf(S), 'COMBINED_TYPE_CHANGED'],
])

testRows('members', [
  ['anyOf grows', anyOf(S, N), anyOf(S, N, B), ''],
  ['oneOf grows', oneOf(S, N), oneOf(B, N, S), ''],
  ['anyOf shrinks', anyOf(S, N, B), anyOf(S, N), 'SUM_TYPE_NARROWED'],
  ['oneOf shrinks', oneOf(S, N, B), oneOf(S, N), 'SUM_TYPE_NARROWED'],
  ['allOf shrinks', allOf(S, SHORT, { minLength: 1 }), allOf(S, SHORT), ''],
  ['allOf grows', allOf(S, SHORT), allOf(S, SHORT, { minLength: 1 }), 'PRODUCT_TYPE_EXTENDED'],
  ['a member written twice counts once', anyOf(S, S, N), anyOf(S, N), ''],
  ['a list of types grows', { type: ['string', 'null'] }, { type: ['null', 'string', 'boolean'] }, ''],
  [
    'a list of types shrinks',
    { type: ['string', 'null', 'boolean'] },
    { type: ['string', 'null'] },
    'SUM_TYPE_NARROWED',
  ],
  [
    'each type of a list has its keywords',
    { type: ['string', 'null'], maxLength: 3 },
    { type: ['string', 'null'], maxLength: 2 },
    NO_MATCH,
  ],
])

testRows('the matching', [
  ['in another order', anyOf(S, N, B), anyOf(B, S, N), ''],
  ['two writers, one reader for both', anyOf(S, SHORT), anyOf(S, N), NO_MATCH],
  ['a member is narrower', oneOf(S, N), oneOf(S, I), NO_MATCH],
  ['members are wider', oneOf(SHORT, I), oneOf(N, S), ''],
  // I can go to N or I, and N only to N: the first choice for I has to be taken back.
  ['an alternating path is needed', anyOf(I, N), anyOf(N, { type: 'integer', title: 'other' }), ''],
  [
    'a longer alternating path',
    anyOf(SHORT, { ...S, maxLength: 5 }, S),
    anyOf(S, { ...S, maxLength: 5, title: 'x' }, { ...SHORT, title: 'x' }),
    '',
  ],
  [
    'objects',
    anyOf({ properties: { a: S } }, { properties: { b: S } }),
    anyOf({ properties: { a: N } }, { properties: { b: S } }),
    NO_MATCH,
    '',
  ],
])

testRows('references of 2020-12 with keywords beside them', [
  [
    'are an allOf',
    { $schema: DRAFT_2020, $defs: { a: S }, $ref: '#/$defs/a', maxLength: 3 },
    { $schema: DRAFT_2020, $defs: { a: S }, $ref: '#/$defs/a' },
    '',
  ],
  [
    'are compared as such',
    { $schema: DRAFT_2020, $defs: { a: S }, $ref: '#/$defs/a', maxLength: 3 },
    { $schema: DRAFT_2020, $defs: { a: S }, $ref: '#/$defs/a', maxLength: 2 },
    NO_MATCH,
  ],
])

const tree = (leaf: object) => ({
  $ref: '#/definitions/node',
  definitions: {
    node: {
      type: 'object',
      properties: { value: leaf, children: { type: 'array', items: { $ref: '#/definitions/node' } } },
    },
  },
})

testRows('schemas that refer to themselves', [
  ['stay', tree(N), tree(N), ''],
  ['get wider', tree(I), tree(N), ''],
  ['get narrower', tree(N), tree(I), 'TYPE_NARROWED'],
])

/** T0 leads back to itself through T2. Its own change must not get lost because of that. */
const cycle = (first: string, second: string) => ({
  oneOf: [{ $ref: '#/definitions/T0' }, { $ref: '#/definitions/T1' }],
  definitions: {
    T0: {
      type: 'object',
      properties: { back: { oneOf: [{ $ref: '#/definitions/T2' }, { type: 'null' }] }, id: { type: first } },
    },
    T1: { type: 'object', properties: { back: { $ref: '#/definitions/T2' }, id: { type: second } } },
    T2: { type: 'object', properties: { to: { $ref: '#/definitions/T0' } } },
  },
})

test('a verdict that rested on an assumption is taken back with it', () => {
  assert.equal(reasons(cycle('string', 'boolean'), cycle('string', 'boolean')), '')
  assert.notEqual(reasons(cycle('string', 'boolean'), cycle('boolean', 'number')), '')
  assert.notEqual(reasons(cycle('string', 'boolean'), cycle('number', 'boolean')), '')
})

test('types that all refer to each other are compared in bounded time', () => {
  const names = Array.from({ length: 60 }, (_, at) => `T${at}`)
  const all = { oneOf: names.map(name => ({ $ref: `#/definitions/${name}` })) }
  const schema = (kind: string) => ({
    ...all,
    definitions: Object.fromEntries(
      names.map(name => [
        name,
        { type: 'object', properties: { tag: { const: name }, a: all, b: all, c: { type: kind } } },
      ]),
    ),
  })
  assert.equal(reasons(schema('string'), schema('string'), 'STRICT', 'stored'), '')
  assert.notEqual(reasons(schema('string'), schema('number'), 'STRICT', 'stored'), '')
})

test('thousands of definitions in one chain do not exhaust the stack', () => {
  const chain = (last: object) => ({
    $ref: '#/definitions/d0',
    definitions: Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [
        `d${at}`,
        at === 4_999 ? last : { type: 'object', properties: { n: { $ref: `#/definitions/d${at + 1}` } } },
      ]),
    ),
  })
  const read = (last: object) => parse(chain(last), 'stored')
  assert.deepEqual(jsonSchema.compare(read(N), read(I), 'STRICT'), [])
  const [reason] = jsonSchema.compare(read(I), read(N), 'STRICT')
  assert.equal(reason!.type, 'TYPE_NARROWED')
})

test('a chain of thousands of references is followed', () => {
  const chain = (last: object) => ({
    $ref: '#/definitions/d0',
    definitions: Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [`d${at}`, at === 4_999 ? last : { $ref: `#/definitions/d${at + 1}` }]),
    ),
  })
  assert.equal(
    jsonSchema.compare(parse(chain(I), 'stored'), parse(chain(N), 'stored'), 'STRICT')[0]!.type,
    'TYPE_NARROWED',
  )
})

test('anyOf of 1,000 against 1,000 compares few pairs when few members changed', () => {
  const member = (at: number) => ({
    type: 'object',
    properties: { [`p${at}`]: { type: 'object', properties: { a: S } } },
  })
  const members = Array.from({ length: 1_000 }, (_, at) => member(at))
  const shuffled = [...members.slice(500), ...members.slice(0, 500), { type: 'null' }]
  assert.equal(reasons(anyOf(...members), anyOf(...shuffled), 'STRICT', 'stored'), '')
})
