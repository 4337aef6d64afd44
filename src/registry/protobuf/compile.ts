// A schema to its program: the messages of the file, and all that they use of its imports.

import { MOST_SCHEMA_LEVELS } from '../format.ts'
import type { Enum, Field, File, Message, Scalar } from './model.ts'
import { entryOf, isScalar, isSet, jsonName, plainOption } from './model.ts'
import type { FieldType, ProgramEnum, ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'
import { tables } from './tables.ts'

/**
 * `roots` are the files whose messages the program has in any case; the first one has the message indexes. `extenders`
 * are the files whose extensions the messages get.
 */
export function compileFiles(roots: readonly File[], extenders: Iterable<File>): ProtobufProgram {
  const compiler = new Compiler(extenders)
  for (const root of roots) compiler.add(root.messages)
  return compiler.program(roots[0]?.messages ?? [])
}

class Compiler {
  readonly #numbers = new Map<Message, number>()
  readonly #order: Message[] = []
  readonly #enumNumbers = new Map<Enum, number>()
  readonly #enums: ProgramEnum[] = []
  readonly #extensions: ReadonlyMap<Message, readonly ExtensionField[]>

  constructor(extenders: Iterable<File>) {
    this.#extensions = extensionsOf(extenders)
  }

  add(messages: readonly Message[]): void {
    for (const message of messages) {
      this.#number(message)
      this.add(message.messages)
    }
  }

  program(topLevel: readonly Message[]): ProtobufProgram {
    const messages: ProgramMessage[] = []
    // The messages that fields use are added to #order while this loop runs.
    for (let at = 0; at < this.#order.length; at++) messages.push(this.#message(this.#order[at] as Message))
    const indexed = (list: readonly Message[]) => list.filter(isIndexed).map(message => this.#number(message))
    return {
      messages,
      enums: this.#enums,
      topLevel: indexed(topLevel),
      ...tables(messages, this.#order.map(isVerified), this.#enums),
    }
  }

  #number(message: Message): number {
    const known = this.#numbers.get(message)
    if (known !== undefined) return known
    const number = this.#order.length
    this.#numbers.set(message, number)
    this.#order.push(message)
    return number
  }

  #message(message: Message): ProgramMessage {
    const oneofs = new Map(message.oneofs.map((oneof, index) => [oneof, index]))
    const fields = message.fields.map(field => {
      const oneof = field.oneof === null ? -1 : (oneofs.get(field.oneof) ?? -1)
      return this.#field(field, message.file, field.name, { message, oneof })
    })
    for (const { field, fullName, file } of this.#extensions.get(message) ?? []) {
      fields.push(this.#field(field, file, `[${fullName}]`, null))
    }
    fields.sort((one, other) => one.number - other.number)
    const nested = message.messages.filter(isIndexed).map(inner => this.#number(inner))
    return { fullName: message.fullName, fields, nested }
  }

  /** `place` is null for extensions. */
  #field(field: Field, file: File, name: string, place: Place | null): ProgramField {
    const type = typeOf(field)
    const isMap = entryOf(field) !== null
    const isRepeated = isMap || field.label === 'repeated'
    const isLong = type === 'string' || type === 'bytes' || type === 'message' || type === 'group' || type === 'open'
    const isImplicit = file.syntax === 'proto3' && field.label === '' && field.oneof === null && place !== null
    const isEntry = place?.message.role === 'map-entry'
    return {
      name,
      jsonName: place === null ? name : jsonNameOf(field),
      number: field.number,
      type,
      of: this.#of(field),
      isRepeated,
      isMap,
      isRequired: field.label === 'required',
      isPacked: isRepeated && !isLong && isPacked(field, file),
      hasPresence: isEntry || type === 'message' || type === 'group' || !isImplicit,
      oneof: place?.oneof ?? -1,
    }
  }

  #of(field: Field): number {
    const { target } = field
    if (target === null) return -1
    if (target.kind === 'message') return this.#number(target)
    const known = this.#enumNumbers.get(target)
    if (known !== undefined) return known
    this.#enumNumbers.set(target, this.#enums.length)
    this.#enums.push(enumOf(target))
    return this.#enums.length - 1
  }
}

interface Place {
  readonly message: Message
  /** The number of the oneof; -1 for none. */
  readonly oneof: number
}

interface ExtensionField {
  readonly field: Field
  readonly fullName: string
  readonly file: File
}

function extensionsOf(files: Iterable<File>): Map<Message, ExtensionField[]> {
  const found = new Map<Message, ExtensionField[]>()
  const add = (scope: string, file: File, body: Pick<Message, 'extends' | 'messages'>, level: number): void => {
    for (const { target, fields } of body.extends) {
      if (target === null) continue
      const known = found.get(target) ?? []
      for (const field of fields)
        known.push({ field, file, fullName: scope === '' ? field.name : `${scope}.${field.name}` })
      found.set(target, known)
    }
    if (level > MOST_SCHEMA_LEVELS) return
    for (const message of body.messages) add(message.fullName, file, message, level + 1)
  }
  for (const file of files) add(file.package, file, file, 0)
  return found
}

/** Message indexes count the messages that the text declares as such: no entries of maps, and no groups. */
export function isIndexed(message: Message): boolean {
  return message.role === 'plain'
}

/** proto3 strings must be UTF-8; proto2 ones are bytes for a parser. */
function isVerified(message: Message): boolean {
  return message.file.syntax === 'proto3'
}

function typeOf(field: Field): FieldType {
  if (field.form === 'group') return field.target === null ? 'open' : 'group'
  if (field.target !== null) return field.target.kind
  return field.form === 'plain' && isScalar(field.type) ? (field.type satisfies Scalar) : 'open'
}

export function jsonNameOf(field: Field): string {
  const written = plainOption(field.options, 'json_name')
  return written?.kind === 'string' ? written.text : jsonName(field.name)
}

function isPacked(field: Field, file: File): boolean {
  const written = plainOption(field.options, 'packed')
  return written === undefined ? file.syntax === 'proto3' : isSet(field.options, 'packed')
}

function enumOf(type: Enum): ProgramEnum {
  const names = new Map<number, string>()
  for (const { name, number } of type.values) if (!names.has(number)) names.set(number, name)
  return {
    fullName: type.fullName,
    names,
    numbers: new Map(type.values.map(({ name, number }) => [name, number])),
    isClosed: type.file.syntax === 'proto2',
  }
}
