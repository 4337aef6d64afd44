// A .proto text to a file (proto2 and proto3, protobuf.dev/reference/protobuf/proto3-spec). Here only the grammar is
// checked. Names are found in link.ts, and the rules that a new schema must keep are in check.ts.

import { InvalidSchema, MOST_SCHEMA_LEVELS } from '../format.ts'
import type { Enum, Extend, Field, File, Label, Message, Method, Oneof, Option, Range, Reserved } from './model.ts'
import { entryName, inScope, isSet, MOST_FIELD_NUMBER, newEnum, newFile, newMessage } from './model.ts'
import { parseOptionList, parseOptionStatement, parseStrings, parseTypeName } from './parse-options.ts'
import { Tokens } from './tokens.ts'

const MOST_ENUM_NUMBER = 2 ** 31 - 1
const MAP_KEYS = /^(?:u?int(?:32|64)|s(?:int|fixed)(?:32|64)|fixed(?:32|64)|bool|string)$/

/** Throws InvalidSchema with the line and the column. */
export function parseText(text: string, path: string): File {
  const tokens = new Tokens(text)
  const file = newFile(path)
  new Parser(tokens, file).parse()
  return file
}

/** Where declarations stand: the file, or a message. */
type Body = Pick<Message, 'messages' | 'enums' | 'extends'>

class Parser {
  readonly #tokens: Tokens
  readonly #file: File

  constructor(tokens: Tokens, file: File) {
    this.#tokens = tokens
    this.#file = file
  }

  parse(): void {
    if (this.#tokens.is('syntax')) this.#syntax()
    let isPackageSeen = false
    while (this.#tokens.peek.kind !== 'end') {
      if (this.#tokens.is('package')) {
        if (isPackageSeen) this.#tokens.fail('at most one package')
        if (this.#isAnythingDeclared()) this.#tokens.fail('the package before all messages, enums and services')
        isPackageSeen = true
        this.#tokens.next()
        if (this.#tokens.is('.')) this.#tokens.fail('the name of the package')
        this.#file.package = parseTypeName(this.#tokens, 'the name of the package')
        this.#tokens.expect(';')
      } else this.#statement()
    }
  }

  #isAnythingDeclared(): boolean {
    const { messages, enums, services } = this.#file
    return messages.length + enums.length + services.length > 0
  }

  #syntax(): void {
    this.#tokens.next()
    this.#tokens.expect('=')
    const { at } = this.#tokens.peek
    const syntax = parseStrings(this.#tokens)
    if (syntax !== 'proto2' && syntax !== 'proto3') {
      const place = this.#tokens.place(at)
      throw new InvalidSchema(`${place}: expected the syntax "proto2" or "proto3", found ${JSON.stringify(syntax)}`)
    }
    this.#tokens.expect(';')
    this.#file.syntax = syntax
    this.#file.isSyntaxWritten = true
  }

  #statement(): void {
    const tokens = this.#tokens
    if (tokens.accept(';')) return
    if (tokens.is('edition')) tokens.fail('the syntax "proto2" or "proto3" (editions are not supported)')
    if (tokens.accept('import')) {
      const kind = tokens.accept('public') ? 'public' : tokens.accept('weak') ? 'weak' : ''
      this.#file.imports.push({ path: parseStrings(tokens), kind })
      tokens.expect(';')
    } else if (tokens.accept('option')) this.#file.options.push(parseOptionStatement(tokens))
    else if (tokens.accept('service')) this.#service()
    else if (!this.#declaration(this.#file, null, 1)) {
      tokens.fail('a message, an enum, a service, an import, a package, an option or an extend block')
    }
  }

  /** A message, an enum or an extend block; false if the next token begins none. */
  #declaration(body: Body, parent: Message | null, level: number): boolean {
    const tokens = this.#tokens
    // Fields may have types with these names: `message` is followed by a name and a brace only here.
    if (tokens.accept('message')) {
      const message = newMessage(tokens.take('identifier', 'the name of a message'), this.#file, parent, 'plain')
      body.messages.push(message)
      this.#message(message, level)
    } else if (tokens.accept('enum')) body.enums.push(this.#enum(parent))
    else if (tokens.accept('extend')) body.extends.push(this.#extend(body, parent, level))
    else return false
    return true
  }

  #message(message: Message, level: number): void {
    const tokens = this.#tokens
    if (level > MOST_SCHEMA_LEVELS) {
      const place = tokens.place(tokens.peek.at)
      throw new InvalidSchema(`${place}: messages stand in each other over more than ${MOST_SCHEMA_LEVELS} levels`)
    }
    tokens.expect('{')
    while (!tokens.accept('}')) this.#member(message, level)
    if (isWrittenEntry(message)) {
      message.role = 'map-entry'
      message.options = message.options.filter(({ name: [first] }) => first?.text !== 'map_entry')
    }
  }

  #member(message: Message, level: number): void {
    const tokens = this.#tokens
    if (tokens.accept(';')) return
    if (tokens.accept('option')) message.options.push(parseOptionStatement(tokens))
    else if (tokens.accept('reserved')) message.reserved.push(...this.#reserved(MOST_FIELD_NUMBER))
    else if (tokens.accept('extensions')) {
      const ranges = this.#ranges(MOST_FIELD_NUMBER)
      message.extensions.push({ ranges, options: parseOptionList(tokens) })
      tokens.expect(';')
    } else if (tokens.accept('oneof')) this.#oneof(message, level)
    else if (!this.#declaration(message, message, level + 1)) {
      message.fields.push(this.#field(message, message, null, level, true))
    }
  }

  #oneof(message: Message, level: number): void {
    const tokens = this.#tokens
    const options: Option[] = []
    const oneof: Oneof = { name: tokens.take('identifier', 'the name of a oneof'), options }
    message.oneofs.push(oneof)
    tokens.expect('{')
    // Unlike elsewhere, protoc allows no empty statement here, nor in an extension.
    while (!tokens.accept('}')) {
      if (tokens.accept('option')) options.push(parseOptionStatement(tokens))
      else message.fields.push(this.#field(message, message, oneof, level, false))
    }
  }

  #extend(body: Body, parent: Message | null, level: number): Extend {
    const extendee = parseTypeName(this.#tokens, 'the name of the extended message')
    const fields: Field[] = []
    this.#tokens.expect('{')
    do fields.push(this.#field(body, parent, null, level, true))
    while (!this.#tokens.accept('}'))
    return { extendee, fields, target: null }
  }

  /** Messages that the field makes (a group, the entry of a map) are added to `body`. */
  #field(body: Body, parent: Message | null, oneof: Oneof | null, level: number, mayHaveLabel: boolean): Field {
    const tokens = this.#tokens
    const label = mayHaveLabel ? this.#label() : ''
    if (label === '' && tokens.is('map')) {
      tokens.next()
      // A message may be named "map".
      if (tokens.is('<')) return this.#map(body, parent, oneof)
      return this.#plain(`map${tokens.is('.') ? this.#rest() : ''}`, label, oneof)
    }
    const needsLabel = this.#file.syntax === 'proto2' && oneof === null
    if (needsLabel && label === '') tokens.fail('"optional", "required" or "repeated"')
    if (tokens.accept('group')) return this.#group(body, parent, oneof, label, level)
    return this.#plain(parseTypeName(tokens, 'the type of a field'), label, oneof)
  }

  #label(): Label {
    for (const label of ['optional', 'required', 'repeated'] as const) {
      if (this.#tokens.accept(label)) return label
    }
    return ''
  }

  #rest(): string {
    this.#tokens.expect('.')
    return `.${parseTypeName(this.#tokens, 'the type of a field')}`
  }

  #plain(type: string, label: Label, oneof: Oneof | null): Field {
    const name = this.#tokens.take('identifier', 'the name of a field')
    const number = this.#fieldNumber()
    const options = parseOptionList(this.#tokens)
    this.#tokens.expect(';')
    return { name, number, label, type, form: 'plain', oneof, options, target: null }
  }

  #map(body: Body, parent: Message | null, oneof: Oneof | null): Field {
    const tokens = this.#tokens
    tokens.expect('<')
    const { at } = tokens.peek
    const key = parseTypeName(tokens, 'the type of the keys')
    if (!MAP_KEYS.test(key)) {
      const place = tokens.place(at)
      throw new InvalidSchema(
        `${place}: expected an integer, "bool" or "string" as the type of the keys, found "${key}"`,
      )
    }
    tokens.expect(',')
    const value = parseTypeName(tokens, 'the type of the values')
    tokens.expect('>')
    const { name, number, options } = this.#plain('', '', oneof)
    const entry = newMessage(entryName(name), this.#file, parent, 'map-entry')
    const member = { label: 'optional', form: 'plain', oneof: null, options: [], target: null } as const
    entry.fields.push({ ...member, name: 'key', number: 1, type: key })
    entry.fields.push({ ...member, name: 'value', number: 2, type: value })
    body.messages.push(entry)
    return { name, number, label: '', type: entry.name, form: 'map', oneof, options, target: entry }
  }

  #group(body: Body, parent: Message | null, oneof: Oneof | null, label: Label, level: number): Field {
    const tokens = this.#tokens
    const { at } = tokens.peek
    const name = tokens.take('identifier', 'the name of a group')
    if (!/^[A-Z]/.test(name)) throw new InvalidSchema(`${tokens.place(at)}: the group "${name}" begins with no capital`)
    const number = this.#fieldNumber()
    const options = parseOptionList(tokens)
    const message = newMessage(name, this.#file, parent, 'group')
    body.messages.push(message)
    this.#message(message, level + 1)
    return { name: name.toLowerCase(), number, label, type: name, form: 'group', oneof, options, target: message }
  }

  #fieldNumber(): number {
    this.#tokens.expect('=')
    return this.#integer(MOST_FIELD_NUMBER, 'the number of a field')
  }

  #integer(most: number, expected: string): number {
    const { at } = this.#tokens.peek
    const number = Number(octal(this.#tokens.take('integer', expected)))
    if (number <= most) return number
    throw new InvalidSchema(`${this.#tokens.place(at)}: ${expected} is at most ${most}, found ${number}`)
  }

  #signed(expected: string): number {
    return this.#tokens.accept('-') ? -this.#integer(2 ** 31, expected) : this.#integer(MOST_ENUM_NUMBER, expected)
  }

  /** Wire accepts numbers and names in one statement. protoc does not, so they become two. */
  #reserved(most: number): Reserved[] {
    const ranges: Range[] = []
    const names: string[] = []
    do {
      if (this.#tokens.peek.kind === 'string') names.push(parseStrings(this.#tokens))
      else ranges.push(this.#range(most))
    } while (this.#tokens.accept(','))
    this.#tokens.expect(';')
    const statements = [
      { ranges, names: [] },
      { ranges: [], names },
    ]
    return statements.filter(one => one.ranges.length + one.names.length > 0)
  }

  #ranges(most: number): Range[] {
    const ranges: Range[] = []
    do ranges.push(this.#range(most))
    while (this.#tokens.accept(','))
    return ranges
  }

  #range(most: number): Range {
    const { at } = this.#tokens.peek
    const from = this.#bound(most, 'a number')
    let to = from
    if (this.#tokens.accept('to')) to = this.#tokens.accept('max') ? most : this.#bound(most, 'a number or "max"')
    if (to < from) throw new InvalidSchema(`${this.#tokens.place(at)}: the range ${from} to ${to} is empty`)
    return { from, to }
  }

  #bound(most: number, expected: string): number {
    return most === MOST_ENUM_NUMBER ? this.#signed(expected) : this.#integer(most, expected)
  }

  #enum(parent: Message | null): Enum {
    const tokens = this.#tokens
    const type = newEnum(tokens.take('identifier', 'the name of an enum'), this.#file, parent)
    tokens.expect('{')
    while (!tokens.accept('}')) {
      if (tokens.accept(';')) continue
      if (tokens.accept('option')) type.options.push(parseOptionStatement(tokens))
      else if (tokens.accept('reserved')) type.reserved.push(...this.#reserved(MOST_ENUM_NUMBER))
      else {
        const name = tokens.take('identifier', 'the name of an enum value')
        tokens.expect('=')
        const number = this.#signed('the number of an enum value')
        type.values.push({ name, number, options: parseOptionList(tokens) })
        tokens.expect(';')
      }
    }
    return type
  }

  #service(): void {
    const tokens = this.#tokens
    const name = tokens.take('identifier', 'the name of a service')
    const methods: Method[] = []
    const options: Option[] = []
    this.#file.services.push({ name, fullName: inScope(name, this.#file, null), methods, options })
    tokens.expect('{')
    while (!tokens.accept('}')) {
      if (tokens.accept(';')) continue
      if (tokens.accept('option')) options.push(parseOptionStatement(tokens))
      else if (tokens.accept('rpc')) methods.push(this.#method())
      else tokens.fail('"rpc" or "option"')
    }
  }

  #method(): Method {
    const tokens = this.#tokens
    const name = tokens.take('identifier', 'the name of an rpc')
    const request = this.#methodType()
    tokens.expect('returns')
    const response = this.#methodType()
    const options: Option[] = []
    if (tokens.accept('{')) {
      while (!tokens.accept('}')) {
        if (tokens.accept(';')) continue
        tokens.expect('option')
        options.push(parseOptionStatement(tokens))
      }
    } else tokens.expect(';')
    return {
      name,
      request: request.type,
      isRequestStream: request.isStream,
      response: response.type,
      isResponseStream: response.isStream,
      options,
      requestTarget: null,
      responseTarget: null,
    }
  }

  #methodType(): { type: string; isStream: boolean } {
    this.#tokens.expect('(')
    const isStream = this.#tokens.accept('stream')
    // A message may be named "stream".
    if (isStream && this.#tokens.accept(')')) return { type: 'stream', isStream: false }
    const type = parseTypeName(this.#tokens, 'the name of a message')
    this.#tokens.expect(')')
    return { type, isStream }
  }
}

/** Confluent prints the map of a descriptor as the message of its entry. */
function isWrittenEntry(message: Message): boolean {
  const [key, value, ...rest] = message.fields
  return isSet(message.options, 'map_entry') && key?.number === 1 && value?.number === 2 && rest.length === 0
}

/** JavaScript reads "017" as 17, and a .proto text as 15. */
function octal(text: string): string {
  return /^0[0-7]+$/.test(text) ? `0o${text.slice(1)}` : text
}
