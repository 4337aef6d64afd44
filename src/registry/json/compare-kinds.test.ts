// Rows for each rule about kinds, strings, numbers, values and `not`.

import { DRAFT_4, type Row, testRows } from '../../../testing/json-compatibility.ts'

const text = (rest: object = {}) => ({ type: 'string', ...rest })
const number = (rest: object = {}) => ({ type: 'number', ...rest })
const oldNumber = (rest: object) => ({ $schema: DRAFT_4, type: 'number', ...rest })
const EVERY_KIND: readonly Row[] = ['string', 'number', 'boolean', 'null', 'array', 'object'].flatMap(
  (type, at, all) => [
    [`${type} stays`, { type }, { type }, ''] as const,
    [`${type} becomes ${all.at(at - 1)}`, { type }, { type: all.at(at - 1)! }, 'TYPE_CHANGED'] as const,
    [`${type} becomes anything`, { type }, {}, ''] as const,
    [`anything becomes ${type}`, {}, { type }, 'TYPE_CHANGED'] as const,
  ],
)

testRows('kinds', [
  ...EVERY_KIND,
  ['the id changes', { $id: 'http://a/' }, { $id: 'http://b/' }, ''],
  ['the title changes', text({ title: 'a' }), text({ title: 'b' }), ''],
  ['the description changes', text({ description: 'a' }), text({ description: 'b' }), ''],
  ['the default changes', text({ default: 'a' }), text({ default: 'b' }), ''],
  ['the format changes', text({ format: 'date' }), text({ format: 'time' }), ''],
  ['the format of a number appears', number(), number({ format: 'float' }), ''],
  ['contentEncoding changes', text({ contentEncoding: 'base64' }), text({ contentEncoding: 'base16' }), ''],
  ['contentMediaType changes', text({ contentMediaType: 'a/b' }), text({ contentMediaType: 'a/c' }), ''],
  ['the writer is false', false, text(), ''],
  ['the reader is false', text(), false, 'TYPE_CHANGED'],
  ['the reader is true', text(), true, ''],
  ['the writer is true and the reader {}', true, {}, ''],
  ['the writer is true and the reader false', true, false, 'TYPE_CHANGED'],
  ['both are false', false, false, ''],
  ['keywords tell the kind: maxLength', { maxLength: 3 }, text({ maxLength: 3 }), ''],
  ['keywords tell the kind: maximum', { maximum: 3 }, number({ maximum: 3 }), ''],
  ['keywords tell the kind: items', { items: text() }, { type: 'array', items: text() }, ''],
  ['keywords tell the kind: properties', { properties: { a: {} } }, { type: 'object', properties: { a: {} } }, ''],
  ['keywords of two kinds are an allOf', { maxLength: 3, maximum: 3 }, { maximum: 3 }, ''],
  ['keywords of a second kind appear', { maximum: 3 }, { maxLength: 3, maximum: 3 }, 'TYPE_CHANGED'],
  ['both sides are bytes of Connect', number({ 'connect.type': 'bytes' }), text({ 'connect.type': 'bytes' }), ''],
  ['only one side is bytes of Connect', number(), text({ 'connect.type': 'bytes' }), 'TYPE_CHANGED'],
  ['a $ref is its target', { definitions: { a: text() }, $ref: '#/definitions/a' }, text(), ''],
  ['another target', { definitions: { a: text() }, $ref: '#/definitions/a' }, number(), 'TYPE_CHANGED'],
  [
    'keywords beside a $ref do not count',
    { definitions: { a: {} }, $ref: '#/definitions/a', type: 'string' },
    text(),
    'TYPE_CHANGED',
  ],
])

testRows('strings', [
  ['maxLength goes up', text({ maxLength: 3 }), text({ maxLength: 4 }), ''],
  ['maxLength goes away', text({ maxLength: 3 }), text(), ''],
  ['maxLength goes down', text({ maxLength: 4 }), text({ maxLength: 3 }), 'MAX_LENGTH_DECREASED'],
  ['maxLength appears', text(), text({ maxLength: 3 }), 'MAX_LENGTH_ADDED'],
  ['minLength goes down', text({ minLength: 4 }), text({ minLength: 3 }), ''],
  ['minLength goes away', text({ minLength: 4 }), text(), ''],
  ['minLength goes up', text({ minLength: 3 }), text({ minLength: 4 }), 'MIN_LENGTH_INCREASED'],
  ['minLength appears', text(), text({ minLength: 3 }), 'MIN_LENGTH_ADDED'],
  ['the pattern stays', text({ pattern: 'a' }), text({ pattern: 'a' }), ''],
  ['the pattern goes away', text({ pattern: 'a' }), text(), ''],
  ['the pattern appears', text(), text({ pattern: 'a' }), 'PATTERN_ADDED'],
  ['the pattern changes', text({ pattern: 'a' }), text({ pattern: 'b' }), 'PATTERN_CHANGED'],
  ['a wider pattern is a change too', text({ pattern: '^a$' }), text({ pattern: 'a' }), 'PATTERN_CHANGED'],
  [
    'all at once',
    text({ minLength: 1 }),
    text({ minLength: 2, maxLength: 3 }),
    'MAX_LENGTH_ADDED MIN_LENGTH_INCREASED',
  ],
])

testRows('numbers', [
  ['integer becomes number', { type: 'integer' }, number(), ''],
  ['number becomes integer', number(), { type: 'integer' }, 'TYPE_NARROWED'],
  ['maximum goes up', number({ maximum: 3 }), number({ maximum: 3.5 }), ''],
  ['maximum goes away', number({ maximum: 3 }), number(), ''],
  ['maximum goes down', number({ maximum: 3 }), number({ maximum: 2 }), 'MAXIMUM_DECREASED'],
  ['maximum appears', number(), number({ maximum: 3 }), 'MAXIMUM_ADDED'],
  ['minimum goes down', number({ minimum: 3 }), number({ minimum: -3 }), ''],
  ['minimum goes away', number({ minimum: 3 }), number(), ''],
  ['minimum goes up', number({ minimum: 3 }), number({ minimum: 4 }), 'MINIMUM_INCREASED'],
  ['minimum appears', number(), number({ minimum: 3 }), 'MINIMUM_ADDED'],
  ['exclusiveMaximum goes up', number({ exclusiveMaximum: 3 }), number({ exclusiveMaximum: 4 }), ''],
  ['exclusiveMaximum goes away', number({ exclusiveMaximum: 3 }), number(), ''],
  [
    'exclusiveMaximum goes down',
    number({ exclusiveMaximum: 3 }),
    number({ exclusiveMaximum: 2 }),
    'EXCLUSIVE_MAXIMUM_DECREASED',
  ],
  ['exclusiveMaximum appears', number(), number({ exclusiveMaximum: 3 }), 'EXCLUSIVE_MAXIMUM_ADDED'],
  ['exclusiveMinimum goes down', number({ exclusiveMinimum: 3 }), number({ exclusiveMinimum: 2 }), ''],
  ['exclusiveMinimum goes away', number({ exclusiveMinimum: 3 }), number(), ''],
  [
    'exclusiveMinimum goes up',
    number({ exclusiveMinimum: 3 }),
    number({ exclusiveMinimum: 4 }),
    'EXCLUSIVE_MINIMUM_INCREASED',
  ],
  ['exclusiveMinimum appears', number(), number({ exclusiveMinimum: 3 }), 'EXCLUSIVE_MINIMUM_ADDED'],
  [
    'the boolean exclusiveMinimum of draft-04 appears',
    oldNumber({ minimum: 3 }),
    oldNumber({ minimum: 3, exclusiveMinimum: true }),
    'EXCLUSIVE_MINIMUM_ADDED',
  ],
  [
    'the boolean exclusiveMaximum of draft-04 goes away',
    oldNumber({ maximum: 3, exclusiveMaximum: true }),
    oldNumber({ maximum: 3 }),
    '',
  ],
  ['multipleOf goes away', number({ multipleOf: 4 }), number(), ''],
  ['multipleOf appears', number(), number({ multipleOf: 4 }), 'MULTIPLE_OF_ADDED'],
  ['multipleOf is reduced', number({ multipleOf: 4 }), number({ multipleOf: 2 }), ''],
  ['multipleOf is expanded', number({ multipleOf: 2 }), number({ multipleOf: 4 }), 'MULTIPLE_OF_EXPANDED'],
  ['multipleOf is unrelated', number({ multipleOf: 2 }), number({ multipleOf: 3 }), 'MULTIPLE_OF_CHANGED'],
  ['multipleOf is reduced in decimals', number({ multipleOf: 0.3 }), number({ multipleOf: 0.1 }), ''],
  [
    'multipleOf is expanded in decimals',
    number({ multipleOf: 0.01 }),
    number({ multipleOf: 0.07 }),
    'MULTIPLE_OF_EXPANDED',
  ],
])

testRows('values', [
  ['an enum stays in another order', { enum: ['a', 1] }, { enum: [1, 'a'] }, ''],
  ['an enum is extended', { enum: ['a'] }, { enum: ['a', null] }, ''],
  ['an enum is narrowed', { enum: ['a', 'b'] }, { enum: ['a'] }, 'ENUM_ARRAY_NARROWED'],
  ['an enum is changed', { enum: ['a', 'b'] }, { enum: ['b', 'c'] }, 'ENUM_ARRAY_CHANGED'],
  ['objects in an enum have no order', { enum: [{ a: 1, b: 2 }] }, { enum: [{ b: 2, a: 1 }] }, ''],
  ['a string is no number in an enum', { enum: ['1'] }, { enum: [1] }, 'ENUM_ARRAY_CHANGED'],
  ['1 and 1.0 are one value', { enum: [1] }, { enum: [Number('1.0')] }, ''],
  ['an enum with a type is an allOf', text({ enum: ['a'] }), text({ enum: ['a', 'b'] }), ''],
  [
    'an enum with a type is narrowed',
    text({ enum: ['a', 'b'] }),
    text({ enum: ['a'] }),
    'COMBINED_TYPE_SUBSCHEMAS_CHANGED',
  ],
  ['an enum appears beside a type', text(), text({ enum: ['a'] }), 'TYPE_CHANGED'],
  ['an enum goes away beside a type', text({ enum: ['a'] }), text(), ''],
  ['a const stays', { const: { a: [1] } }, { const: { a: [1] } }, ''],
  ['a const changes', { const: 1 }, { const: 2 }, 'ENUM_ARRAY_CHANGED'],
  ['a const becomes an enum', { const: 1 }, { enum: [1] }, 'TYPE_CHANGED'],
  ['an enum becomes a const', { enum: [1] }, { const: 1 }, 'TYPE_CHANGED'],
  ['const means nothing in draft-04', { $schema: DRAFT_4, const: 1 }, { $schema: DRAFT_4, const: 2 }, ''],
])

testRows('not', [
  ['the inner schema stays', { not: text() }, { not: text() }, ''],
  ['the inner schema gets narrower', { not: number() }, { not: { type: 'integer' } }, ''],
  ['the inner schema gets wider', { not: { type: 'integer' } }, { not: number() }, 'NOT_TYPE_EXTENDED'],
  ['the inner schema changes', { not: text() }, { not: number() }, 'NOT_TYPE_EXTENDED'],
  ['a not in a not', { not: { not: { type: 'integer' } } }, { not: { not: number() } }, ''],
  ['not becomes another kind', { not: text() }, text(), 'TYPE_CHANGED'],
])

// A literal with `then` looks like a promise to some tools.
const IF_TEXT = Object.fromEntries([
  ['if', text()],
  ['then', { maxLength: 3 }],
])

testRows('never compared', [
  ['a condition changes', { ...IF_TEXT }, { ...IF_TEXT, else: number() }, ''],
  ['a condition goes away', { type: 'object', ...IF_TEXT }, { type: 'object' }, ''],
  ['a condition appears', { type: 'object' }, { type: 'object', ...IF_TEXT }, 'TYPE_CHANGED'],
  [
    'a condition means nothing in draft-04',
    { $schema: DRAFT_4, type: 'object' },
    { $schema: DRAFT_4, type: 'object', if: {} },
    '',
  ],
])
