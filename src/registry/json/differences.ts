// The changes that make data of a writer unreadable, by Confluent's names, and the sentences that explain them. Changes
// that never do (a longer maxLength, a new title) have no name here.

import type { Policy } from '../format.ts'

type Explain = (was: string, is: string) => string

const added = (what: string): Explain => {
  return (_, is) => `the reader has ${what} ${is}, and the writer has none`
}
const tighter = (what: string): Explain => {
  return (was, is) => `the reader has ${what} ${is}, and the writer ${was}`
}

const ADVICE =
  'Data of the writer may already hold this property with any value, because its schema is an open content model. ' +
  'Set "additionalProperties": false in the schema before properties are added to it, or set the compatibility ' +
  'policy of the subject to LENIENT'

const TO_OPEN = (kind: string): Explain => {
  return () => `the reader adds the ${kind} property, which the writer does not name. ${ADVICE}`
}

/** Every kind of change that is a reason under STRICT, with a sentence about the writer's and the reader's side. */
export const EXPLANATIONS = {
  SCHEMA_ADDED: () => 'the reader has a schema here, and the writer has none',
  TYPE_CHANGED: (was, is) => `the writer has ${was}, and the reader ${is}`,
  TYPE_NARROWED: () => 'the writer has numbers, and the reader only integers',

  MAX_LENGTH_ADDED: added('maxLength'),
  MAX_LENGTH_DECREASED: tighter('maxLength'),
  MIN_LENGTH_ADDED: added('minLength'),
  MIN_LENGTH_INCREASED: tighter('minLength'),
  PATTERN_ADDED: added('the pattern'),
  PATTERN_CHANGED: tighter('the pattern'),

  MAXIMUM_ADDED: added('maximum'),
  MAXIMUM_DECREASED: tighter('maximum'),
  MINIMUM_ADDED: added('minimum'),
  MINIMUM_INCREASED: tighter('minimum'),
  EXCLUSIVE_MAXIMUM_ADDED: added('exclusiveMaximum'),
  EXCLUSIVE_MAXIMUM_DECREASED: tighter('exclusiveMaximum'),
  EXCLUSIVE_MINIMUM_ADDED: added('exclusiveMinimum'),
  EXCLUSIVE_MINIMUM_INCREASED: tighter('exclusiveMinimum'),
  MULTIPLE_OF_ADDED: added('multipleOf'),
  MULTIPLE_OF_EXPANDED: tighter('multipleOf'),
  MULTIPLE_OF_CHANGED: tighter('multipleOf'),

  REQUIRED_ATTRIBUTE_ADDED: () => 'the reader requires the property and has no default for it; the writer may omit it',
  MAX_PROPERTIES_ADDED: added('maxProperties'),
  MAX_PROPERTIES_DECREASED: tighter('maxProperties'),
  MIN_PROPERTIES_ADDED: added('minProperties'),
  MIN_PROPERTIES_INCREASED: tighter('minProperties'),
  ADDITIONAL_PROPERTIES_REMOVED: () => 'the writer allows additional properties, and the reader none',
  ADDITIONAL_PROPERTIES_NARROWED: () =>
    'the writer allows any additional property, and the reader only those of a schema',
  UNEVALUATED_PROPERTIES_REMOVED: () => 'the writer allows unevaluated properties, and the reader none',
  UNEVALUATED_PROPERTIES_NARROWED: () =>
    'the writer allows any unevaluated property, and the reader only those of a schema',
  DEPENDENCY_ARRAY_ADDED: added('a dependency on'),
  DEPENDENCY_ARRAY_EXTENDED: tighter('a dependency on'),
  DEPENDENCY_ARRAY_CHANGED: tighter('a dependency on'),
  DEPENDENCY_SCHEMA_ADDED: () => 'the reader has a schema for objects with this property, and the writer has none',

  REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL: TO_OPEN('required'),
  REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL: TO_OPEN('required'),
  OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL: TO_OPEN('optional'),
  REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL: () =>
    'the reader requires the property and has no default for it; the writer does not name it',
  PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL: () =>
    'the writer has the property; the reader does not name it and allows no additional properties',
  PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: () =>
    'the writer has the property; the schema that the reader has for additional properties cannot read it',
  PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: () =>
    'the reader adds the property, and it cannot read all that the writer allows in additional properties',

  MAX_ITEMS_ADDED: added('maxItems'),
  MAX_ITEMS_DECREASED: tighter('maxItems'),
  MIN_ITEMS_ADDED: added('minItems'),
  MIN_ITEMS_INCREASED: tighter('minItems'),
  MAX_CONTAINS_ADDED: added('maxContains'),
  MAX_CONTAINS_DECREASED: tighter('maxContains'),
  MIN_CONTAINS_ADDED: added('minContains'),
  MIN_CONTAINS_INCREASED: tighter('minContains'),
  UNIQUE_ITEMS_ADDED: () => 'the reader wants unique items, and the writer does not',
  ADDITIONAL_ITEMS_REMOVED: () => 'the writer allows additional items, and the reader none',
  ADDITIONAL_ITEMS_NARROWED: () => 'the writer allows any additional item, and the reader only those of a schema',
  UNEVALUATED_ITEMS_REMOVED: () => 'the writer allows unevaluated items, and the reader none',
  UNEVALUATED_ITEMS_NARROWED: () => 'the writer allows any unevaluated item, and the reader only those of a schema',
  ITEM_ADDED_TO_OPEN_CONTENT_MODEL: () =>
    'the reader has a schema for this item, and the writer allows any additional item',
  ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL: () => 'the writer has this item, and the reader allows no additional items',
  ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: () =>
    'the writer has this item; the schema that the reader has for additional items cannot read it',
  ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL: () =>
    'the reader has a schema for this item, and it cannot read all that the writer allows in additional items',

  ENUM_ARRAY_NARROWED: (was, is) => `the reader has fewer values: ${is}; the writer has ${was}`,
  ENUM_ARRAY_CHANGED: (was, is) => `the reader has other values: ${is}; the writer has ${was}`,

  COMBINED_TYPE_CHANGED: (was, is) => `the writer has ${was}, and the reader ${is}`,
  PRODUCT_TYPE_EXTENDED: (was, is) => `the reader has ${is} schemas in allOf, and the writer ${was}`,
  SUM_TYPE_NARROWED: (was, is) => `the reader has ${is} alternatives, and the writer ${was}`,
  COMBINED_TYPE_SUBSCHEMAS_CHANGED: (was, is) =>
    `only ${is} of the writer's schemas have a schema of their own in the reader that can read them, and ${was} have to`,
  NOT_TYPE_EXTENDED: () => 'the reader forbids more than the writer',
} as const satisfies Readonly<Record<string, Explain>>

export type Change = keyof typeof EXPLANATIONS

/** The changes that LENIENT accepts. */
const LENIENT: ReadonlySet<Change> = new Set<Change>([
  'ADDITIONAL_PROPERTIES_NARROWED',
  'ADDITIONAL_PROPERTIES_REMOVED',
  'UNEVALUATED_PROPERTIES_NARROWED',
  'UNEVALUATED_PROPERTIES_REMOVED',
  'REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL',
  'OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL',
  'PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL',
  'PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL',
  'PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL',
])

export function isAccepted(change: Change, policy: Policy): boolean {
  return policy === 'LENIENT' && LENIENT.has(change)
}
