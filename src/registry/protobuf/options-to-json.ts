// Options of a text as members of an options message in proto3 JSON, as protoc interprets them. An option that means
// nothing (its extension is not imported) becomes an `uninterpreted_option`, which protoc and others carry along.

import { bytesOf } from './literals.ts'
import type { NamePart, Option, OptionValue } from './model.ts'
import type { ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'

interface Members {
  [member: string]: unknown
  /** Of the entry of a map. */
  key?: unknown
  value?: unknown
  uninterpretedOption?: Members[]
}

/** Options of a text that are members of the descriptor itself. */
const PSEUDO: ReadonlySet<string> = new Set(['default', 'json_name'])

/** Undefined if no option is written. `scope` is where names of extensions are looked up from. */
export function optionsToJson(
  options: readonly Option[],
  message: string,
  scope: string,
  program: ProtobufProgram,
): Members | undefined {
  if (options.length === 0) return undefined
  const type = program.messages.find(({ fullName }) => fullName === message)
  const members = noMembers()
  const unknown: Members[] = []
  const interpreter = new Interpreter(program, scope)
  for (const option of options) {
    const [first] = option.name
    if (option.name.length === 1 && first !== undefined && !first.isExtension && PSEUDO.has(first.text)) continue
    if (type === undefined || !interpreter.set(members, type, option.name, option.value))
      unknown.push(uninterpreted(option))
  }
  if (unknown.length > 0) members.uninterpretedOption = unknown
  return Object.keys(members).length === 0 ? undefined : members
}

class Interpreter {
  readonly #program: ProtobufProgram
  readonly #scope: string

  constructor(program: ProtobufProgram, scope: string) {
    this.#program = program
    this.#scope = scope
  }

  /** False, with `members` as they were, if the name or the value means nothing. */
  set(members: Members, type: ProgramMessage, name: readonly NamePart[], value: OptionValue): boolean {
    const [first, ...rest] = name
    const field = first === undefined ? undefined : this.#field(type, first)
    if (field === undefined) return false
    if (rest.length === 0) return this.#put(members, field, value)
    const inner = this.#program.messages[field.of]
    if (!isMessageType(field) || field.isRepeated || inner === undefined) return false
    const known = members[field.jsonName]
    const target: Members = isMembers(known) ? known : noMembers()
    if (!this.set(target, inner, rest, value)) return false
    members[field.jsonName] = target
    return true
  }

  #field(type: ProgramMessage, part: NamePart): ProgramField | undefined {
    if (!part.isExtension) return type.fields.find(({ name }) => name === part.text)
    if (part.text.startsWith('.')) return type.fields.find(({ name }) => name === `[${part.text.slice(1)}]`)
    for (let scope = this.#scope; ; scope = scope.slice(0, Math.max(scope.lastIndexOf('.'), 0))) {
      const fullName = scope === '' ? part.text : `${scope}.${part.text}`
      const found = type.fields.find(({ name }) => name === `[${fullName}]`)
      if (found !== undefined || scope === '') return found
    }
  }

  #put(members: Members, field: ProgramField, value: OptionValue): boolean {
    const items = value.kind === 'list' ? value.items : [value]
    const values = items.map(item => this.#value(field, item))
    if (values.includes(undefined) || (value.kind === 'list' && !field.isRepeated)) return false
    const known = members[field.jsonName]
    if (field.isMap) {
      const map = isMembers(known) ? known : noMembers()
      for (const entry of values) if (isMembers(entry)) map[String(entry.key ?? '')] = entry.value
      members[field.jsonName] = map
    } else if (field.isRepeated) members[field.jsonName] = [...(Array.isArray(known) ? known : []), ...values]
    else if (isMembers(known) && isMembers(values[0])) members[field.jsonName] = Object.assign(known, values[0])
    else members[field.jsonName] = values[0]
    return true
  }

  /** Undefined if the value is not of the field's type. */
  #value(field: ProgramField, value: OptionValue): unknown {
    if (isMessageType(field)) return this.#message(field, value)
    if (value.kind === 'string') {
      if (field.type === 'string') return value.text
      return field.type === 'bytes' ? Buffer.from(bytesOf(value.text)).toString('base64') : undefined
    }
    if (value.kind === 'identifier') return this.#identifier(field, value.text)
    if (value.kind !== 'number') return undefined
    if (field.type === 'enum') return Number(decimal(value.text))
    if (field.type === 'string' || field.type === 'bytes' || field.type === 'bool') return undefined
    const isFloat = field.type === 'double' || field.type === 'float'
    return isFloat ? floatText(value.text) : integerText(value.text)
  }

  #identifier(field: ProgramField, text: string): unknown {
    if (field.type === 'enum') return this.#program.enums[field.of]?.numbers.has(text) === true ? text : undefined
    if (field.type === 'bool') return text === 'true' ? true : text === 'false' ? false : undefined
    const isFloat = field.type === 'double' || field.type === 'float'
    return isFloat && /^(?:inf|nan)$/.test(text) ? floatText(text) : undefined
  }

  #message(field: ProgramField, value: OptionValue): Members | undefined {
    const type = this.#program.messages[field.of]
    if (value.kind !== 'message' || type === undefined) return undefined
    const members = noMembers()
    for (const { name, value: inner } of value.entries) {
      const isExtension = name.startsWith('[')
      const part = { text: isExtension ? name.slice(1, -1) : name, isExtension }
      const member = this.#field(type, part)
      if (member === undefined || !this.#put(members, member, inner)) return undefined
    }
    return members
  }
}

function isMessageType(field: ProgramField): boolean {
  return field.type === 'message' || field.type === 'group'
}

/** Without a prototype: a schema may name a field "__proto__". */
function noMembers(): Members {
  return Object.create(null)
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text of a number in a .proto text, for JSON: hexadecimal and octal numbers become decimal. */
export function decimal(text: string): string {
  const sign = text.startsWith('-') ? '-' : ''
  const digits = text.slice(sign.length)
  if (/^0[xX]/.test(digits)) return sign + BigInt(digits)
  return /^0[0-7]+$/.test(digits) ? sign + BigInt(`0o${digits.slice(1)}`) : text
}

function integerText(text: string): string | undefined {
  const value = decimal(text)
  return /^-?\d+$/.test(value) ? value : undefined
}

function floatText(text: string): string {
  const value = decimal(text)
  if (/nan/i.test(value)) return 'NaN'
  if (/inf/i.test(value)) return value.startsWith('-') ? '-Infinity' : 'Infinity'
  return value
}

function uninterpreted({ name, value }: Option): Members {
  const parts = name.map(({ text, isExtension }) => ({ namePart: text, isExtension }))
  return { name: parts, ...uninterpretedValue(value) }
}

function uninterpretedValue(value: OptionValue): Members {
  switch (value.kind) {
    case 'string':
      return { stringValue: Buffer.from(bytesOf(value.text)).toString('base64') }
    case 'identifier':
      return { identifierValue: value.text }
    case 'number': {
      const integer = integerText(value.text)
      if (integer === undefined || integer.length > 19) return { doubleValue: floatText(value.text) }
      return integer.startsWith('-') ? { negativeIntValue: integer } : { positiveIntValue: integer }
    }
    default:
      return { aggregateValue: textFormat(value) }
  }
}

function textFormat(value: OptionValue): string {
  if (value.kind === 'message') return value.entries.map(entry => `${entry.name}: ${nested(entry.value)}`).join(' ')
  return nested(value)
}

function nested(value: OptionValue): string {
  if (value.kind === 'message') return `{ ${textFormat(value)} }`
  if (value.kind === 'list') return `[${value.items.map(nested).join(', ')}]`
  return value.kind === 'string' ? JSON.stringify(value.text) : value.text
}
