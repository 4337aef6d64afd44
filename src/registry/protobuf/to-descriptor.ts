// A schema to its FileDescriptorProto, member for member as protoc writes it: type names begin with a dot, the
// message of a map is named `FooEntry`, optional fields of proto3 have oneofs of their own behind all others, and
// JSON names are written out. Clients ask for it with `format=serialized`.

import { jsonNameOf } from './compile.ts'
import * as json from './descriptor-json.ts'
import { descriptorsWith, fileDescriptorIn } from './descriptor-program.ts'
import { encode } from './encode.ts'
import { escapeBytes } from './literals.ts'
import type { Enum, Extend, Field, File, Message, Oneof, Option, ProtobufSchema, Service } from './model.ts'
import { entryOf, plainOption } from './model.ts'
import { decimal, optionsToJson } from './options-to-json.ts'
import type { ProtobufProgram } from './program.ts'

const MOST_BYTES = 16 * 1024 * 1024

/** The descriptor as bytes. `name` is the path under which others import the file. */
export function toDescriptor(schema: ProtobufSchema, name: string): Uint8Array {
  const program = descriptorsWith(schema.files)
  const file = new Writer(schema.file, program).file(name)
  const bytes = encode(program, fileDescriptorIn(program), JSON.stringify(file), MOST_BYTES, 'fields')
  if (bytes instanceof Uint8Array) return bytes
  throw new TypeError(`a descriptor that cannot be written: ${bytes.message}`)
}

class Writer {
  readonly #file: File
  readonly #program: ProtobufProgram

  constructor(file: File, program: ProtobufProgram) {
    this.#file = file
    this.#program = program
  }

  file(name: string): json.FileJson {
    const { syntax, imports, messages, enums, services, options } = this.#file
    const scope = this.#file.package
    const indexes = (kind: string) => imports.flatMap((imported, index) => (imported.kind === kind ? [index] : []))
    return {
      name,
      ...(scope === '' ? {} : { package: scope }),
      dependency: imports.map(({ path }) => path),
      publicDependency: indexes('public'),
      weakDependency: indexes('weak'),
      messageType: messages.map(message => this.#message(message)),
      enumType: enums.map(type => this.#enum(type, scope)),
      service: services.map(service => this.#service(service)),
      extension: this.#extensions(this.#file.extends, scope),
      ...this.#options(options, json.FILE_OPTIONS, scope),
      ...(syntax === 'proto3' ? { syntax } : {}),
    }
  }

  #options(options: readonly Option[], message: string, scope: string): { options?: json.OptionsJson } {
    const members = optionsToJson(options, message, scope, this.#program)
    return members === undefined ? {} : { options: members }
  }

  #message(message: Message): json.MessageJson {
    const { fullName, oneofs } = message
    const synthetic = message.role !== 'map-entry' ? message.fields.filter(field => this.#isSynthetic(field)) : []
    const names = syntheticNames(message, synthetic)
    const indexes = new Map<Field | Oneof, number>()
    for (const [index, part] of [...oneofs, ...synthetic].entries()) indexes.set(part, index)
    const oneofIndex = (field: Field): number => indexes.get(field.oneof ?? field) ?? -1
    const options = this.#options(message.options, json.MESSAGE_OPTIONS, fullName)
    return {
      name: message.name,
      field: message.fields.map(field => this.#field(field, oneofIndex(field), fullName, '')),
      extension: this.#extensions(message.extends, fullName),
      nestedType: message.messages.map(nested => this.#message(nested)),
      enumType: message.enums.map(type => this.#enum(type, fullName)),
      extensionRange: message.extensions.flatMap(({ ranges, options: ofRanges }) =>
        ranges.map(({ from, to }) => ({
          start: from,
          end: to + 1,
          ...this.#options(ofRanges, json.RANGE_OPTIONS, fullName),
        })),
      ),
      oneofDecl: [
        ...oneofs.map(oneof => ({ name: oneof.name, ...this.#options(oneof.options, json.ONEOF_OPTIONS, fullName) })),
        ...names.map(name => ({ name })),
      ],
      ...(message.role !== 'map-entry' ? options : { options: { ...options.options, mapEntry: true } }),
      ...reservedOf(message.reserved, 1),
    }
  }

  #isSynthetic(field: Field): boolean {
    return this.#file.syntax === 'proto3' && field.label === 'optional'
  }

  #field(field: Field, oneofIndex: number, scope: string, extendee: string): json.FieldJson {
    const { name, number, target } = field
    const isRepeated = entryOf(field) !== null || field.label === 'repeated'
    const text = defaultOf(field)
    return {
      name,
      ...(extendee === '' ? {} : { extendee }),
      number,
      label: isRepeated ? 'LABEL_REPEATED' : field.label === 'required' ? 'LABEL_REQUIRED' : 'LABEL_OPTIONAL',
      ...(target === null ? openType(field) : { type: typeOf(field), typeName: `.${target.fullName}` }),
      ...(text === undefined ? {} : { defaultValue: text }),
      ...this.#options(field.options, json.FIELD_OPTIONS, scope),
      ...(oneofIndex < 0 ? {} : { oneofIndex }),
      jsonName: jsonNameOf(field),
      ...(oneofIndex >= 0 && field.oneof === null ? { proto3Optional: true } : {}),
    }
  }

  #extensions(blocks: readonly Extend[], scope: string): json.FieldJson[] {
    return blocks.flatMap(({ extendee, target, fields }) =>
      fields.map(field => this.#field(field, -1, scope, target === null ? extendee : `.${target.fullName}`)),
    )
  }

  #enum(type: Enum, scope: string): json.EnumJson {
    return {
      name: type.name,
      value: type.values.map(({ name, number, options }) => ({
        name,
        number,
        ...this.#options(options, json.ENUM_VALUE_OPTIONS, scope),
      })),
      ...this.#options(type.options, json.ENUM_OPTIONS, scope),
      ...reservedOf(type.reserved, 0),
    }
  }

  #service({ name, fullName, methods, options }: Service): json.ServiceJson {
    return {
      name,
      method: methods.map(method => ({
        name: method.name,
        inputType: nameOf(method.request, method.requestTarget),
        outputType: nameOf(method.response, method.responseTarget),
        ...this.#options(method.options, json.METHOD_OPTIONS, fullName),
        ...(method.isRequestStream ? { clientStreaming: true } : {}),
        ...(method.isResponseStream ? { serverStreaming: true } : {}),
      })),
      ...this.#options(options, json.SERVICE_OPTIONS, fullName),
    }
  }
}

function nameOf(written: string, target: Message | null): string {
  return target === null ? written : `.${target.fullName}`
}

function openType(field: Field): json.FieldJson {
  const isScalarType = /^[a-z]+\d*$/.test(field.type) && field.form === 'plain'
  return isScalarType ? { type: typeOf(field) } : { typeName: field.type }
}

function typeOf({ form, target, type }: Field): string {
  if (form === 'group') return 'TYPE_GROUP'
  return `TYPE_${(target?.kind ?? type).toUpperCase()}`
}

/** `_name`, with as many "X" before it as the names of the message need. */
function syntheticNames(message: Message, fields: readonly Field[]): string[] {
  const taken = new Set([
    ...message.fields.map(({ name }) => name),
    ...message.oneofs.map(({ name }) => name),
    ...message.messages.map(({ name }) => name),
    ...message.enums.map(({ name }) => name),
  ])
  return fields.map(({ name }) => {
    let candidate = name.startsWith('_') ? `X${name}` : `_${name}`
    while (taken.has(candidate)) candidate = `X${candidate}`
    taken.add(candidate)
    return candidate
  })
}

function reservedOf(
  reserved: Message['reserved'],
  behind: number,
): Pick<json.MessageJson, 'reservedRange' | 'reservedName'> {
  return {
    reservedRange: reserved.flatMap(({ ranges }) => ranges.map(({ from, to }) => ({ start: from, end: to + behind }))),
    reservedName: reserved.flatMap(({ names }) => names),
  }
}

function defaultOf(field: Field): string | undefined {
  const value = plainOption(field.options, 'default')
  if (value === undefined || value.kind === 'list' || value.kind === 'message') return undefined
  if (value.kind === 'string') return field.type === 'bytes' ? escapeBytes(value.text) : value.text
  return value.kind === 'number' ? numberText(field.type, value.text) : value.text
}

/** protoc writes defaults of float and double as C's shortest text. */
function numberText(type: string, text: string): string {
  if (type !== 'double' && type !== 'float') return decimal(text)
  if (/inf|nan/i.test(text)) return text.toLowerCase().replace('infinity', 'inf').replace('-nan', 'nan')
  const value = Number(decimal(text))
  return type === 'float' ? shortest(Math.fround(value), 6, 9, Math.fround) : shortest(value, 15, 17, Number)
}

/** With `few` digits if they are the same value, else with `many`. */
function shortest(value: number, few: number, many: number, round: (value: number) => number): string {
  const digits = round(Number(value.toPrecision(few))) === value ? few : many
  return cText(value, digits)
}

/** C's "%.<digits>g": `1e+20` and not 100000000000000000000. */
function cText(value: number, digits: number): string {
  const [number = '', exponent = '0'] = value.toExponential(digits - 1).split('e')
  const power = Number(exponent)
  const short = number.includes('.') ? number.replace(/\.?0+$/, '') : number
  if (power >= -4 && power < digits)
    return value.toFixed(Math.max(digits - 1 - power, 0)).replace(/\.0*$|(\.\d*?)0+$/, '$1')
  return `${short}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
