// The formats of schemas as people read them.

import type { SCHEMA_TYPES } from '../../src/api/words.ts'

export type SchemaType = (typeof SCHEMA_TYPES)[number]

export const TYPE_NAMES: Readonly<Record<SchemaType, string>> = {
  AVRO: 'Avro',
  JSON: 'JSON Schema',
  PROTOBUF: 'Protobuf',
}
