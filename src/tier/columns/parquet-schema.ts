// The Parquet form of the columns: the schema elements of a file, and the metrics and bounds of single values. Bounds
// have the form in which the Iceberg specification serializes single values, which is also that of Parquet statistics.

import type { SchemaElement } from 'hyparquet'
import type { FieldRepetitionType, ParquetType } from 'hyparquet/src/types.js'
import { type Column, type Leaf, type PrimitiveType, TABLE_COLUMNS } from './table-schema.ts'

const PHYSICAL: Readonly<Record<PrimitiveType, Omit<SchemaElement, 'name'> & { readonly type: ParquetType }>> = {
  int: { type: 'INT32' },
  long: { type: 'INT64' },
  timestamptz: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  binary: { type: 'BYTE_ARRAY' },
}

/** Returns the schema of a file in depth-first order. Lists have the three levels that the Parquet format asks for. */
export function parquetSchema(columns: readonly Column[] = TABLE_COLUMNS): SchemaElement[] {
  const root: SchemaElement = { name: 'table', num_children: columns.length }
  return [root, ...columns.flatMap(elementsOf)]
}

function elementsOf({ id, name, type, required }: Column): SchemaElement[] {
  const repetition_type: FieldRepetitionType = required ? 'REQUIRED' : 'OPTIONAL'
  if (typeof type === 'string') return [{ ...PHYSICAL[type], name, repetition_type, field_id: id }]
  const { element, elementId, elementRequired } = type
  return [
    { name, repetition_type, field_id: id, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    {
      name: 'element',
      repetition_type: elementRequired ? 'REQUIRED' : 'OPTIONAL',
      field_id: elementId,
      num_children: element.fields.length,
    },
    ...element.fields.flatMap(elementsOf),
  ]
}

/** Returns the physical type of a leaf. */
export function physicalType({ type }: Leaf): ParquetType {
  return PHYSICAL[type].type
}

/** Most bytes of a bound of a binary column. */
export const BOUND_BYTES = 16

/** Returns an int as 4 bytes, little-endian. */
export function intBound(value: number): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4))
  bytes.setInt32(0, value, true)
  return new Uint8Array(bytes.buffer)
}

/** Returns a long as 8 bytes, little-endian. The value is a safe integer. */
export function longBound(value: number): Uint8Array {
  return bigBound(BigInt(value))
}

/** Returns ms as microseconds in 8 bytes, little-endian. Microseconds may need more than 53 bits. */
export function timeBound(ms: number): Uint8Array {
  return bigBound(BigInt(ms) * 1000n)
}

function bigBound(value: bigint): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(8))
  bytes.setBigInt64(0, value, true)
  return new Uint8Array(bytes.buffer)
}

/** Returns a lower bound of at most BOUND_BYTES. */
export function lowerBytes(value: Uint8Array): Uint8Array {
  return Uint8Array.from(value.subarray(0, BOUND_BYTES))
}

/** Returns an upper bound of at most BOUND_BYTES; null if the value has none: its first bytes are all 0xff. */
export function upperBytes(value: Uint8Array): Uint8Array | null {
  const bytes = lowerBytes(value)
  if (value.length <= BOUND_BYTES) return bytes
  for (let at = BOUND_BYTES - 1; at >= 0; at--) {
    if (bytes[at] === 0xff) continue
    bytes[at]!++
    return bytes.subarray(0, at + 1)
  }
  return null
}
