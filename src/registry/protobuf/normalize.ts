// The normalized file: fields, values of enums, oneofs and ranges in the order of their numbers, imports
// in alphabetical order, names of types written out. Messages, enums and services keep their order, because message
// indexes depend on it.

import type { Enum, Extend, Field, File, Message, Method, Oneof, ProtobufSchema, Range, Reserved } from './model.ts'
import { entryOf } from './model.ts'
import { OptionNormalizer } from './normalize-options.ts'

export function normalize(schema: ProtobufSchema): File {
  return new Normalizer(new OptionNormalizer(schema)).file(schema.file)
}

class Normalizer {
  readonly #options: OptionNormalizer

  constructor(options: OptionNormalizer) {
    this.#options = options
  }

  file(file: File): File {
    const scope = file.package
    return {
      ...file,
      isSyntaxWritten: file.syntax === 'proto3',
      imports: distinct(file.imports),
      options: this.#options.list(file.options, scope),
      messages: file.messages.map(message => this.#message(message)),
      enums: file.enums.map(type => this.#enum(type, scope)),
      extends: this.#extends(file.extends, scope),
      services: file.services.map(service => ({
        ...service,
        options: this.#options.list(service.options, service.fullName),
        methods: service.methods.map(method => this.#method(method, service.fullName)),
      })),
    }
  }

  #message(type: Message): Message {
    const scope = type.fullName
    const renewed = this.#oneofs(type)
    return {
      ...type,
      fields: this.#fields(type.fields, renewed, scope),
      oneofs: [...renewed.values()],
      messages: type.messages.map(message => this.#message(message)),
      enums: type.enums.map(inner => this.#enum(inner, scope)),
      extends: this.#extends(type.extends, scope),
      reserved: reserved(type.reserved),
      extensions: type.extensions
        .flatMap(({ ranges, options }) =>
          ranges.map(range => ({ ranges: [range], options: this.#options.list(options, scope) })),
        )
        .sort((one, other) => begin(one.ranges) - begin(other.ranges)),
      options: this.#options.list(type.options, scope),
    }
  }

  /** In the order of their smallest members. An empty oneof, which stored schemas may have, goes. */
  #oneofs(type: Message): Map<Oneof, Oneof> {
    const first = new Map<Oneof, number>()
    for (const { oneof, number } of type.fields) {
      if (oneof !== null) first.set(oneof, Math.min(first.get(oneof) ?? number, number))
    }
    const oneofs = [...first].sort(([, one], [, other]) => one - other).map(([oneof]) => oneof)
    const renew = (oneof: Oneof): Oneof => ({ ...oneof, options: this.#options.list(oneof.options, type.fullName) })
    return new Map(oneofs.map(oneof => [oneof, renew(oneof)]))
  }

  #fields(source: readonly Field[], oneofs: ReadonlyMap<Oneof, Oneof>, scope: string): Field[] {
    const renewed = source.map(field => ({
      ...field,
      type: typeName(field.type, field.target),
      target: this.#target(field),
      oneof: field.oneof === null ? null : (oneofs.get(field.oneof) ?? null),
      options: this.#options.list(field.options, scope),
    }))
    return renewed.sort((one, other) => one.number - other.number)
  }

  /** Maps and groups are printed from their messages. */
  #target(field: Field): Field['target'] {
    if (field.target?.kind !== 'message' || (entryOf(field) === null && field.form !== 'group')) return field.target
    return this.#message(field.target)
  }

  #enum(type: Enum, scope: string): Enum {
    const all = type.values.map(value => ({ ...value, options: this.#options.list(value.options, scope) }))
    // The first value is the default, and in proto3 it must be 0: a negative one must not come before it.
    const [first, ...values] = all
    values.sort((one, other) => one.number - other.number || order(one.name, other.name))
    if (first !== undefined) values.unshift(first)
    return { ...type, values, reserved: reserved(type.reserved), options: this.#options.list(type.options, scope) }
  }

  /** One block for each extended message. */
  #extends(blocks: readonly Extend[], scope: string): Extend[] {
    const byName = new Map<string, Extend>()
    for (const { extendee, target, fields } of blocks) {
      const name = typeName(extendee, target)
      byName.set(name, { extendee: name, target, fields: [...(byName.get(name)?.fields ?? []), ...fields] })
    }
    return [...byName.values()].map(block => ({ ...block, fields: this.#fields(block.fields, new Map(), scope) }))
  }

  #method(source: Method, scope: string): Method {
    return {
      ...source,
      request: typeName(source.request, source.requestTarget),
      response: typeName(source.response, source.responseTarget),
      options: this.#options.list(source.options, scope),
    }
  }
}

function distinct(imports: File['imports']): File['imports'] {
  const byPath = new Map(imports.map(imported => [`${imported.kind} ${imported.path}`, imported]))
  return [...byPath.values()].sort((one, other) => order(one.path, other.path))
}

function typeName(written: string, type: Field['target']): string {
  return type === null ? written : `.${type.fullName}`
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

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
