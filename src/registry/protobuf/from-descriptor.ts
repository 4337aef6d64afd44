// A FileDescriptorProto to a file. Clients send descriptors as base64 in place of text.

import { InvalidSchema, MOST_SCHEMA_LEVELS } from '../format.ts'
import { decode } from './decode.ts'
import * as json from './descriptor-json.ts'
import { fileDescriptorIn } from './descriptor-program.ts'
import { unescapeText } from './literals.ts'
import type { Enum, Extend, Field, File, ImportKind, Label, Message, Oneof, Option, OptionValue } from './model.ts'
import { inScope, jsonName, newEnum, newFile, newMessage } from './model.ts'
import { optionsFromJson } from './options-from-json.ts'
import type { ProtobufProgram } from './program.ts'

/** A descriptor of the largest schema stays far below it. */
const MOST_JSON = 64 * 1024 * 1024

/** `program` is of descriptor-program.ts: options whose extensions it does not know are dropped. */
export function fromDescriptor(bytes: Uint8Array, path: string, program: ProtobufProgram): File {
  const text = decode(program, fileDescriptorIn(program), bytes, 0, bytes.length, MOST_JSON, 'fields')
  if (typeof text !== 'string') {
    throw new InvalidSchema(`expected a .proto text, or a FileDescriptorProto as base64: ${text.message}`)
  }
  return new Reader(program, path).file(JSON.parse(text))
}

class Reader {
  readonly #program: ProtobufProgram
  readonly #file: File

  constructor(program: ProtobufProgram, path: string) {
    this.#program = program
    this.#file = newFile(path)
  }

  file(source: json.FileJson): File {
    const file = this.#file
    const { syntax = 'proto2' } = source
    if (syntax !== 'proto2' && syntax !== 'proto3') {
      throw new InvalidSchema(`expected the syntax "proto2" or "proto3", found ${JSON.stringify(syntax)}`)
    }
    file.syntax = syntax
    file.isSyntaxWritten = source.syntax !== undefined
    file.package = source.package ?? ''
    if (file.package !== '') for (const part of file.package.split('.')) nameOf(part, 'the package')
    for (const [index, imported] of (source.dependency ?? []).entries()) {
      file.imports.push({ path: imported, kind: importKind(source, index) })
    }
    file.options.push(...this.#options(source.options, json.FILE_OPTIONS))
    this.#declarations(file, null, source.messageType, source.enumType, [source.extension ?? []], 1)
    for (const service of source.service ?? []) this.#service(service)
    return file
  }

  #options(options: json.OptionsJson | undefined, message: string): Option[] {
    return options === undefined ? [] : optionsFromJson(options, message, this.#program)
  }

  /** `fields` are the extensions that are declared here, and for a message its fields too: they name groups. */
  #declarations(
    body: Pick<Message, 'messages' | 'enums' | 'extends'>,
    parent: Message | null,
    messages: readonly json.MessageJson[] = [],
    enums: readonly json.EnumJson[] = [],
    [extensions, fields]: readonly [json.FieldJson[], json.FieldJson[]?],
    level: number,
  ): void {
    if (level > MOST_SCHEMA_LEVELS) {
      throw new InvalidSchema(`messages stand in each other over more than ${MOST_SCHEMA_LEVELS} levels`)
    }
    const groups = new Set<string>()
    for (const { type, typeName = '' } of [...extensions, ...(fields ?? [])]) {
      if (type === 'TYPE_GROUP') groups.add(typeName.slice(typeName.lastIndexOf('.') + 1))
    }
    for (const message of messages) body.messages.push(this.#message(message, parent, groups, level))
    for (const type of enums) body.enums.push(this.#enum(type, parent))
    for (const field of extensions) this.#extension(body.extends, field)
  }

  #message(source: json.MessageJson, parent: Message | null, groups: ReadonlySet<string>, level: number): Message {
    const isEntry = source.options?.mapEntry === true
    const name = nameOf(source.name, 'a message')
    const role = isEntry ? 'map-entry' : groups.has(name) ? 'group' : 'plain'
    const message = newMessage(name, this.#file, parent, role)
    const oneofs: Oneof[] = (source.oneofDecl ?? []).map(oneof => ({
      name: nameOf(oneof.name, `a oneof of "${message.fullName}"`),
      options: this.#options(oneof.options, json.ONEOF_OPTIONS),
    }))
    const fields = source.field ?? []
    const entries = new Set<string>()
    for (const nested of source.nestedType ?? []) {
      if (nested.options?.mapEntry === true) entries.add(`.${message.fullName}.${nested.name}`)
    }
    for (const field of fields) message.fields.push(this.#field(field, message, oneofs, entries))
    // Oneofs that protoc makes for optional fields of proto3 are no oneofs of the text.
    const synthetic = new Set(fields.filter(field => field.proto3Optional === true).map(field => field.oneofIndex))
    message.oneofs.push(...oneofs.filter((_, index) => !synthetic.has(index)))
    const own = this.#options(source.options, json.MESSAGE_OPTIONS)
    message.options.push(...own.filter(({ name: [first] }) => first?.text !== 'map_entry'))
    message.reserved.push(...reservedOf(source, 1))
    for (const range of source.extensionRange ?? []) {
      const options = this.#options(range.options, json.RANGE_OPTIONS)
      message.extensions.push({ ranges: [{ from: range.start ?? 0, to: (range.end ?? 0) - 1 }], options })
    }
    const extensions = source.extension ?? []
    this.#declarations(message, message, source.nestedType, source.enumType, [extensions, fields], level + 1)
    return message
  }

  #field(
    source: json.FieldJson,
    message: Message | null,
    oneofs: readonly Oneof[],
    entries: ReadonlySet<string>,
  ): Field {
    const name = nameOf(source.name, message === null ? 'an extension' : `a field of "${message.fullName}"`)
    const isOptional = source.proto3Optional === true
    const oneof = isOptional || source.oneofIndex === undefined ? null : (oneofs[source.oneofIndex] ?? null)
    const typeName = source.typeName ?? ''
    const form = source.type === 'TYPE_GROUP' ? 'group' : entries.has(typeName) ? 'map' : 'plain'
    const type = typeName === '' ? scalarOf(source.type) : typeName
    if (type === '') throw new InvalidSchema(`The field "${name}" has no type`)
    const isProto3 = this.#file.syntax === 'proto3'
    const label = oneof !== null || form === 'map' ? '' : labelOf(source.label, isProto3, isOptional)
    const options = [...this.#options(source.options, json.FIELD_OPTIONS), ...pseudoOptions(source, name, type)]
    return { name, number: source.number ?? 0, label, type, form, oneof, options, target: null }
  }

  /** Extensions of one message that stand side by side were one block. */
  #extension(blocks: Extend[], source: json.FieldJson): void {
    const field = this.#field(source, null, [], new Set())
    const { extendee = '' } = source
    const last = blocks.at(-1)
    if (last?.extendee === extendee) last.fields.push(field)
    else blocks.push({ extendee, fields: [field], target: null })
  }

  #enum(source: json.EnumJson, parent: Message | null): Enum {
    const type = newEnum(nameOf(source.name, 'an enum'), this.#file, parent)
    type.options.push(...this.#options(source.options, json.ENUM_OPTIONS))
    type.reserved.push(...reservedOf(source, 0))
    for (const value of source.value ?? []) {
      const name = nameOf(value.name, `a value of "${type.fullName}"`)
      const options = this.#options(value.options, json.ENUM_VALUE_OPTIONS)
      type.values.push({ name, number: value.number ?? 0, options })
    }
    return type
  }

  #service(source: json.ServiceJson): void {
    const name = nameOf(source.name, 'a service')
    const methods = (source.method ?? []).map(method => ({
      name: nameOf(method.name, `a method of "${name}"`),
      request: method.inputType ?? '',
      isRequestStream: method.clientStreaming === true,
      response: method.outputType ?? '',
      isResponseStream: method.serverStreaming === true,
      options: this.#options(method.options, json.METHOD_OPTIONS),
      requestTarget: null,
      responseTarget: null,
    }))
    const options = this.#options(source.options, json.SERVICE_OPTIONS)
    this.#file.services.push({ name, fullName: inScope(name, this.#file, null), methods, options })
  }
}

function importKind(source: json.FileJson, index: number): ImportKind {
  if (source.publicDependency?.includes(index) === true) return 'public'
  return source.weakDependency?.includes(index) === true ? 'weak' : ''
}

/** Names go into texts and paths: a descriptor must not bring any that a text could not have. */
function nameOf(name: string | undefined, what: string): string {
  if (name !== undefined && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name
  throw new InvalidSchema(`${JSON.stringify(name ?? '')} is no name for ${what}: expected letters, digits and "_"`)
}

function scalarOf(type: string | undefined): string {
  return type === undefined ? '' : type.slice('TYPE_'.length).toLowerCase()
}

function labelOf(label: string | undefined, isProto3: boolean, isOptional: boolean): Label {
  if (label === 'LABEL_REPEATED') return 'repeated'
  if (label === 'LABEL_REQUIRED') return 'required'
  return isOptional || !isProto3 ? 'optional' : ''
}

/** Ranges of messages end before `end`; those of enums, with `behind` 0, end at it. */
function reservedOf(source: json.MessageJson | json.EnumJson, behind: number): Message['reserved'] {
  const ranges = (source.reservedRange ?? []).map(({ start = 0, end = 0 }) => ({ from: start, to: end - behind }))
  const names = source.reservedName ?? []
  return [
    ...ranges.map(range => ({ ranges: [range], names: [] })),
    ...names.map(name => ({ ranges: [], names: [name] })),
  ]
}

/** `default` and `json_name` are members of a descriptor, and options of a text. */
function pseudoOptions(source: json.FieldJson, name: string, type: string): Option[] {
  const options: Option[] = []
  const add = (option: string, value: OptionValue): void => {
    options.push({ name: [{ text: option, isExtension: false }], value })
  }
  if (source.defaultValue !== undefined) add('default', defaultOf(source.defaultValue, name, type))
  const { jsonName: written } = source
  if (written !== undefined && written !== jsonName(name)) add('json_name', { kind: 'string', text: written })
  return options
}

function defaultOf(text: string, name: string, type: string): OptionValue {
  if (type === 'string') return { kind: 'string', text }
  if (type === 'bytes') {
    const bytes = unescapeText(text)
    if (bytes === null) throw new InvalidSchema(`The default of the field "${name}" has an escape that is not legal`)
    return { kind: 'string', text: bytes }
  }
  const isName = type === 'bool' || type.startsWith('.') || type.includes('.')
  return { kind: isName ? 'identifier' : 'number', text }
}
