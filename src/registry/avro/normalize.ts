// The schema that Confluent's registry keeps under `normalize`: properties and aliases sorted, a known logical type
// first, defaults in the form of their type, empty documentation dropped.

import { isObject, type Json, JsonNumber } from '../json-text.ts'
import { branchOf } from './defaults.ts'
import { byName, doubleText, floatText } from './java-text.ts'
import { isValidLogicalType } from './logical-type.ts'
import {
  type AvroSchema,
  type AvroType,
  isNamed,
  type NamedType,
  type Properties,
  type RecordType,
} from './schema-model.ts'

/** Types of dependencies stay as they are: the text names them only. */
export function normalize({ root, dependencies }: AvroSchema): AvroSchema {
  return { root: normalType(root, new Map(dependencies)), dependencies }
}

function normalType(type: AvroType, done: Map<string, NamedType>): AvroType {
  if (isNamed(type)) return done.get(type.name.full) ?? normalNamed(type, done)
  switch (type.kind) {
    case 'union':
      return { kind: type.kind, branches: type.branches.map(branch => normalType(branch, done)) }
    case 'array':
      return { kind: type.kind, items: normalType(type.items, done), properties: ofType(type) }
    case 'map':
      return { kind: type.kind, values: normalType(type.values, done), properties: ofType(type) }
    default:
      return { kind: type.kind, properties: ofType(type) }
  }
}

function normalNamed(type: NamedType, done: Map<string, NamedType>): NamedType {
  const attributes = {
    doc: type.doc === '' ? null : type.doc,
    aliases: type.aliases.toSorted((one, other) => byName([one.full, one], [other.full, other])),
    properties: ofType(type),
  }
  if (type.kind !== 'record') {
    const normal: NamedType = { ...type, ...attributes }
    done.set(type.name.full, normal)
    return normal
  }
  const record: { -readonly [Key in keyof RecordType]: RecordType[Key] } = {
    ...type,
    ...attributes,
    isError: false,
    fields: null,
  }
  done.set(type.name.full, record)
  record.fields = type.fields!.map(field => ({
    ...field,
    type: normalType(field.type, done),
    default: field.default === undefined ? undefined : normalDefault(field.type, field.default),
    aliases: field.aliases.toSorted(),
    properties: sorted(field.properties),
  }))
  return record
}

function ofType(type: Exclude<AvroType, { kind: 'union' }>): Properties {
  const { properties } = type
  if (properties.size === 0 || !isValidLogicalType(type)) return sorted(properties)
  const first = new Map<string, Json>([['logicalType', properties.get('logicalType')!]])
  if (properties.get('logicalType') === 'decimal') {
    first.set('precision', properties.get('precision')!)
    const scale = properties.get('scale')
    if (scale instanceof JsonNumber && Number(scale.text) !== 0) first.set('scale', scale)
  }
  return new Map([...first, ...[...sorted(properties)].filter(([name]) => !first.has(name))])
}

function sorted(properties: Properties): Properties {
  if (properties.size === 0) return properties
  return new Map([...properties].toSorted(byName).map(([name, value]) => [name, deeplySorted(value)]))
}

function deeplySorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(deeplySorted)
  return isObject(value) ? sorted(value) : value
}

/** The default as a value of its type: an integer on a double gets a fraction, members are sorted. */
function normalDefault(type: AvroType, value: Json): Json {
  if (type.kind === 'union') {
    const branch = branchOf(type.branches, value) ?? type.branches[0]
    return branch === undefined ? value : normalDefault(branch, value)
  }
  if (value instanceof JsonNumber) {
    if (type.kind === 'double') return fractional(doubleText(Number(value.text)))
    return type.kind === 'float' ? fractional(floatText(Math.fround(Number(value.text)))) : value
  }
  // A byte has no more than 8 bits; Java puts a question mark for a larger character.
  if (typeof value === 'string')
    return type.kind === 'bytes' || type.kind === 'fixed' ? value.replace(/[\u{100}-\u{10ffff}]/gu, '?') : value
  if (Array.isArray(value) && type.kind === 'array') return value.map(item => normalDefault(type.items, item))
  if (!isObject(value)) return value
  const typeOf = memberTypes(type)
  return new Map(
    [...value].toSorted(byName).map(([name, member]) => {
      const memberType = typeOf(name)
      return [name, memberType === undefined ? deeplySorted(member) : normalDefault(memberType, member)]
    }),
  )
}

function memberTypes(type: AvroType): (name: string) => AvroType | undefined {
  if (type.kind === 'map') return () => type.values
  if (type.kind !== 'record') return () => undefined
  return name => type.fields?.find(field => field.name === name)?.type
}

/** The text of a double as JSON; the text of one that JSON has no number for is in quotes. */
const fractional = (text: string): Json => (text.startsWith('"') ? text.slice(1, -1) : new JsonNumber(text))
