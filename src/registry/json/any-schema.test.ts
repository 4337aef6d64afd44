// Generated schemas, sensible and not: nothing but InvalidSchema is thrown, and verdicts agree with the data.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_4, DRAFT_2019, DRAFT_2020 } from '../../../testing/json-compatibility.ts'
import { fc } from '../../../testing/property.ts'
import { InvalidSchema } from '../format.ts'
import { jsonSchema } from './json-schema.ts'
import { judgeOf } from './judge.ts'

const KEYWORDS = [
  ...[
    '$ref',
    '$id',
    'id',
    '$anchor',
    '$dynamicRef',
    '$recursiveRef',
    '$schema',
    '$defs',
    'definitions',
    'type',
    'enum',
    'const',
  ],
  ...[
    'multipleOf',
    'maximum',
    'exclusiveMaximum',
    'minimum',
    'exclusiveMinimum',
    'maxLength',
    'minLength',
    'pattern',
    'items',
  ],
  ...[
    'prefixItems',
    'additionalItems',
    'unevaluatedItems',
    'contains',
    'maxContains',
    'minContains',
    'maxItems',
    'uniqueItems',
  ],
  ...[
    'properties',
    'patternProperties',
    'additionalProperties',
    'unevaluatedProperties',
    'propertyNames',
    'required',
    'default',
  ],
  ...[
    'dependencies',
    'dependentRequired',
    'dependentSchemas',
    'minProperties',
    'allOf',
    'anyOf',
    'oneOf',
    'not',
    'if',
    'then',
    'else',
  ],
]

const WORDS = [
  '#',
  '#/definitions/a',
  '#a',
  'a',
  'object',
  'string',
  'integer',
  '^a',
  '(',
  DRAFT_4,
  DRAFT_2019,
  DRAFT_2020,
  '__proto__',
  'constructor',
]

/** Objects of keywords with values of any kind. */
const { schema: anySchema } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(...WORDS),
    fc.constantFrom(null, true, false, 0, 1, -1, 2.5, 1e300),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('members'),
    tie('schema'),
  ),
  members: fc.dictionary(fc.constantFrom('a', 'b', '^a', '__proto__'), tie('schema'), { maxKeys: 3 }),
  schema: fc.dictionary(fc.constantFrom(...KEYWORDS), tie('value'), { maxKeys: 4 }),
}))

const read = (schema: unknown, strictness: 'new' | 'stored') =>
  jsonSchema.parse(
    { text: JSON.stringify(schema), dependencies: [{ name: 'a', text: '{"type":"string"}' }] },
    strictness,
  )

test('any object can be read as a stored schema, compared and compiled', () => {
  fc.assert(
    fc.property(anySchema, anySchema, fc.jsonValue(), (one, other, value) => {
      const [a, b] = [read(one, 'stored'), read(other, 'stored')]
      assert.deepEqual(jsonSchema.compare(a, a, 'STRICT'), [])
      assert.deepEqual(jsonSchema.compare(read(one, 'stored'), a, 'STRICT'), [])
      jsonSchema.compare(a, b, 'STRICT')
      jsonSchema.compare(b, a, 'LENIENT')
      const judge = judgeOf(jsonSchema.compile(a).text)
      try {
        judge(value)
      } catch (error) {
        // It leads to itself without an end.
        assert.ok(error instanceof RangeError)
      }
    }),
  )
})

test('any object is a new schema or refused as no schema', () => {
  fc.assert(
    fc.property(anySchema, schema => {
      try {
        read(schema, 'new')
      } catch (error) {
        assert.ok(error instanceof InvalidSchema, String((error as Error).stack))
        assert.ok(error.message.length > 0)
      }
    }),
  )
})

/** Schemas of the keywords that the rules of compatibility know well. */
const { schema: known } = fc.letrec<{ schema: object; leaf: object }>(tie => ({
  leaf: fc.oneof(
    fc.record({ type: fc.constant('string'), maxLength: fc.nat(4), minLength: fc.nat(2) }, { requiredKeys: ['type'] }),
    fc.record(
      {
        type: fc.constantFrom('number', 'integer'),
        maximum: fc.nat(5),
        minimum: fc.nat(3),
        multipleOf: fc.constantFrom(1, 2, 0.5),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ type: fc.constantFrom('boolean', 'null') }),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom('a', 1, null, true), { minLength: 1 }) }),
    fc.constant({}),
  ),
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('leaf'),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('leaf')),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ type: fc.constant('array'), items: tie('schema'), maxItems: fc.nat(3) }, { requiredKeys: ['type'] }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
  ),
}))

const data = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom('', 'a', 'abcd', 0, 1, 2, 2.5, 6, null, true, false),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
})).value

test('data that is valid for the writer is valid for a compatible reader', () => {
  fc.assert(
    fc.property(known, known, fc.array(data, { minLength: 20, maxLength: 20 }), (writer, reader, values) => {
      if (jsonSchema.compare(read(reader, 'stored'), read(writer, 'stored'), 'STRICT').length > 0) return
      const [written, readable] = [writer, reader].map(schema =>
        judgeOf(jsonSchema.compile(read(schema, 'stored')).text),
      )
      for (const value of values)
        if (written!(value) === null) assert.equal(readable!(value), null, JSON.stringify(value))
    }),
    { numRuns: 300 },
  )
})
