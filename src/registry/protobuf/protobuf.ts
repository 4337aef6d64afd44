// Protobuf schemas: the format that the registry knows, and what only Protobuf has.

import type { Format, Printed, SchemaText, Strictness } from '../format.ts'
import { check } from './check.ts'
import { compare } from './compare.ts'
import { compileFiles, isIndexed } from './compile.ts'
import { load } from './load.ts'
import type { File, Message, ProtobufSchema } from './model.ts'
import { normalize } from './normalize.ts'
import { print } from './print.ts'
import type { ProtobufProgram } from './program.ts'
import { toDescriptor } from './to-descriptor.ts'

export type { ProtobufSchema } from './model.ts'
export type { ProtobufProgram } from './program.ts'

export const protobuf: Format<ProtobufSchema, ProtobufProgram> = {
  type: 'PROTOBUF',

  parse(source: SchemaText, strictness: Strictness): ProtobufSchema {
    const schema = load(source, strictness)
    if (strictness === 'new') check(schema)
    return schema
  },

  print(schema: ProtobufSchema): Printed {
    return { canonical: print(schema.file), normalized: print(normalize(schema)) }
  },

  /** Clients send a Protobuf schema with its references, never with their texts in it. */
  inlined({ file }: ProtobufSchema): string {
    return print(file)
  },

  recordNames(schema: ProtobufSchema): readonly string[] {
    return [...indexed(indexedFile(schema).messages)].map(({ fullName }) => fullName)
  },

  compare(reader: ProtobufSchema, writer: ProtobufSchema) {
    return compare(reader, writer)
  },

  compile(schema: ProtobufSchema): ProtobufProgram {
    return compileFiles([indexedFile(schema)], schema.files.values())
  },
}

/** The file whose messages have the indexes: of a schema that only hands another file on, that file. */
function indexedFile({ file, files }: ProtobufSchema): File {
  const declared = file.messages.length + file.enums.length + file.services.length + file.extends.length
  const [only, ...others] = file.imports
  if (declared > 0 || only?.kind !== 'public' || others.length > 0) return file
  return files.get(only.path) ?? file
}

function* indexed(messages: readonly Message[]): Generator<Message> {
  for (const message of messages.filter(isIndexed)) {
    yield message
    yield* indexed(message.messages)
  }
}

/**
 * The FileDescriptorProto as base64, for `format=serialized`. Confluent names the file of a schema "default"; a file
 * that others import has its path as name.
 */
export function serialized(schema: ProtobufSchema, name = 'default'): string {
  return Buffer.from(toDescriptor(schema, name)).toString('base64')
}
