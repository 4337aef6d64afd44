// The normalized file (study 3.3): fields, values of enums, oneofs and ranges in the order of their numbers, imports in
// alphabetical order, names of types written out. Messages, enums and services keep their order, because message indexes
// depend on it.

import type {
  Enum,
  Extend,
  Field,
  File,
  Message,
  Method,
  Oneof,
  Option,
  OptionEntry,
  OptionValue,
  Range,
  Reserved,
} from './model.ts'
import { entryOf } from './model.ts'
import { decimal } from './options-to-json.ts'
import { nameOf } from './print.ts'

export function normalize(file: File): File {
  return {
    ...file,
    isSyntaxWritten: file.syntax === 'proto3',
    imports: distinct(file.imports),
    options: options(file.options),
    messages: file.messages.map(message),
    enums: file.enums.map(enumeration),
    extends: extensions(file.extends),
    services: file.services.map(service => ({
      ...service,
      options: options(service.options),
      methods: service.methods.map(method),
    })),
  }
}

function distinct(imports: File['imports']): File['imports'] {
  const byPath = new Map(imports.map(imported => [`${imported.kind} ${imported.path}`, imported]))
  return [...byPath.values()].sort((one, other) => order(one.path, other.path))
}

function message(type: Message): Message {
  // An empty oneof, which stored schemas may have, goes.
  const first = new Map<Oneof, number>()
  for (const { oneof, number } of type.fields) {
    if (oneof !== null) first.set(oneof, Math.min(first.get(oneof) ?? number, number))
  }
  const oneofs = [...first].sort(([, one], [, other]) => one - other).map(([oneof]) => oneof)
  const renewed = new Map(oneofs.map(oneof => [oneof, { ...oneof, options: options(oneof.options) }]))
  return {
    ...type,
    fields: fields(type.fields, renewed),
    oneofs: [...renewed.values()],
    messages: type.messages.map(message),
    enums: type.enums.map(enumeration),
    extends: extensions(type.extends),
    reserved: reserved(type.reserved),
    extensions: type.extensions
      .flatMap(({ ranges, options: ofRanges }) =>
        ranges.map(range => ({ ranges: [range], options: options(ofRanges) })),
      )
      .sort((one, other) => begin(one.ranges) - begin(other.ranges)),
    options: options(type.options),
  }
}

function fields(source: readonly Field[], oneofs: ReadonlyMap<Oneof, Oneof>): Field[] {
  const renewed = source.map(field => ({
    ...field,
    type: typeName(field.type, field.target),
    target: target(field),
    oneof: field.oneof === null ? null : (oneofs.get(field.oneof) ?? null),
    options: options(field.options),
  }))
  return renewed.sort((one, other) => one.number - other.number)
}

/** Maps and groups are printed from their messages. */
function target(field: Field): Field['target'] {
  if (field.target?.kind !== 'message' || (entryOf(field) === null && field.form !== 'group')) return field.target
  return message(field.target)
}

function typeName(written: string, type: Field['target']): string {
  return type === null ? written : `.${type.fullName}`
}

function enumeration(type: Enum): Enum {
  const values = type.values.map(value => ({ ...value, options: options(value.options) }))
  values.sort((one, other) => one.number - other.number || order(one.name, other.name))
  return { ...type, values, reserved: reserved(type.reserved), options: options(type.options) }
}

/** One statement for each range and each name. */
function reserved(source: readonly Reserved[]): Reserved[] {
  const ranges = source.flatMap(one => one.ranges.map(range => ({ ranges: [range], names: [] })))
  const names = source.flatMap(one => one.names.map(name => ({ ranges: [], names: [name] })))
  ranges.sort((one, other) => begin(one.ranges) - begin(other.ranges))
  names.sort((one, other) => order(one.names[0] ?? '', other.names[0] ?? ''))
  return [...ranges, ...names]
}

function begin(ranges: readonly Range[]): number {
  return ranges[0]?.from ?? 0
}

/** One block for each extended message. */
function extensions(blocks: readonly Extend[]): Extend[] {
  const byName = new Map<string, Extend>()
  for (const block of blocks) {
    const extendee = typeName(block.extendee, block.target)
    const known = byName.get(extendee)?.fields ?? []
    byName.set(extendee, { extendee, target: block.target, fields: fields([...known, ...block.fields], new Map()) })
  }
  return [...byName.values()]
}

function method(source: Method): Method {
  return {
    ...source,
    request: typeName(source.request, source.requestTarget),
    response: typeName(source.response, source.responseTarget),
    options: options(source.options),
  }
}

/** `(a).b = 1` becomes `(a) = {b: 1}`, and all are in the order of their names. */
function options(source: readonly Option[]): Option[] {
  const folded = source.map(folding)
  return folded
    .map(option => ({ ...option, value: optionValue(option.value) }))
    .sort((one, other) => order(nameOf(one), nameOf(other)))
}

function folding(option: Option): Option {
  const [first, ...rest] = option.name
  if (first === undefined || rest.length === 0) return option
  let { value } = option
  for (const { text, isExtension } of rest.reverse()) {
    value = { kind: 'message', entries: [{ name: isExtension ? `[${text}]` : text, value }] }
  }
  return { name: [first], value }
}

function optionValue(value: OptionValue): OptionValue {
  switch (value.kind) {
    case 'number':
      return { kind: 'number', text: decimal(value.text) }
    case 'list':
      return { kind: 'list', items: value.items.map(optionValue) }
    case 'message':
      return { kind: 'message', entries: entries(value.entries) }
    default:
      return value
  }
}

/** A field that comes several times is a list. */
function entries(source: readonly OptionEntry[]): OptionEntry[] {
  const byName = new Map<string, OptionValue[]>()
  for (const { name, value } of source) {
    const values = value.kind === 'list' ? value.items.map(optionValue) : [optionValue(value)]
    byName.set(name, [...(byName.get(name) ?? []), ...values])
  }
  const folded: OptionEntry[] = []
  for (const [name, items] of byName) {
    const [first] = items
    if (first !== undefined) folded.push({ name, value: items.length === 1 ? first : { kind: 'list', items } })
  }
  return folded.sort((one, other) => order(one.name, other.name))
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
