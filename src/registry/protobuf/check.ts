// The rules that a new schema must keep beside its grammar: those of protoc, as far as they protect data or clients. A
// stored schema is not checked, so that an old mistake does not block its subject.

import { InvalidSchema } from '../format.ts'
import { checkDefault, checkJsonName, checkPacked } from './check-options.ts'
import { jsonNameOf } from './compile.ts'
import type { Enum, Extend, Field, File, Message, ProtobufSchema, Range, Reserved } from './model.ts'
import {
  entryOf,
  everyMessage,
  FIRST_INTERNAL_NUMBER,
  isSet,
  LAST_INTERNAL_NUMBER,
  MOST_FIELD_NUMBER,
  membersByOneof,
} from './model.ts'
import { declarations, symbolsOf } from './symbols.ts'

const MOST_FIELDS = 20_000

/** Throws InvalidSchema for the first mistake in the schema's own file. */
export function check({ file, files }: ProtobufSchema): void {
  checkNames(file, files)
  let fields = 0
  for (const message of everyMessage(file.messages)) {
    fields += message.fields.length
    if (fields > MOST_FIELDS) throw new InvalidSchema(`The schema has more than ${MOST_FIELDS} fields`)
    checkMessage(message)
  }
  for (const type of [...file.enums, ...[...everyMessage(file.messages)].flatMap(({ enums }) => enums)]) checkEnum(type)
  for (const extend of file.extends) checkExtend(extend, file)
}

/** Each name is declared once, in this file and in all that it imports. */
function checkNames(file: File, files: ReadonlyMap<string, File>): void {
  const seen = new Set<string>()
  for (const [name, declared] of declarations(file)) {
    if (declared === 'package') continue
    if (seen.has(name)) throw new InvalidSchema(`"${name}" is declared twice`)
    seen.add(name)
  }
  for (const other of files.values()) {
    if (other === file) continue
    for (const [name, declared] of symbolsOf(other)) {
      const isSame = seen.has(name) || (declared !== 'package' && symbolsOf(file).get(name) === 'package')
      if (isSame) throw new InvalidSchema(`"${name}" is declared in the import "${other.path}" too`)
    }
  }
}

function checkMessage(message: Message): void {
  const numbers = new Map<number, string>()
  const ranges = message.reserved.flatMap(reserved => reserved.ranges)
  const names = new Set(message.reserved.flatMap(reserved => reserved.names))
  checkReserved(message.fullName, message.reserved, [...ranges, ...extensionRanges(message)], 1)
  const reserved = new Numbers(ranges)
  const extended = new Numbers(extensionRanges(message))
  for (const field of message.fields) {
    const place = `The field "${field.name}" of "${message.fullName}"`
    checkNumber(field, place)
    const other = numbers.get(field.number)
    if (other !== undefined) throw new InvalidSchema(`${place} has the number ${field.number} of "${other}"`)
    numbers.set(field.number, field.name)
    if (reserved.has(field.number))
      throw new InvalidSchema(`${place} has the number ${field.number}, which is reserved`)
    if (names.has(field.name)) throw new InvalidSchema(`${place} has a name that is reserved`)
    if (extended.has(field.number)) {
      throw new InvalidSchema(`${place} has the number ${field.number} of an extension range`)
    }
    checkField(field, message.file, place)
  }
  const filled = membersByOneof(message.fields)
  const empty = message.oneofs.find(oneof => !filled.has(oneof))
  if (empty !== undefined) {
    throw new InvalidSchema(`The oneof "${empty.name}" of "${message.fullName}" has no fields: expected at least one`)
  }
  if (message.file.syntax === 'proto3') checkProto3(message)
  for (const extend of message.extends) checkExtend(extend, message.file)
}

function extensionRanges(message: Message): Range[] {
  return message.extensions.flatMap(({ ranges }) => ranges)
}

function checkProto3(message: Message): void {
  if (message.extensions.length > 0) {
    throw new InvalidSchema(`"${message.fullName}" has extension ranges, and proto3 has none`)
  }
  if (isSet(message.options, 'deprecated_legacy_json_field_conflicts')) return
  const names = new Map<string, string>()
  for (const field of message.fields) {
    const name = jsonNameOf(field)
    const other = names.get(name)
    if (other !== undefined) {
      throw new InvalidSchema(
        `The fields "${other}" and "${field.name}" of "${message.fullName}" have the JSON name "${name}"`,
      )
    }
    names.set(name, field.name)
  }
}

function checkNumber({ number }: Field, place: string): void {
  if (!Number.isInteger(number) || number < 1 || number > MOST_FIELD_NUMBER) {
    throw new InvalidSchema(`${place} has the number ${number}: expected 1 to ${MOST_FIELD_NUMBER}`)
  }
  if (number >= FIRST_INTERNAL_NUMBER && number <= LAST_INTERNAL_NUMBER) {
    const range = `${FIRST_INTERNAL_NUMBER} to ${LAST_INTERNAL_NUMBER}`
    throw new InvalidSchema(`${place} has the number ${number}, and Protobuf keeps ${range} for itself`)
  }
}

function checkField(field: Field, file: File, place: string): void {
  if (file.syntax === 'proto3') {
    if (field.label === 'required') throw new InvalidSchema(`${place} is required, and proto3 has no required fields`)
    if (field.form === 'group') throw new InvalidSchema(`${place} is a group, and proto3 has no groups`)
    if (field.target?.kind === 'enum' && field.target.file.syntax === 'proto2') {
      throw new InvalidSchema(`${place} has the enum "${field.target.fullName}" of proto2, which proto3 cannot use`)
    }
  }
  if (entryOf(field) !== null && field.oneof !== null) throw new InvalidSchema(`${place} is a map in a oneof`)
  checkDefault(field, file, place)
  checkPacked(field, place)
  checkJsonName(field, place)
}

function checkEnum(type: Enum): void {
  const [first] = type.values
  if (first === undefined) throw new InvalidSchema(`The enum "${type.fullName}" has no values: expected at least one`)
  if (type.file.syntax === 'proto3' && first.number !== 0) {
    throw new InvalidSchema(`The first value of the enum "${type.fullName}" is ${first.number}: expected 0 in proto3`)
  }
  const ranges = type.reserved.flatMap(reserved => reserved.ranges)
  const names = new Set(type.reserved.flatMap(reserved => reserved.names))
  checkReserved(type.fullName, type.reserved, ranges, -(2 ** 31))
  const reserved = new Numbers(ranges)
  const numbers = new Map<number, string>()
  const hasAliases = isSet(type.options, 'allow_alias')
  for (const { name, number } of type.values) {
    const place = `The value "${name}" of the enum "${type.fullName}"`
    const other = numbers.get(number)
    if (other !== undefined && !hasAliases) {
      throw new InvalidSchema(`${place} has the number ${number} of "${other}": expected another one, or allow_alias`)
    }
    numbers.set(number, name)
    if (reserved.has(number)) throw new InvalidSchema(`${place} has the number ${number}, which is reserved`)
    if (names.has(name)) throw new InvalidSchema(`${place} has a name that is reserved`)
  }
}

/** The numbers of ranges that do not overlap, for many questions. */
class Numbers {
  readonly #sorted: readonly Range[]

  constructor(ranges: readonly Range[]) {
    this.#sorted = [...ranges].sort((one, other) => one.from - other.from)
  }

  has(number: number): boolean {
    let low = 0
    let high = this.#sorted.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const range = this.#sorted[middle]
      if (range === undefined || number < range.from) high = middle - 1
      else if (number > range.to) low = middle + 1
      else return true
    }
    return false
  }
}

/** No range begins below `least`, ends before it begins, or has a number of another one, and no name comes twice. */
function checkReserved(owner: string, reserved: readonly Reserved[], ranges: readonly Range[], least: number): void {
  const sorted = [...ranges].sort((one, other) => one.from - other.from)
  let last: Range | undefined
  for (const range of sorted) {
    if (range.from < least || range.to < range.from) {
      throw new InvalidSchema(
        `"${owner}" has the range ${range.from} to ${range.to}: expected ${least} or more, in order`,
      )
    }
    if (last !== undefined && range.from <= last.to) {
      const both = `${last.from} to ${last.to} and ${range.from} to ${range.to}`
      throw new InvalidSchema(`"${owner}" has ranges that share numbers: ${both}`)
    }
    last = range
  }
  const seen = new Set<string>()
  const twice = reserved.flatMap(one => one.names).find(name => seen.size === seen.add(name).size)
  if (twice !== undefined) throw new InvalidSchema(`"${owner}" reserves the name "${twice}" twice`)
}

function checkExtend({ extendee, target, fields }: Extend, file: File): void {
  const extended = new Numbers(target === null ? [] : extensionRanges(target))
  for (const field of fields) {
    const place = `The extension "${field.name}" of "${extendee}"`
    checkNumber(field, place)
    if (target !== null && !extended.has(field.number)) {
      throw new InvalidSchema(`${place} has the number ${field.number}, which is in no extension range of that message`)
    }
    if (field.label === 'required') throw new InvalidSchema(`${place} is required, and no extension can be`)
    if (entryOf(field) !== null) throw new InvalidSchema(`${place} is a map, and no extension can be`)
    checkField(field, file, place)
    const isOption = /^google\.protobuf\.[A-Za-z]+Options$/.test(target?.fullName ?? '')
    if (file.syntax === 'proto3' && !isOption) {
      throw new InvalidSchema(`${place}: proto3 extends only the options of google.protobuf`)
    }
  }
}
