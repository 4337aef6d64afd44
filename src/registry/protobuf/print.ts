// A file as text: the same text for all texts that say the same in the same order. Comments are gone. The layout is
// the one that users know from Confluent's registry: in a message its reserved numbers, options, fields, oneofs,
// groups, extension ranges, extend blocks, messages and enums, with a line between these.

import { quote } from './literals.ts'
import type {
  Enum,
  Extend,
  Field,
  File,
  Message,
  Method,
  Oneof,
  Option,
  OptionValue,
  Reserved,
  Service,
} from './model.ts'
import { entryOf, MOST_FIELD_NUMBER, membersByOneof } from './model.ts'

const MOST_ENUM_NUMBER = 2 ** 31 - 1

export function print(file: File): string {
  const head: string[] = []
  if (file.isSyntaxWritten) head.push(`syntax = "${file.syntax}";`)
  if (file.package !== '') head.push(`package ${file.package};`)
  const imports = ['', 'public', 'weak'].flatMap(kind => {
    const word = kind === '' ? '' : `${kind} `
    return file.imports.filter(imported => imported.kind === kind).map(({ path }) => `import ${word}${quote(path)};`)
  })
  const sections = [
    imports,
    file.options.map(optionStatement),
    [...file.messages.filter(isPrinted).map(message), ...file.enums.map(enumeration)],
    file.extends.map(extend),
    file.services.map(service),
  ]
  const text = sections.filter(section => section.length > 0).map(section => `\n${section.join('\n')}\n`)
  return `${head.map(line => `${line}\n`).join('')}${text.join('')}`
}

/** Entries of maps and groups stand in the fields that make them. */
function isPrinted(type: Message): boolean {
  return type.role === 'plain'
}

/** `head {` with sections behind it, each of them indented and after an empty line. */
function block(head: string, sections: readonly (readonly string[])[]): string {
  const full = sections.filter(section => section.length > 0).map(section => `${section.map(indent).join('\n')}\n`)
  return full.length === 0 ? `${head} {}` : `${head} {\n${full.join('\n')}}`
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}

function message(type: Message): string {
  return block(`message ${type.name}`, members(type))
}

function members(type: Message): string[][] {
  const byOneof = membersByOneof(type.fields)
  const fields = byOneof.get(null) ?? []
  return [
    type.reserved.map(reserved => reservedStatement(reserved, MOST_FIELD_NUMBER)),
    type.options.map(optionStatement),
    fields.filter(({ form }) => form !== 'group').map(field),
    type.oneofs.map(oneof => oneofBlock(oneof, byOneof.get(oneof) ?? [])),
    fields.filter(({ form }) => form === 'group').map(field),
    type.extensions.map(
      ({ ranges, options }) => `extensions ${rangeList(ranges, MOST_FIELD_NUMBER)}${optionList(options)};`,
    ),
    type.extends.map(extend),
    [...type.messages.filter(isPrinted).map(message), ...type.enums.map(enumeration)],
  ]
}

function oneofBlock(oneof: Oneof, fields: readonly Field[]): string {
  return block(`oneof ${oneof.name}`, [
    oneof.options.map(optionStatement),
    fields.filter(({ form }) => form !== 'group').map(field),
    fields.filter(({ form }) => form === 'group').map(field),
  ])
}

function field(source: Field): string {
  const { name, number, form, target } = source
  const label = source.label === '' ? '' : `${source.label} `
  if (form === 'group' && target?.kind === 'message') {
    return block(`${label}group ${target.name} = ${number}${optionList(source.options)}`, members(target))
  }
  const entry = entryOf(source)
  if (entry === null) return `${label}${source.type} ${name} = ${number}${fieldOptions(source)};`
  const [key, value] = entry.fields
  return `map<${key?.type}, ${value?.type}> ${name} = ${number}${fieldOptions(source)};`
}

/** `default` and `json_name` come last, as everywhere else. */
function fieldOptions({ options }: Field): string {
  const isLast = ({ name: [first] }: Option) => first?.text === 'default' || first?.text === 'json_name'
  const last = options.filter(isLast).sort((one, other) => nameOf(one).localeCompare(nameOf(other)))
  return optionList([...options.filter(option => !isLast(option)), ...last])
}

function extend({ extendee, fields }: Extend): string {
  return block(`extend ${extendee}`, [fields.map(field)])
}

function enumeration(type: Enum): string {
  const values = type.values.map(({ name, number, options }) => `${name} = ${number}${optionList(options)};`)
  const reserved = type.reserved.map(one => reservedStatement(one, MOST_ENUM_NUMBER))
  return block(`enum ${type.name}`, [[...reserved, ...type.options.map(optionStatement), ...values]])
}

function service({ name, options, methods }: Service): string {
  return block(`service ${name}`, [options.map(optionStatement), methods.map(method)])
}

function method(source: Method): string {
  const request = `${source.isRequestStream ? 'stream ' : ''}${source.request}`
  const response = `${source.isResponseStream ? 'stream ' : ''}${source.response}`
  const head = `rpc ${source.name} (${request}) returns (${response})`
  return source.options.length === 0 ? `${head};` : `${block(head, [source.options.map(optionStatement)])};`
}

function reservedStatement({ ranges, names }: Reserved, most: number): string {
  return `reserved ${names.length > 0 ? names.map(quote).join(', ') : rangeList(ranges, most)};`
}

function rangeList(ranges: Reserved['ranges'], most: number): string {
  const texts = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to === most ? 'max' : to}`))
  return texts.join(', ')
}

function optionStatement(option: Option): string {
  return `option ${optionText(option)};`
}

/** `[a = 1]`, or several lines for several options. */
function optionList(options: readonly Option[]): string {
  if (options.length === 0) return ''
  const texts = options.map(optionText)
  return texts.length === 1 ? ` [${texts[0]}]` : ` [\n${texts.map(indent).join(',\n')}\n]`
}

function optionText(option: Option): string {
  return `${nameOf(option)} = ${valueText(option.value)}`
}

export function nameOf({ name }: Option): string {
  return name.map(({ text, isExtension }) => (isExtension ? `(${text})` : text)).join('.')
}

function valueText(value: OptionValue): string {
  switch (value.kind) {
    case 'string':
      return quote(value.text)
    case 'list':
      return value.items.length === 0 ? '[]' : `[\n${value.items.map(valueText).map(indent).join(',\n')}\n]`
    case 'message': {
      const entries = value.entries.map(({ name, value: inner }) => indent(`${name}: ${valueText(inner)}`))
      return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n}`
    }
    default:
      return value.text
  }
}
