// One field in the schemas of a writer and a reader: its name, its type and its label.

import type { ChangeList } from './changes.ts'
import { localName } from './changes.ts'
import type { Field } from './model.ts'
import { entryOf, isScalar } from './model.ts'

/** Types whose values have the same form on the wire. Enums are numbers. */
const GROUPS: Readonly<Record<string, string>> = {
  int32: 'number',
  int64: 'number',
  uint32: 'number',
  uint64: 'number',
  bool: 'number',
  sint32: 'signed',
  sint64: 'signed',
  string: 'text',
  bytes: 'text',
  fixed32: 'fixed32',
  sfixed32: 'fixed32',
  fixed64: 'fixed64',
  sfixed64: 'fixed64',
  float: 'float',
  double: 'double',
}

type Kind = 'scalar' | 'message' | 'group' | 'map'

export function compareField(list: ChangeList, writer: Field, reader: Field, path: string): void {
  const name = `the field "${reader.name}" (${reader.number})`
  if (writer.name !== reader.name) {
    list.add('FIELD_NAME_CHANGED', path, `${name} is "${writer.name}" in the writer`)
  }
  compareTypes(list, writer, reader, { path, name, hasLabels: true })
}

interface Place {
  readonly path: string
  /** Begins a sentence. */
  readonly name: string
  readonly hasLabels: boolean
}

function compareTypes(list: ChangeList, writer: Field, reader: Field, place: Place): void {
  const { path, name } = place
  const both = `${name} is ${shown(writer)} in the writer and ${shown(reader)} in the reader`
  const kind = kindOf(writer)
  if (kind !== kindOf(reader)) list.add('FIELD_KIND_CHANGED', path, both)
  else if (kind === 'map') compareMaps(list, writer, reader, place)
  else if (kind === 'scalar') compareScalars(list, writer, reader, place, both)
  else compareMessageTypes(list, writer, reader, path, both)
}

function kindOf(field: Field): Kind {
  if (entryOf(field) !== null) return 'map'
  if (field.form === 'group') return 'group'
  return field.target?.kind === 'enum' || (field.target === null && isScalar(field.type)) ? 'scalar' : 'message'
}

/** A group has other bytes than a message. */
function shown(field: Field): string {
  const [key, value] = entryOf(field)?.fields ?? []
  if (key !== undefined && value !== undefined) return `map<${key.type}, ${shown(value)}>`
  const type = field.target === null ? field.type : field.target.fullName
  const words = [field.label, field.form === 'group' ? 'group' : '', field.target?.kind === 'enum' ? 'enum' : '', type]
  return words.filter(word => word !== '').join(' ')
}

function compareScalars(
  list: ChangeList,
  writer: Field,
  reader: Field,
  { path, hasLabels }: Place,
  both: string,
): void {
  const group = groupOf(writer)
  if (group !== groupOf(reader)) list.add('FIELD_SCALAR_KIND_CHANGED', path, both)
  else if (hasLabels && writer.label !== '' && reader.label !== '' && writer.label !== reader.label) {
    list.add(group === 'text' ? 'FIELD_STRING_OR_BYTES_LABEL_CHANGED' : 'FIELD_NUMERIC_LABEL_CHANGED', path, both)
  }
}

function groupOf(field: Field): string {
  return field.target === null ? (GROUPS[field.type] ?? field.type) : 'number'
}

function compareMaps(list: ChangeList, writer: Field, reader: Field, { path, name }: Place): void {
  const [key, value] = entryOf(writer)?.fields ?? []
  const [otherKey, otherValue] = entryOf(reader)?.fields ?? []
  if (key === undefined || value === undefined || otherKey === undefined || otherValue === undefined) return
  compareTypes(list, key, otherKey, { path, name: `the key of ${name}`, hasLabels: false })
  compareTypes(list, value, otherValue, { path, name: `the value of ${name}`, hasLabels: false })
}

function compareMessageTypes(list: ChangeList, writer: Field, reader: Field, path: string, both: string): void {
  const [one, other] = [writer.target, reader.target]
  if (one?.kind !== 'message' || other?.kind !== 'message') {
    // Types of imports that a stored schema lacks: only their names are known.
    if (writer.type !== reader.type) list.add('FIELD_NAMED_TYPE_CHANGED', path, both)
  } else if (localName(one) !== localName(other)) list.add('FIELD_NAMED_TYPE_CHANGED', path, both)
  else list.addPair(one, other, path, `${both}, and these differ`)
}
