// Which logical types Java's Avro 1.12 knows, and when it ignores one as invalid (Avro 1.12 specification, "Logical
// Types"). Nothing but the normalized text depends on it: readers see the type below.

import { JsonNumber } from '../json-text.ts'
import type { AvroType } from './schema-model.ts'

const ON_TYPES: Readonly<Record<string, readonly AvroType['kind'][]>> = {
  'big-decimal': ['bytes'],
  date: ['int'],
  'time-millis': ['int'],
  'time-micros': ['long'],
  'timestamp-millis': ['long'],
  'timestamp-micros': ['long'],
  'timestamp-nanos': ['long'],
  'local-timestamp-millis': ['long'],
  'local-timestamp-micros': ['long'],
  'local-timestamp-nanos': ['long'],
}

export function isValidLogicalType(type: Exclude<AvroType, { kind: 'union' }>): boolean {
  const name = type.properties.get('logicalType')
  if (typeof name !== 'string') return false
  if (name === 'decimal') return isDecimal(type)
  if (name === 'uuid') return type.kind === 'string' || (type.kind === 'fixed' && type.size === 16)
  if (name === 'duration') return type.kind === 'fixed' && type.size === 12
  return Object.hasOwn(ON_TYPES, name) && ON_TYPES[name]!.includes(type.kind)
}

function isDecimal(type: Exclude<AvroType, { kind: 'union' }>): boolean {
  if (type.kind !== 'bytes' && type.kind !== 'fixed') return false
  const precision = integer(type.properties.get('precision'))
  const scale = type.properties.has('scale') ? integer(type.properties.get('scale')) : 0
  if (precision === null || scale === null || precision <= 0 || scale < 0 || scale > precision) return false
  return type.kind !== 'fixed' || precision <= Math.floor(Math.log10(2) * (8 * type.size - 1))
}

function integer(value: unknown): number | null {
  if (!(value instanceof JsonNumber) || !value.isInteger) return null
  const number = Number(value.text)
  return number === (number | 0) ? number : null
}
