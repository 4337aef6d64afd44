// Rows for each rule about objects.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_2019, DRAFT_2020, parse, type Row, testRows } from '../../../testing/json-compatibility.ts'
import { jsonSchema } from './json-schema.ts'

const S = { type: 'string' }
const N = { type: 'number' }
const I = { type: 'integer' }
const object = (rest: object = {}) => ({ type: 'object', ...rest })
const closed = (properties: object = {}, rest: object = {}) =>
  object({ properties, additionalProperties: false, ...rest })
const modern = (rest: object = {}) => ({ $schema: DRAFT_2020, ...object(rest) })

const OPTIONAL = 'OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL'
const WITH_DEFAULT = 'REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL'
const REQUIRED = 'REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL'
const UNOPEN = 'REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL'
const ADDED = 'PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL'
const REMOVED = 'PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL'
const FROM_CLOSED = 'PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL'

const both = (a: object, b: object, rest: object = {}) => object({ properties: { a, b }, ...rest })

testRows('required, the property is in both', [
  ['removed', both(S, S, { required: ['a', 'b'] }), both(S, S, { required: ['a'] }), ''],
  ['added without a default', both(S, S), both(S, S, { required: ['a'] }), 'REQUIRED_ATTRIBUTE_ADDED'],
  ['added with a default', both(S, S), both({ ...S, default: '' }, S, { required: ['a'] }), ''],
  ['added with the default null', both(S, S), both({ default: null }, S, { required: ['a'] }), ''],
  ['a name without a property', object({ required: ['a'] }), object({ required: ['a', 'b'] }), ''],
  [
    'the default stands beside a $ref',
    object({ properties: { a: S } }),
    object({ definitions: { s: S }, properties: { a: { $ref: '#/definitions/s', default: '' } }, required: ['a'] }),
    '',
  ],
])

testRows('a property in both', [
  ['stays', both(S, N), both(S, N), ''],
  ['is compared', both(S, N), both(S, I), 'TYPE_NARROWED'],
  ['is wider', both(S, I), both(S, N), ''],
  ['both are compared', both(S, N), both(N, S), 'TYPE_CHANGED'],
  [
    'is compared inside',
    object({ properties: { a: both(S, { ...S, maxLength: 3 }) } }),
    object({ properties: { a: both(S, { ...S, maxLength: 2 }) } }),
    'MAX_LENGTH_DECREASED',
  ],
])

testRows('a property is removed', [
  ['the reader is open', both(S, N), object({ properties: { a: S } }), ''],
  [
    'the reader is open by unevaluatedProperties',
    modern({ properties: { a: S }, unevaluatedProperties: true }),
    modern({ unevaluatedProperties: true }),
    '',
  ],
  ['the reader is closed', closed({ a: S, b: S }), closed({ a: S }), FROM_CLOSED, ''],
  ['the reader is closed and the property was false', closed({ a: S, b: false }), closed({ a: S }), ''],
  [
    'additionalProperties read it',
    both(S, I, { additionalProperties: N }),
    object({ properties: { a: S }, additionalProperties: N }),
    '',
  ],
  [
    'additionalProperties do not read it',
    both(S, S, { additionalProperties: N }),
    object({ properties: { a: S }, additionalProperties: N }),
    `${REMOVED} TYPE_CHANGED`,
    'TYPE_CHANGED',
  ],
  [
    'patternProperties read it',
    closed({ a: S }, { patternProperties: { '^a': S } }),
    closed({}, { patternProperties: { '^a': S } }),
    '',
  ],
  [
    'patternProperties come before additionalProperties',
    object({ properties: { ab: N }, patternProperties: { b: S }, additionalProperties: N }),
    object({ patternProperties: { b: S }, additionalProperties: N }),
    `${REMOVED} TYPE_CHANGED`,
    'TYPE_CHANGED',
  ],
  [
    'no pattern matches and the reader is closed',
    closed({ b: S }, { patternProperties: { '^a': S } }),
    closed({}, { patternProperties: { '^a': S } }),
    FROM_CLOSED,
    '',
  ],
  [
    'unevaluatedProperties read it',
    modern({ properties: { a: I }, unevaluatedProperties: N }),
    modern({ unevaluatedProperties: N }),
    '',
  ],
  [
    'unevaluatedProperties do not read it',
    modern({ properties: { a: S }, unevaluatedProperties: N }),
    modern({ unevaluatedProperties: N }),
    `${REMOVED} TYPE_CHANGED`,
    'TYPE_CHANGED',
  ],
  [
    'the reader is closed by unevaluatedProperties',
    modern({ properties: { a: S }, unevaluatedProperties: false }),
    modern({ unevaluatedProperties: false }),
    FROM_CLOSED,
    '',
  ],
])

const TO_FALSE = { $ref: '#/definitions/f' }
const TO_ANY = { $ref: '#/definitions/e' }
const DEFINED = { definitions: { f: false, e: {} } }

testRows('a $ref is not what it leads to', [
  ['a property that led to false is removed', closed({ a: TO_FALSE }, DEFINED), closed({}, DEFINED), FROM_CLOSED, ''],
  [
    'a property that leads to {} is added',
    object(DEFINED),
    object({ ...DEFINED, properties: { a: TO_ANY } }),
    OPTIONAL,
    '',
  ],
])

testRows('a property is added', [
  ['the writer is open, optional', object(), object({ properties: { a: S } }), OPTIONAL, ''],
  ['the writer is open, an empty schema', object(), object({ properties: { a: {} } }), ''],
  ['the writer is open, true', object(), object({ properties: { a: true } }), ''],
  [
    'the writer is open, an empty schema that is required',
    object(),
    object({ properties: { a: {} }, required: ['a'] }),
    '',
  ],
  ['the writer is open, required', object(), object({ properties: { a: S }, required: ['a'] }), REQUIRED],
  [
    'the writer is open, required with a default',
    object(),
    object({ properties: { a: { ...S, default: '' } }, required: ['a'] }),
    WITH_DEFAULT,
    '',
  ],
  [
    'the writer is open by additionalProperties: true',
    object({ additionalProperties: true }),
    object({ properties: { a: S } }),
    OPTIONAL,
    '',
  ],
  ['the writer is closed, optional', closed(), closed({ a: S }), ''],
  ['the writer is closed, required', closed(), closed({ a: S }, { required: ['a'] }), UNOPEN],
  [
    'the writer is closed, required with a default',
    closed(),
    closed({ a: { ...S, default: '' } }, { required: ['a'] }),
    '',
  ],
  [
    'the writer is partially open and it reads that',
    object({ additionalProperties: I }),
    object({ properties: { a: N }, additionalProperties: I }),
    '',
  ],
  [
    'the writer is partially open and it does not read that',
    object({ additionalProperties: N }),
    object({ properties: { a: S }, additionalProperties: N }),
    `${ADDED} TYPE_CHANGED`,
    'TYPE_CHANGED',
  ],
  [
    'the writer is partially open, required',
    object({ additionalProperties: N }),
    object({ properties: { a: N }, additionalProperties: N, required: ['a'] }),
    UNOPEN,
  ],
  [
    'a pattern of the writer covers it',
    object({ patternProperties: { '^a': I } }),
    object({ patternProperties: { '^a': I }, properties: { ab: N } }),
    '',
  ],
  [
    'a writer with patterns is not open',
    object({ patternProperties: { '^a': I } }),
    object({ patternProperties: { '^a': I }, properties: { b: N } }),
    '',
  ],
  [
    'unevaluatedProperties of the writer cover it',
    modern({ unevaluatedProperties: I }),
    modern({ unevaluatedProperties: I, properties: { a: S } }),
    `${ADDED} TYPE_CHANGED`,
    'TYPE_CHANGED',
  ],
  [
    'the writer is closed by unevaluatedProperties',
    modern({ unevaluatedProperties: false }),
    modern({ unevaluatedProperties: false, properties: { a: S } }),
    '',
  ],
])

const additional = (was: unknown, is: unknown): [object, object] => [
  object(was === undefined ? {} : { additionalProperties: was }),
  object(is === undefined ? {} : { additionalProperties: is }),
]
const unevaluated = (was: unknown, is: unknown): [object, object] => [
  modern(was === undefined ? {} : { unevaluatedProperties: was }),
  modern(is === undefined ? {} : { unevaluatedProperties: is }),
]

testRows('additionalProperties', [
  ['false becomes allowed', ...additional(false, undefined), ''],
  ['false becomes a schema', ...additional(false, S), ''],
  ['a schema becomes true', ...additional(S, true), ''],
  ['a schema goes away', ...additional(S, undefined), ''],
  ['a schema is wider', ...additional(I, N), ''],
  ['a schema is narrower', ...additional(N, I), 'TYPE_NARROWED'],
  ['allowed becomes false', ...additional(undefined, false), 'ADDITIONAL_PROPERTIES_REMOVED', ''],
  ['a schema becomes false', ...additional(S, false), 'ADDITIONAL_PROPERTIES_REMOVED', ''],
  ['true becomes a schema', ...additional(true, S), 'ADDITIONAL_PROPERTIES_NARROWED', ''],
  ['absent becomes a schema', ...additional(undefined, S), 'ADDITIONAL_PROPERTIES_NARROWED', ''],
])

testRows('unevaluatedProperties', [
  ['false becomes allowed', ...unevaluated(false, undefined), ''],
  ['false becomes a schema', ...unevaluated(false, S), ''],
  ['a schema becomes true', ...unevaluated(S, true), ''],
  ['a schema goes away', ...unevaluated(S, undefined), ''],
  ['a schema is wider', ...unevaluated(I, N), ''],
  ['a schema is narrower', ...unevaluated(N, I), 'TYPE_NARROWED'],
  ['allowed becomes false', ...unevaluated(undefined, false), 'UNEVALUATED_PROPERTIES_REMOVED', ''],
  ['true becomes false', ...unevaluated(true, false), 'UNEVALUATED_PROPERTIES_REMOVED', ''],
  ['a schema becomes false', ...unevaluated(S, false), 'UNEVALUATED_PROPERTIES_REMOVED', ''],
  ['true becomes a schema', ...unevaluated(true, S), 'UNEVALUATED_PROPERTIES_NARROWED', ''],
  ['absent becomes a schema', ...unevaluated(undefined, S), 'UNEVALUATED_PROPERTIES_NARROWED', ''],
  ['means nothing in draft-07', object(), object({ unevaluatedProperties: false }), ''],
])

const depends = (on: unknown) => object({ dependencies: { a: on } })
const modernDepends = (on: unknown) => ({ $schema: DRAFT_2019, type: 'object', dependentRequired: { a: on } })
const dependent = (on: unknown) => modern({ dependentSchemas: { a: on } })

const LIMITS: readonly Row[] = [
  ['maxProperties goes up', object({ maxProperties: 1 }), object({ maxProperties: 2 }), ''],
  ['maxProperties goes away', object({ maxProperties: 1 }), object(), ''],
  ['maxProperties goes down', object({ maxProperties: 2 }), object({ maxProperties: 1 }), 'MAX_PROPERTIES_DECREASED'],
  ['maxProperties appears', object(), object({ maxProperties: 1 }), 'MAX_PROPERTIES_ADDED'],
  ['minProperties goes down', object({ minProperties: 2 }), object({ minProperties: 1 }), ''],
  ['minProperties goes away', object({ minProperties: 2 }), object(), ''],
  ['minProperties goes up', object({ minProperties: 1 }), object({ minProperties: 2 }), 'MIN_PROPERTIES_INCREASED'],
  ['minProperties appears', object(), object({ minProperties: 1 }), 'MIN_PROPERTIES_ADDED'],
]

testRows('dependencies and limits of objects', [
  ['a list goes away', depends(['b']), object(), ''],
  ['a list is narrowed', depends(['b', 'c']), depends(['b']), ''],
  ['a list appears', object(), depends(['b']), 'DEPENDENCY_ARRAY_ADDED'],
  ['a list is extended', depends(['b']), depends(['b', 'c']), 'DEPENDENCY_ARRAY_EXTENDED'],
  ['a list is changed', depends(['b']), depends(['c']), 'DEPENDENCY_ARRAY_CHANGED'],
  ['a schema goes away', depends(S), object(), ''],
  ['a schema appears', object(), depends(S), 'DEPENDENCY_SCHEMA_ADDED'],
  ['a schema is compared', depends(S), depends(N), 'TYPE_CHANGED'],
  ['dependentRequired is extended', modernDepends(['b']), modernDepends(['b', 'c']), 'DEPENDENCY_ARRAY_EXTENDED'],
  ['dependentRequired is narrowed', modernDepends(['b', 'c']), modernDepends(['c']), ''],
  ['dependentSchemas appears', modern(), dependent(S), 'DEPENDENCY_SCHEMA_ADDED'],
  ['dependentSchemas is compared', dependent(S), dependent(N), 'TYPE_CHANGED'],
  ['dependentSchemas goes away', dependent(S), modern(), ''],
  ...LIMITS,
])

testRows('never compared in objects', [
  ['propertyNames', object({ propertyNames: { maxLength: 3 } }), object({ propertyNames: { maxLength: 2 } }), ''],
  [
    'patternProperties by themselves',
    object({ patternProperties: { a: S } }),
    object({ patternProperties: { a: N } }),
    '',
  ],
])

test('a reason names its place and both sides', () => {
  const writer = parse(object({ properties: { a: object({ properties: { b: { ...N, maximum: 10 } } }) } }))
  const reader = parse(object({ properties: { a: object({ properties: { b: { ...N, maximum: 5 } } }) } }))
  assert.deepEqual(jsonSchema.compare(reader, writer, 'STRICT'), [
    {
      type: 'MAXIMUM_DECREASED',
      path: '#/properties/a/properties/b/maximum',
      description: 'the reader has maximum 5, and the writer 10',
    },
  ])
})

test('a property that is added to an open content model comes with advice', () => {
  const [reason] = jsonSchema.compare(parse(object({ properties: { a: S } })), parse(object()), 'STRICT')
  assert.match(reason!.description, /open content model/)
  assert.match(reason!.description, /"additionalProperties": false/)
  assert.match(reason!.description, /LENIENT/)
})

test('a comparison gives at most 100 reasons', () => {
  const many = (schema: object) =>
    object({ properties: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`p${at}`, schema])) })
  assert.equal(jsonSchema.compare(parse(many(S)), parse(many(N)), 'STRICT').length, 100)
})
