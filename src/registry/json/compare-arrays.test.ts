// Rows for each rule about arrays.

import { DRAFT_2019, DRAFT_2020, testRows } from '../../../testing/json-compatibility.ts'

const S = { type: 'string' }
const N = { type: 'number' }
const I = { type: 'integer' }
const array = (rest: object = {}) => ({ type: 'array', ...rest })
const modern = (rest: object = {}) => ({ $schema: DRAFT_2020, type: 'array', ...rest })

const TO_OPEN = 'ITEM_ADDED_TO_OPEN_CONTENT_MODEL'
const FROM_CLOSED = 'ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL'
const REMOVED = 'ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL'
const ADDED = 'ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL'

testRows('limits of arrays', [
  ['maxItems goes up', array({ maxItems: 1 }), array({ maxItems: 2 }), ''],
  ['maxItems goes away', array({ maxItems: 1 }), array(), ''],
  ['maxItems goes down', array({ maxItems: 2 }), array({ maxItems: 1 }), 'MAX_ITEMS_DECREASED'],
  ['maxItems appears', array(), array({ maxItems: 1 }), 'MAX_ITEMS_ADDED'],
  ['minItems goes down', array({ minItems: 2 }), array({ minItems: 1 }), ''],
  ['minItems goes away', array({ minItems: 2 }), array(), ''],
  ['minItems goes up', array({ minItems: 1 }), array({ minItems: 2 }), 'MIN_ITEMS_INCREASED'],
  ['minItems appears', array(), array({ minItems: 1 }), 'MIN_ITEMS_ADDED'],
  ['uniqueItems goes away', array({ uniqueItems: true }), array(), ''],
  ['uniqueItems appears', array(), array({ uniqueItems: true }), 'UNIQUE_ITEMS_ADDED'],
  ['uniqueItems: false is none', array(), array({ uniqueItems: false }), ''],
  ['maxContains goes up', modern({ contains: S, maxContains: 1 }), modern({ contains: S, maxContains: 2 }), ''],
  [
    'maxContains goes down',
    modern({ contains: S, maxContains: 2 }),
    modern({ contains: S, maxContains: 1 }),
    'MAX_CONTAINS_DECREASED',
  ],
  ['maxContains appears', modern({ contains: S }), modern({ contains: S, maxContains: 1 }), 'MAX_CONTAINS_ADDED'],
  ['minContains goes down', modern({ contains: S, minContains: 2 }), modern({ contains: S }), ''],
  ['minContains goes up', modern({ contains: S }), modern({ contains: S, minContains: 2 }), 'MIN_CONTAINS_INCREASED'],
  ['contains appears, with its minContains of 1', modern(), modern({ contains: S }), 'MIN_CONTAINS_ADDED'],
  ['the schema of contains is never compared', array({ contains: S }), array({ contains: N }), ''],
])

testRows('items', [
  ['the schema stays', array({ items: S }), array({ items: S }), ''],
  ['the schema is wider', array({ items: I }), array({ items: N }), ''],
  ['the schema is narrower', array({ items: N }), array({ items: I }), 'TYPE_NARROWED'],
  ['the schema goes away', array({ items: S }), array(), ''],
  ['the schema appears', array(), array({ items: S }), 'SCHEMA_ADDED'],
  ['additionalItems say nothing beside it', array({ items: S }), array({ items: S, additionalItems: false }), ''],
  ['the schema of 2020-12 is compared', modern({ items: S }), modern({ items: N }), 'TYPE_CHANGED'],
  ['items: true of 2020-12 is none', modern(), modern({ items: true }), ''],
  ['items: false of 2020-12', modern(), modern({ items: false }), 'ADDITIONAL_ITEMS_REMOVED'],
])

const TO_FALSE = { $ref: '#/definitions/f' }
const TO_ANY = { $ref: '#/definitions/e' }
const defined = (items: unknown[], additionalItems: boolean) =>
  array({ items, additionalItems, definitions: { f: false, e: {} } })

testRows('a $ref is not what it leads to', [
  ['an item that led to false is removed', defined([S, TO_FALSE], false), defined([S], false), FROM_CLOSED],
  ['an item that leads to {} is added', defined([S], true), defined([S, TO_ANY], true), TO_OPEN],
])

testRows('tuples', [
  ['by index', array({ items: [S, N] }), array({ items: [S, I] }), 'TYPE_NARROWED'],
  ['an item is added, the writer is open', array({ items: [S] }), array({ items: [S, N] }), TO_OPEN],
  ['an empty schema is added, the writer is open', array({ items: [S] }), array({ items: [S, {}] }), ''],
  [
    'an item is added, the writer is closed',
    array({ items: [S], additionalItems: false }),
    array({ items: [S, N], additionalItems: false }),
    '',
  ],
  [
    'an item is added, additionalItems can be read',
    array({ items: [S], additionalItems: I }),
    array({ items: [S, N], additionalItems: I }),
    '',
  ],
  [
    'an item is added, additionalItems cannot be read',
    array({ items: [S], additionalItems: N }),
    array({ items: [S, S], additionalItems: N }),
    `${ADDED} TYPE_CHANGED`,
  ],
  ['an item is removed, the reader is open', array({ items: [S, N] }), array({ items: [S] }), ''],
  [
    'an item is removed, the reader is closed',
    array({ items: [S, N], additionalItems: false }),
    array({ items: [S], additionalItems: false }),
    FROM_CLOSED,
  ],
  [
    'a false item is removed, the reader is closed',
    array({ items: [S, false], additionalItems: false }),
    array({ items: [S], additionalItems: false }),
    '',
  ],
  [
    'an item is removed, additionalItems read it',
    array({ items: [S, I], additionalItems: N }),
    array({ items: [S], additionalItems: N }),
    '',
  ],
  [
    'an item is removed, additionalItems do not read it',
    array({ items: [S, S], additionalItems: N }),
    array({ items: [S], additionalItems: N }),
    `${REMOVED} TYPE_CHANGED`,
  ],
  ['prefixItems by index', modern({ prefixItems: [S, N] }), modern({ prefixItems: [S, I] }), 'TYPE_NARROWED'],
  [
    'prefixItems with items as the rest',
    modern({ prefixItems: [S], items: N }),
    modern({ prefixItems: [S, S], items: N }),
    `${ADDED} TYPE_CHANGED`,
  ],
  [
    'unevaluatedItems are the rest',
    modern({ prefixItems: [S], unevaluatedItems: N }),
    modern({ prefixItems: [S, S], unevaluatedItems: N }),
    `${ADDED} TYPE_CHANGED`,
  ],
  [
    'unevaluatedItems close',
    modern({ prefixItems: [S, S], unevaluatedItems: false }),
    modern({ prefixItems: [S], unevaluatedItems: false }),
    FROM_CLOSED,
  ],
  ['tuples of 2019-09', { $schema: DRAFT_2019, items: [S] }, { $schema: DRAFT_2019, items: [N] }, 'TYPE_CHANGED'],
])

const additional = (was: unknown, is: unknown): [object, object] => [
  array({ items: [S], ...(was !== undefined && { additionalItems: was }) }),
  array({ items: [S], ...(is !== undefined && { additionalItems: is }) }),
]
const unevaluated = (was: unknown, is: unknown): [object, object] => [
  modern(was === undefined ? {} : { unevaluatedItems: was }),
  modern(is === undefined ? {} : { unevaluatedItems: is }),
]

testRows('additionalItems and unevaluatedItems', [
  ['false becomes allowed', ...additional(false, undefined), ''],
  ['a schema goes away', ...additional(S, undefined), ''],
  ['a schema is wider', ...additional(I, N), ''],
  ['a schema is narrower', ...additional(N, I), 'TYPE_NARROWED'],
  ['allowed becomes false', ...additional(undefined, false), 'ADDITIONAL_ITEMS_REMOVED'],
  ['a schema becomes false', ...additional(S, false), 'ADDITIONAL_ITEMS_REMOVED'],
  ['absent becomes a schema', ...additional(undefined, S), 'ADDITIONAL_ITEMS_NARROWED'],
  ['unevaluated false becomes allowed', ...unevaluated(false, undefined), ''],
  ['an unevaluated schema is compared', ...unevaluated(N, I), 'TYPE_NARROWED'],
  ['unevaluated allowed becomes false', ...unevaluated(undefined, false), 'UNEVALUATED_ITEMS_REMOVED'],
  ['unevaluated true becomes a schema', ...unevaluated(true, S), 'UNEVALUATED_ITEMS_NARROWED'],
])
