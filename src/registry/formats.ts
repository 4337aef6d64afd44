// The table of formats. Each is a folder beside this file.

import { assert } from '../base/assert.ts'
import type { Format, SchemaType } from './format.ts'

/** A format of which only the format itself knows what its schemas and programs hold. */
export interface AnyFormat extends Format<unknown, unknown> {
  /** Protobuf alone: the FileDescriptorProto of the schema in base64, as clients ask for it. */
  serialized?(schema: unknown): string
}

export type Formats = Readonly<Partial<Record<SchemaType, AnyFormat>>>

const formats: Formats = Object.freeze({})

export const SCHEMA_TYPES: readonly SchemaType[] = Object.freeze(['AVRO', 'JSON', 'PROTOBUF'])

export function formatOf(type: SchemaType): AnyFormat {
  const format = formats[type]
  assert(format !== undefined, `there is no format ${type}`)
  return format
}
