// The table of formats. Each is a folder beside this file. Only threads load it: a format is large.

import { avro } from './avro/avro.ts'
import type { Format, SchemaType } from './format.ts'
import { jsonSchema } from './json/json-schema.ts'
import { protobuf, serialized } from './protobuf/protobuf.ts'

/** A format of which only the format itself knows what its schemas and programs hold. */
export interface AnyFormat extends Format<unknown, unknown> {
  /** Protobuf alone: the FileDescriptorProto of the schema in base64, as clients ask for it. */
  serialized?(schema: unknown): string
}

const formats: Readonly<Record<SchemaType, unknown>> = Object.freeze({
  AVRO: avro,
  JSON: jsonSchema,
  PROTOBUF: { ...protobuf, serialized },
})

export function formatOf(type: SchemaType): AnyFormat {
  return formats[type] as AnyFormat
}
