// Why a reader cannot read all that a writer writes: the rules of Confluent's registry, with its words.
// Fields are compared by their numbers. Options, comments, reserved ranges, services, extensions and the syntax do
// not count.

import type { Difference } from '../format.ts'
import type { Change, ChangeType } from './changes.ts'
import { ChangeList } from './changes.ts'
import { compareField } from './compare-fields.ts'
import type { Enum, Field, Message, Oneof, ProtobufSchema } from './model.ts'
import { membersByOneof } from './model.ts'

const MOST_REASONS = 100

/** Stops after 100 reasons. */
export function compare(reader: ProtobufSchema, writer: ProtobufSchema): readonly Difference[] {
  const reasons: Difference[] = []
  for (const { type, path, description, isCompatible } of changes(writer, reader)) {
    if (!isCompatible) reasons.push({ type, path, description })
    if (reasons.length >= MOST_REASONS) break
  }
  return reasons
}

/** All changes from the writer's schema to the reader's, compatible ones too. */
export function changes(writer: ProtobufSchema, reader: ProtobufSchema): readonly Change[] {
  const list = new ChangeList(writer.file, reader.file, compareMessages)
  if (writer.file.package !== reader.file.package) {
    const names = `"${writer.file.package}" in the writer and "${reader.file.package}" in the reader`
    list.add('PACKAGE_CHANGED', '#/', `the package is ${names}`)
  }
  compareTypes(list, writer.file, reader.file, '#')
  return list.finish()
}

type Types = Pick<Message, 'messages' | 'enums'>

function compareTypes(list: ChangeList, writer: Types, reader: Types, path: string): void {
  const messages = pairs(writer.messages.filter(isDeclared), reader.messages.filter(isDeclared))
  for (const [name, { one, other, places }] of messages) {
    const at = `${path}/${name}`
    if (one !== undefined && other !== undefined) {
      compareMessages(list, one, other, at)
      if (places[0] !== places[1]) list.add('MESSAGE_MOVED', at, `the message "${name}" stands at another place`)
    } else if (one?.role === 'plain') {
      list.add('MESSAGE_REMOVED', at, `the reader has no message "${name}", and the writer has it`)
    } else if (other?.role === 'plain') list.add('MESSAGE_ADDED', at, `the message "${name}" is new`)
  }
  for (const [name, { one, other }] of pairs(writer.enums, reader.enums)) {
    const at = `${path}/${name}`
    if (other === undefined) list.add('ENUM_REMOVED', at, `the reader has no enum "${name}"`)
    else if (one === undefined) list.add('ENUM_ADDED', at, `the enum "${name}" is new`)
    else compareEnums(list, one, other, at)
  }
}

/** Entries of maps are compared with their fields. The messages of groups come and go with their fields. */
function isDeclared(message: Message): boolean {
  return message.role !== 'map-entry'
}

interface Pair<T> {
  one: T | undefined
  other: T | undefined
  /** Where each stands among its like. */
  readonly places: [number, number]
}

function pairs<T extends { readonly name: string }>(writer: readonly T[], reader: readonly T[]): Map<string, Pair<T>> {
  const byName = new Map<string, Pair<T>>()
  for (const [place, one] of writer.entries()) byName.set(one.name, { one, other: undefined, places: [place, -1] })
  for (const [place, other] of reader.entries()) {
    const known = byName.get(other.name) ?? { one: undefined, other: undefined, places: [-1, -1] as [number, number] }
    known.other = other
    known.places[1] = place
    byName.set(other.name, known)
  }
  return byName
}

function compareEnums(list: ChangeList, writer: Enum, reader: Enum, path: string): void {
  const written = new Map(writer.values.map(({ number, name }) => [number, name]))
  const read = new Map(reader.values.map(({ number, name }) => [number, name]))
  for (const number of sorted([...written.keys(), ...read.keys()])) {
    const [one, other] = [written.get(number), read.get(number)]
    const change = other === undefined ? 'REMOVED' : one === undefined ? 'ADDED' : one === other ? '' : 'CHANGED'
    if (change === '') continue
    list.add(
      `ENUM_CONST_${change}` as ChangeType,
      `${path}/${number}`,
      `the value ${number} of "${writer.name}" differs`,
    )
  }
}

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((one, other) => one - other)
}

/** The fields of two messages, and the types that stand in them. */
function compareMessages(list: ChangeList, writer: Message, reader: Message, path: string): void {
  const written = new Map(writer.fields.map(field => [field.number, field]))
  const read = new Map(reader.fields.map(field => [field.number, field]))
  const fields = { written, read, writer, reader }
  compareOneofs(list, fields, path)
  const deleted = deletedOneofs(fields)
  for (const number of sorted([...written.keys(), ...read.keys()])) {
    const [one, other] = [written.get(number), read.get(number)]
    if (one !== undefined && other !== undefined) {
      const movedOut = one.oneof !== null && other.oneof === null
      if (movedOut)
        list.add('ONEOF_FIELD_MOVED_TO_TOP_LEVEL', place(path, other), `${sentence(other)} is in no oneof any more`)
      compareField(list, one, other, place(path, other))
    } else if (one !== undefined) removed(list, one, deleted, path)
    else if (other !== undefined) added(list, other, path)
  }
  compareTypes(list, writer, reader, path)
}

interface Fields {
  readonly written: ReadonlyMap<number, Field>
  readonly read: ReadonlyMap<number, Field>
  readonly writer: Message
  readonly reader: Message
}

function place(path: string, { oneof, number }: Field): string {
  return oneof === null ? `${path}/${number}` : `${path}/${oneof.name}/${number}`
}

function sentence({ name, number }: Field): string {
  return `the field "${name}" (${number})`
}

function added(list: ChangeList, field: Field, path: string): void {
  const at = place(path, field)
  if (field.oneof !== null) list.add('ONEOF_FIELD_ADDED', at, `${sentence(field)} is new in the oneof`)
  else if (field.label !== 'required') list.add('FIELD_ADDED', at, `${sentence(field)} is new`)
  else list.add('REQUIRED_FIELD_ADDED', at, `the reader requires ${sentence(field)}, and the writer does not have it`)
}

function removed(list: ChangeList, field: Field, deleted: ReadonlySet<Oneof>, path: string): void {
  const at = place(path, field)
  const { oneof } = field
  if (oneof !== null) {
    if (deleted.has(oneof)) return
    list.add('ONEOF_FIELD_REMOVED', at, `the reader has not ${sentence(field)} of the oneof "${oneof.name}"`)
  } else if (field.label !== 'required') list.add('FIELD_REMOVED', at, `${sentence(field)} is gone`)
  else list.add('REQUIRED_FIELD_REMOVED', at, `the reader has not ${sentence(field)}, which the writer requires`)
}

/** Oneofs that go with all their members: a reader of the others misses nothing. */
function deletedOneofs({ written, writer, reader, read }: Fields): Set<Oneof> {
  const staying = namesOf(reader)
  const deleted = new Set(writer.oneofs.filter(({ name }) => !staying.has(name)))
  for (const { oneof, number } of written.values()) if (oneof !== null && read.has(number)) deleted.delete(oneof)
  return deleted
}

function compareOneofs(list: ChangeList, { written, writer, reader }: Fields, path: string): void {
  const members = membersByOneof(reader.fields)
  for (const oneof of reader.oneofs) {
    const origins = new Set<string>()
    let fromTop = 0
    for (const { number } of members.get(oneof) ?? []) {
      const one = written.get(number)
      if (one === undefined) continue
      origins.add(one.oneof === null ? `field ${number}` : `oneof ${one.oneof.name}`)
      if (one.oneof === null) fromTop++
    }
    if (origins.size < 2) continue
    const type = fromTop > 1 ? 'MULTIPLE_FIELDS_MOVED_TO_ONEOF' : 'FIELD_MOVED_TO_EXISTING_ONEOF'
    const sets = `the reader sets one member of the oneof "${oneof.name}" at most`
    list.add(type, `${path}/${oneof.name}`, `${sets}, and the writer sets ${[...origins].join(' and ')} at once`)
  }
  const old = namesOf(writer)
  const young = namesOf(reader)
  for (const name of [...new Set([...old, ...young])].sort()) {
    const at = `${path}/${name}`
    if (!young.has(name)) list.add('ONEOF_REMOVED', at, `the oneof "${name}" is gone`)
    else if (!old.has(name)) list.add('ONEOF_ADDED', at, `the oneof "${name}" is new`)
  }
}

function namesOf({ oneofs }: Message): Set<string> {
  return new Set(oneofs.map(({ name }) => name))
}
