// A .proto file as values: what its text says, in the order of the text, and what its names mean once link.ts has
// found them. Text (parse-text.ts) and descriptors (from-descriptor.ts) both become these values; the printer, the
// comparison and the compiler know nothing else.

export type Syntax = 'proto2' | 'proto3'

/** `required`, `optional` and `repeated` as written; '' where the text has no label. */
export type Label = '' | 'optional' | 'required' | 'repeated'

/** The types that are no names. */
export const SCALARS = [
  'double',
  'float',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'fixed32',
  'fixed64',
  'sfixed32',
  'sfixed64',
  'bool',
  'string',
  'bytes',
] as const
export type Scalar = (typeof SCALARS)[number]

const NAMES: ReadonlySet<string> = new Set(SCALARS)

export function isScalar(type: string): type is Scalar {
  return NAMES.has(type)
}

/** A value of an option, as written. Bytes that are no UTF-8 are characters U+DC80 to U+DCFF (literals.ts). */
export type OptionValue =
  | { readonly kind: 'string' | 'number' | 'identifier'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly OptionValue[] }
  | { readonly kind: 'message'; readonly entries: readonly OptionEntry[] }

/** `name` is a field's name, or `[full.name]` of an extension. */
export interface OptionEntry {
  readonly name: string
  readonly value: OptionValue
}

export interface NamePart {
  readonly text: string
  /** Written in parentheses. */
  readonly isExtension: boolean
}

/** `option (a.b).c = 1`: the parts are `(a.b)` and `c`. */
export interface Option {
  readonly name: readonly NamePart[]
  readonly value: OptionValue
}

/** Both ends belong to the range. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** One `reserved` or `extensions` statement. */
export interface Reserved {
  readonly ranges: readonly Range[]
  readonly names: readonly string[]
}

export interface ExtensionRanges {
  readonly ranges: readonly Range[]
  readonly options: readonly Option[]
}

export type ImportKind = '' | 'public' | 'weak'

export interface Import {
  readonly path: string
  readonly kind: ImportKind
}

export interface Field {
  readonly name: string
  readonly number: number
  readonly label: Label
  /** As written: a scalar, or a name with or without a leading dot. Of a map and a group, the name of its message. */
  readonly type: string
  readonly form: 'plain' | 'map' | 'group'
  readonly oneof: Oneof | null
  readonly options: readonly Option[]
  /** The message or the enum that `type` names; null for scalars, and for names that a stored schema leaves open. */
  target: Message | Enum | null
}

export interface Oneof {
  readonly name: string
  readonly options: readonly Option[]
}

export interface Message {
  readonly kind: 'message'
  readonly name: string
  /** With the package, without a leading dot. */
  readonly fullName: string
  readonly file: File
  readonly parent: Message | null
  /**
   * Entries of maps and bodies of groups stand in `messages` of their parent, but no statement of the text names
   * them.
   */
  role: 'plain' | 'map-entry' | 'group'
  readonly fields: Field[]
  readonly oneofs: Oneof[]
  readonly messages: Message[]
  readonly enums: Enum[]
  readonly extends: Extend[]
  readonly reserved: Reserved[]
  readonly extensions: ExtensionRanges[]
  options: Option[]
}

export interface EnumValue {
  readonly name: string
  readonly number: number
  readonly options: readonly Option[]
}

export interface Enum {
  readonly kind: 'enum'
  readonly name: string
  readonly fullName: string
  readonly file: File
  readonly values: EnumValue[]
  readonly reserved: Reserved[]
  readonly options: Option[]
}

/** An `extend` block. The fields of one may be groups, whose messages stand beside the block. */
export interface Extend {
  readonly extendee: string
  readonly fields: Field[]
  target: Message | null
}

export interface Method {
  readonly name: string
  readonly request: string
  readonly isRequestStream: boolean
  readonly response: string
  readonly isResponseStream: boolean
  readonly options: readonly Option[]
  requestTarget: Message | null
  responseTarget: Message | null
}

export interface Service {
  readonly name: string
  readonly fullName: string
  readonly methods: Method[]
  readonly options: Option[]
}

export interface File {
  /** The path in imports; '' for the schema itself. */
  readonly path: string
  syntax: Syntax
  /** Wire and Confluent print no syntax where the text has none. */
  isSyntaxWritten: boolean
  package: string
  readonly imports: Import[]
  readonly options: Option[]
  readonly messages: Message[]
  readonly enums: Enum[]
  readonly extends: Extend[]
  readonly services: Service[]
}

/** A file whose names are found, with the files that it sees. */
export interface ProtobufSchema {
  readonly file: File
  /** `file`, and all that it imports, directly or not, by path. */
  readonly files: ReadonlyMap<string, File>
}

export const MOST_FIELD_NUMBER = 536_870_911
export const FIRST_INTERNAL_NUMBER = 19_000
export const LAST_INTERNAL_NUMBER = 19_999

export function newFile(path: string): File {
  return {
    path,
    syntax: 'proto2',
    isSyntaxWritten: false,
    package: '',
    imports: [],
    options: [],
    messages: [],
    enums: [],
    extends: [],
    services: [],
  }
}

export function newMessage(name: string, file: File, parent: Message | null, role: Message['role']): Message {
  return {
    kind: 'message',
    name,
    fullName: inScope(name, file, parent),
    file,
    parent,
    role,
    fields: [],
    oneofs: [],
    messages: [],
    enums: [],
    extends: [],
    reserved: [],
    extensions: [],
    options: [],
  }
}

export function newEnum(name: string, file: File, parent: Message | null): Enum {
  return {
    kind: 'enum',
    name,
    fullName: inScope(name, file, parent),
    file,
    values: [],
    reserved: [],
    options: [],
  }
}

/** Of `name` declared in `parent`, or at the top of `file`. */
export function inScope(name: string, file: File, parent: Message | null): string {
  const scope = parent === null ? file.package : parent.fullName
  return scope === '' ? name : `${scope}.${name}`
}

/** `foo_bar` of the map field makes the message `FooBarEntry`, as protoc does. */
export function entryName(field: string): string {
  return `${camelCase(field, true)}Entry`
}

/** The JSON name of a field without `json_name`: `foo_bar` is `fooBar`. */
export function jsonName(field: string): string {
  return camelCase(field, false)
}

function camelCase(name: string, isFirstUpper: boolean): string {
  let text = ''
  let isUpper = isFirstUpper
  for (const character of name) {
    if (character === '_') isUpper = true
    else {
      text += isUpper && character >= 'a' && character <= 'z' ? character.toUpperCase() : character
      isUpper = false
    }
  }
  return text
}

/** The value of the option that is written with this plain name; undefined if it is not written. */
export function plainOption(options: readonly Option[], name: string): OptionValue | undefined {
  return options.findLast(option => option.name.length === 1 && isPlain(option.name[0], name))?.value
}

function isPlain(part: NamePart | undefined, name: string): boolean {
  return part !== undefined && !part.isExtension && part.text === name
}

/** True for `name = true`. */
export function isSet(options: readonly Option[], name: string): boolean {
  const value = plainOption(options, name)
  return value?.kind === 'identifier' && value.text === 'true'
}

/** The fields of each oneof of a message, and under null those of none, in the order of the text. */
export function membersByOneof(fields: readonly Field[]): Map<Oneof | null, Field[]> {
  const members = new Map<Oneof | null, Field[]>()
  for (const field of fields) {
    const known = members.get(field.oneof)
    if (known === undefined) members.set(field.oneof, [field])
    else known.push(field)
  }
  return members
}

/** The entry of a map field; null for all other fields. A text may also write the entry out, as descriptors do. */
export function entryOf(field: Field): Message | null {
  return field.target?.kind === 'message' && field.target.role === 'map-entry' ? field.target : null
}

/** All messages below `messages`, each before those that it holds. */
export function* everyMessage(messages: readonly Message[]): Generator<Message> {
  for (const message of messages) {
    yield message
    yield* everyMessage(message.messages)
  }
}
