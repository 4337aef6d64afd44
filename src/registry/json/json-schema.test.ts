// Parsing and printing: what is a schema, where its references lead, and the texts that clients get.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRAFT_4, DRAFT_2019, DRAFT_2020, type Source } from '../../../testing/json-compatibility.ts'
import { type Dependency, InvalidSchema } from '../format.ts'
import { jsonSchema } from './json-schema.ts'
import { judgeOf } from './judge.ts'

const DRAFT_6 = 'http://json-schema.org/draft-06/schema#'
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'

const asText = (source: Source | string) => (typeof source === 'string' ? source : JSON.stringify(source))

function parse(
  source: Source | string,
  dependencies: Readonly<Record<string, Source>> = {},
  strictness: 'new' | 'stored' = 'new',
) {
  const named: Dependency[] = Object.entries(dependencies).map(([name, schema]) => ({ name, text: asText(schema) }))
  return jsonSchema.parse({ text: asText(source), dependencies: named }, strictness)
}

/** Whether a value is valid for a schema. */
function accepts(schema: ReturnType<typeof parse>, value: unknown): boolean {
  return judgeOf(jsonSchema.compile(schema).text)(value) === null
}

function refuses(source: Source | string, message: RegExp, dependencies: Readonly<Record<string, Source>> = {}): void {
  assert.throws(
    () => parse(source, dependencies),
    (error: unknown) => error instanceof InvalidSchema && message.test(error.message),
    `${asText(source).slice(0, 100)} should be refused with ${message}`,
  )
}

test('the canonical text has no white space and keeps order and digits', () => {
  const { canonical, normalized } = jsonSchema.print(
    parse('{ "type" : "number",\n "maximum": 1.50, "$id": "http://a/b" }'),
  )
  assert.equal(canonical, '{"type":"number","maximum":1.50,"$id":"http://a/b"}')
  assert.equal(normalized, '{"$id":"http://a/b","maximum":1.50,"type":"number"}')
})

test('the canonical text of a canonical text is the same', () => {
  const once = jsonSchema.print(parse({ type: 'object', properties: { b: true, a: { enum: ['x', 1e21] } } })).canonical
  assert.equal(jsonSchema.print(parse(once)).canonical, once)
})

test('true and false are schemas', () => {
  assert.equal(jsonSchema.print(parse('true')).canonical, 'true')
  assert.equal(accepts(parse(true), 1), true)
  assert.equal(accepts(parse(false), 1), false)
})

test('the name of a record is the title', () => {
  assert.deepEqual(jsonSchema.recordNames(parse({ title: 'Order' })), ['Order'])
  assert.deepEqual(jsonSchema.recordNames(parse({})), [])
  assert.deepEqual(jsonSchema.recordNames(parse({ title: 7 }, {}, 'stored')), [])
})

test('a text that is no schema is refused with the reason', () => {
  refuses('', /the schema is not JSON: line 1, column 1/)
  refuses('{"type":', /the schema is not JSON: line 1, column 9/)
  refuses('[]', /a JSON schema is an object or a boolean/)
  refuses('"string"', /a JSON schema is an object or a boolean/)
  refuses('{"type":"obj"}', /#\/type: must be one of "array","boolean","integer","null",.* \(draft-07\)/)
})

for (const [draft, id] of [
  [DRAFT_4, 'draft-04'],
  [DRAFT_6, 'draft-06'],
  [DRAFT_7, 'draft-07'],
  [DRAFT_2019, '2019-09'],
  [DRAFT_2020, '2020-12'],
] as const) {
  test(`a new schema of ${id} has to be valid against its draft, and a stored one has not`, () => {
    const wrong = { $schema: draft, type: 'object', properties: { a: { type: 'strin' } } }
    refuses(wrong, new RegExp(`#/properties/a/type.*${id}`))
    assert.equal(accepts(parse(wrong, {}, 'stored'), { a: 1 }), true)
    parse({ $schema: draft, type: 'object', properties: { a: { type: 'string' } } })
  })
}

test('without $schema, and with an unknown one, a schema is of draft-07', () => {
  assert.equal(accepts(parse({ items: [{ type: 'string' }] }), [1]), false)
  assert.equal(accepts(parse({ $schema: 'http://a.example/own', items: [{ type: 'string' }] }), [1]), false)
  assert.equal(accepts(parse({ prefixItems: [{ type: 'string' }] }), [1]), true)
})

test('boolean limits are of draft-04 only', () => {
  refuses({ minimum: 1, exclusiveMinimum: true }, /#\/exclusiveMinimum: must be number/)
  assert.equal(accepts(parse({ $schema: DRAFT_4, minimum: 1, exclusiveMinimum: true }), 1), false)
  assert.equal(accepts(parse({ $schema: DRAFT_4, minimum: 1, exclusiveMinimum: false }), 1), true)
})

test('a pattern has to be a regular expression, with or without the u flag', () => {
  refuses({ properties: { a: { pattern: '(' } } }, /#\/properties\/a: "\(" is no regular expression/)
  refuses({ patternProperties: { '[': {} } }, /"\[" is no regular expression/)
  assert.equal(accepts(parse({ pattern: '^\\-a$' }), '-a'), true)
  assert.equal(accepts(parse({ pattern: '^\\-a$' }), 'a'), false)
  assert.equal(accepts(parse({ pattern: '^.$' }), '😀'), true)
})

test('a schema that leads to itself without a step into the value is refused', () => {
  refuses({ $ref: '#' }, /refers to itself without an end/)
  refuses(
    { definitions: { a: { $ref: '#/definitions/b' }, b: { allOf: [{ $ref: '#/definitions/a' }] } } },
    /without an end/,
  )
  parse({ properties: { a: { $ref: '#' } } })
  parse({ items: { anyOf: [{ $ref: '#' }, { type: 'null' }] } })
})

test('schemas are nested in at most 64 levels', () => {
  const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) })
  parse(nested(64))
  refuses(nested(65), /more than 64 levels/)
  refuses(`${'{"not":'.repeat(100_000)}{}${'}'.repeat(100_000)}`, /levels/)
})

// R4: nothing is fetched.
for (const ref of [
  'http://127.0.0.1:1/a.json',
  'https://a.example/a.json#/b',
  'file:///etc/passwd',
  '//host/a.json',
  'a.json',
  '../a.json',
  'urn:a:b',
]) {
  test(`a $ref to ${ref} without a reference is refused`, () => {
    refuses(
      { properties: { a: { $ref: ref } } },
      /#\/properties\/a: \$ref names ".*", which is not among the references/,
    )
  })
}

test('a $ref has to lead to a schema', () => {
  refuses({ $ref: '#/definitions/a' }, /no schema is at "#\/definitions\/a"/)
  refuses({ items: { $ref: '#a' } }, /#\/items: no schema is at "#a"/)
  refuses({ title: 'x', items: { $ref: '#/title' } }, /no schema is at "#\/title"/)
  assert.equal(accepts(parse({ items: { $ref: '#/a' } }, {}, 'stored'), [1]), true)
})

const A = { type: 'string' }

test('references are found by their name, with and without a base', () => {
  const uses = (ref: string, id?: string) => ({ ...(id && { $id: id }), properties: { a: { $ref: ref } } })
  for (const [source, name] of [
    [uses('a.json'), 'a.json'],
    [uses('./a.json'), 'a.json'],
    [uses('a.json'), './a.json'],
    [uses('a.json', 'http://a.example/x/main.json'), 'a.json'],
    [uses('a.json', 'http://a.example/x/main.json'), 'http://a.example/x/a.json'],
    [uses('http://a.example/x/a.json'), 'http://a.example/x/a.json'],
    [uses('../a.json', 'http://a.example/x/main.json'), 'http://a.example/a.json'],
    [uses('a.json#'), 'a.json'],
    [uses('urn:example:a'), 'urn:example:a'],
    [uses('com.example.A'), 'com.example.A'],
  ] as const) {
    const schema = parse(source, { [name]: A })
    assert.deepEqual(
      [accepts(schema, { a: 'x' }), accepts(schema, { a: 1 })],
      [true, false],
      `${name} in ${asText(source)}`,
    )
  }
})

test('a reference can be found by its own $id, and can refer to another one', () => {
  const main = { properties: { a: { $ref: 'b.json#/definitions/x' } } }
  const schema = parse(main, {
    'c.json': { $id: 'http://c.example/c.json', type: 'integer' },
    'b.json': { $id: 'http://b.example/b.json', definitions: { x: { items: { $ref: 'c.json' } } } },
  })
  assert.deepEqual([accepts(schema, { a: [1] }), accepts(schema, { a: ['x'] })], [true, false])
})

test('a reference of another draft keeps the meaning of its draft', () => {
  const schema = parse(
    { $schema: DRAFT_2020, prefixItems: [{ $ref: 'old.json' }] },
    { 'old.json': { $schema: DRAFT_4, minimum: 1, exclusiveMinimum: true, const: 7, items: [A] } },
  )
  assert.deepEqual([accepts(schema, [1]), accepts(schema, [2]), accepts(schema, [[1]])], [false, true, false])
})

test('an unreadable reference is named', () => {
  assert.throws(
    () => jsonSchema.parse({ text: '{"$ref":"a.json"}', dependencies: [{ name: 'a.json', text: '{' }] }, 'new'),
    /the reference "a\.json": the schema is not JSON/,
  )
})

test('$id changes the base of what is inside', () => {
  const schema = parse({
    $id: 'http://a.example/root.json',
    properties: { a: { $ref: 'inner/b.json' }, c: { $ref: 'inner/b.json#/definitions/n' } },
    definitions: {
      b: {
        $id: 'inner/b.json',
        type: 'array',
        items: { $ref: '#/definitions/n' },
        definitions: { n: { type: 'number' } },
      },
      n: { type: 'string' },
    },
  })
  assert.equal(accepts(schema, { a: [1], c: 1 }), true)
  assert.equal(accepts(schema, { a: ['x'] }), false)
  assert.equal(accepts(schema, { c: 'x' }), false)
})

test('an id in an enum or a const is no id', () => {
  refuses(
    { enum: [{ $id: 'http://a.example/x', type: 'string' }], items: { $ref: 'http://a.example/x' } },
    /not among the references/,
  )
})

test('anchors lead somewhere: $anchor, and the ids of older drafts', () => {
  assert.equal(accepts(parse({ $schema: DRAFT_2020, $ref: '#a', $defs: { x: { $anchor: 'a', ...A } } }), 1), false)
  assert.equal(accepts(parse({ items: { $ref: '#a' }, definitions: { x: { $id: '#a', ...A } } }), [1]), false)
  assert.equal(
    accepts(parse({ $schema: DRAFT_4, items: { $ref: '#a' }, definitions: { x: { id: '#a', ...A } } }), [1]),
    false,
  )
})

test('pointers are decoded', () => {
  const definitions = { 'a/b~c%d é': A }
  const ref = `#/definitions/a~1b~0c%25d%20${encodeURIComponent('é')}`
  assert.equal(accepts(parse({ items: { $ref: ref }, definitions }), [1]), false)
})

test('a pointer may lead to a place that no keyword knows', () => {
  assert.equal(
    accepts(parse({ components: { schemas: { a: { items: A } } }, $ref: '#/components/schemas/a' }), [1]),
    false,
  )
  assert.equal(accepts(parse({ items: [A], additionalItems: { $ref: '#/items/0' } }), ['x', 1]), false)
})

test('$defs also reaches definitions, as with Confluent', () => {
  assert.equal(accepts(parse({ items: { $ref: '#/$defs/a' }, definitions: { a: A } }), [1]), false)
})

test('a $ref may name a schema of a draft', () => {
  for (const uri of [DRAFT_7, DRAFT_4, DRAFT_6, DRAFT_2020, 'https://json-schema.org/draft-07/schema']) {
    const schema = parse({ properties: { schema: { $ref: uri } } })
    assert.deepEqual(
      [accepts(schema, { schema: { type: 'string' } }), accepts(schema, { schema: { type: 7 } })],
      [true, false],
      uri,
    )
  }
})

test('keywords beside a $ref count from 2019-09 on', () => {
  const source = { $ref: '#/$defs/a', maxLength: 1, $defs: { a: A } }
  assert.equal(accepts(parse(source), 'xx'), true)
  assert.equal(accepts(parse({ $schema: DRAFT_2019, ...source }), 'xx'), false)
})

test('a dynamic reference leads to the anchor of the root', () => {
  const tree = {
    $schema: DRAFT_2020,
    $id: 'http://a.example/tree',
    $dynamicAnchor: 'node',
    type: 'object',
    properties: { next: { $dynamicRef: '#node' } },
  }
  const strict = {
    $schema: DRAFT_2020,
    $id: 'http://a.example/strict',
    $dynamicAnchor: 'node',
    $ref: 'tree',
    unevaluatedProperties: false,
  }
  const schema = parse(strict, { 'http://a.example/tree': tree })
  assert.deepEqual([accepts(schema, { next: {} }), accepts(schema, { next: { x: 1 } })], [true, false])
})

test('the inlined text is the canonical text', () => {
  const schema = parse({ items: { $ref: 'a.json' } }, { 'a.json': A })
  assert.equal(jsonSchema.inlined(schema), '{"items":{"$ref":"a.json"}}')
})

test('a program is plain data and has each schema once, however often it is referred to', () => {
  const big = { type: 'object', properties: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, A])) }
  const refs = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`r${at}`, { $ref: '#/definitions/big' }]))
  const source = { properties: refs, definitions: { big, unused: big } }
  const program = jsonSchema.compile(parse(source))
  assert.deepEqual(structuredClone(program), program)
  assert.equal(program.text.split('"p49"').length - 1, 1)
  assert.ok(program.text.length < asText(source).length)
})

test('a chain of references that is too long for a validator is refused as such', () => {
  const definitions = Object.fromEntries(
    Array.from({ length: 8_000 }, (_, at) => [`d${at}`, { items: { $ref: `#/definitions/d${at + 1}` } }]),
  )
  refuses({ $ref: '#/definitions/d0', definitions: { ...definitions, d8000: {} } }, /nested or chained too deeply/)
})
