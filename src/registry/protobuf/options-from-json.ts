// Options of a descriptor, as proto3 JSON, to options as a text has them.

import { textOf } from './literals.ts'
import type { Option, OptionEntry, OptionValue } from './model.ts'
import type { ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'

/** `message` is the full name of the options' message; members that it has not are none. */
export function optionsFromJson(
  json: Readonly<Record<string, unknown>>,
  message: string,
  program: ProtobufProgram,
): Option[] {
  const type = program.messages.find(({ fullName }) => fullName === message)
  const options: Option[] = []
  for (const field of type?.fields ?? []) {
    const value = json[field.jsonName]
    if (value === undefined || field.name === 'uninterpreted_option') continue
    const isExtension = field.name.startsWith('[')
    const name = [{ text: isExtension ? field.name.slice(1, -1) : field.name, isExtension }]
    for (const item of itemsOf(field, value)) options.push({ name, value: optionValue(field, item, program) })
  }
  return options
}

/** A repeated field is one option for each element. */
function itemsOf(field: ProgramField, value: unknown): unknown[] {
  if (field.isMap) return Object.entries(value ?? {}).map(([key, inner]) => ({ key, value: inner }))
  return field.isRepeated && Array.isArray(value) ? value : [value]
}

function optionValue(field: ProgramField, value: unknown, program: ProtobufProgram): OptionValue {
  if (field.type === 'message' || field.type === 'group') {
    const type = program.messages[field.of]
    return { kind: 'message', entries: type === undefined ? [] : entriesOf(type, value, program) }
  }
  if (field.type === 'bytes') return { kind: 'string', text: textOf(Buffer.from(String(value), 'base64')) }
  if (field.type === 'string') return { kind: 'string', text: String(value) }
  if (field.type === 'bool' || (field.type === 'enum' && typeof value === 'string')) {
    return { kind: 'identifier', text: String(value) }
  }
  return { kind: 'number', text: String(value).replace('Infinity', 'inf').replace('NaN', 'nan') }
}

function entriesOf(type: ProgramMessage, value: unknown, program: ProtobufProgram): OptionEntry[] {
  const json = typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : new Map<string, unknown>()
  const entries: OptionEntry[] = []
  for (const field of type.fields) {
    const member = json.get(field.jsonName)
    if (member === undefined) continue
    const items = itemsOf(field, member).map(item => optionValue(field, item, program))
    const [first] = items
    if (first === undefined) continue
    entries.push({ name: field.name, value: items.length === 1 ? first : { kind: 'list', items } })
  }
  return entries
}
