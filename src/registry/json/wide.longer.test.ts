// Schemas that are cut into pieces judge as before, and sizes that ajv alone cannot take are judged.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_2020, parse, type Source } from '../../../testing/json-compatibility.ts'
import { jsonSchema } from './json-schema.ts'
import { judgeOf } from './judge.ts'

const judge = (source: Source) => judgeOf(jsonSchema.compile(parse(source, 'stored')).text)
const many = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at))
const record = (length: number, make: (at: number) => unknown) =>
  Object.fromEntries(many(length, at => [`p${at}`, make(at)]))

for (const size of [49, 51, 120, 3_000]) {
  test(`oneOf of ${size} wants exactly one, wherever it stands`, () => {
    const last = size - 1
    // 0.5 matches nothing, 1 the last one, 2 the first and the last one, 3 the first two, 4 the two last.
    const matching = (at: number) => [
      ...(at === last ? [1, 2, 4] : []),
      ...(at === 0 ? [2, 3] : []),
      ...(at === 1 ? [3] : []),
      ...(at === last - 1 ? [4] : []),
    ]
    const judged = judge({ oneOf: many(size, at => ({ enum: [`only ${at}`, ...matching(at)] })) })
    assert.equal(judged(1), null)
    assert.equal(judged(`only ${size >> 1}`), null)
    for (const value of [0.5, 2, 3, 4]) assert.notEqual(judged(value), null, String(value))
  })

  test(`anyOf of ${size} wants one, and allOf of ${size} all`, () => {
    const any = judge({ anyOf: many(size, at => ({ const: at })) })
    assert.equal(any(0), null)
    assert.equal(any(size - 1), null)
    assert.notEqual(any(size), null)
    const all = judge({ allOf: many(size, at => ({ minimum: at })) })
    assert.equal(all(size - 1), null)
    assert.notEqual(all(size - 2), null)
  })

  test(`${size} properties are judged, and others are additional`, () => {
    const schema = {
      properties: record(size, () => ({ anyOf: [{ type: 'string' }, { type: 'null' }] })),
      required: Object.keys(record(size, () => 0)),
    }
    const closed = judge({ ...schema, additionalProperties: false })
    // ajv nests the names that are evaluated.
    const unevaluated = () => judge({ $schema: DRAFT_2020, ...schema, unevaluatedProperties: false })
    for (const judged of size < 1_000 ? [closed, unevaluated()] : [closed]) {
      const value = record(size, () => null)
      assert.equal(judged(value), null)
      assert.match(judged({ ...value, [`p${size - 1}`]: 1 })!.message, new RegExp(`^at /p${size - 1}: must be`))
      assert.match(judged({ ...value, x: null })!.message, /property "x"/)
      const { p0: _, ...missing } = value
      assert.match(judged(missing)!.message, /must have required property 'p0'/)
    }
  })

  test(`${size} dependencies are judged`, () => {
    const judged = judge({ dependencies: record(size, at => (at % 2 === 0 ? ['x'] : { maxProperties: 1 })) })
    assert.equal(judged({ p0: 1, x: 1 }), null)
    assert.notEqual(judged({ p48: 1 }), null)
    assert.notEqual(judged({ [`p${((size - 2) >> 1) * 2 + 1}`]: 1, x: 1 }), null)
  })
}
