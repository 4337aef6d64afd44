// A parsed Avro schema: types with the attributes that Java's Avro keeps. A named type that the text uses twice is one
// object; the compatibility check relies on it.

import type { Json } from '../json-text.ts'

export type PrimitiveKind = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string'

/** A name and its namespace, '' without one. `full` is both with a dot, or the name alone. */
export interface Name {
  readonly name: string
  readonly space: string
  readonly full: string
}

export type Properties = ReadonlyMap<string, Json>

export interface Primitive {
  readonly kind: PrimitiveKind
  readonly properties: Properties
}

export interface ArrayType {
  readonly kind: 'array'
  readonly items: AvroType
  readonly properties: Properties
}

export interface MapType {
  readonly kind: 'map'
  readonly values: AvroType
  readonly properties: Properties
}

export interface UnionType {
  readonly kind: 'union'
  readonly branches: readonly AvroType[]
}

interface Named {
  readonly name: Name
  /** null without one; '' is kept. */
  readonly doc: string | null
  readonly aliases: readonly Name[]
  readonly properties: Properties
}

export interface Field {
  readonly name: string
  readonly type: AvroType
  readonly doc: string | null
  /** undefined without one; null is a default. */
  readonly default: Json | undefined
  readonly order: 'ascending' | 'descending' | 'ignore'
  readonly aliases: readonly string[]
  readonly properties: Properties
}

export interface RecordType extends Named {
  readonly kind: 'record'
  readonly isError: boolean
  /** null only while the parser reads them. */
  readonly fields: readonly Field[] | null
  /** Whether its values take no bytes. It is known once the fields are. */
  readonly isEmpty: boolean
}

export interface EnumType extends Named {
  readonly kind: 'enum'
  readonly symbols: readonly string[]
  readonly default: string | null
}

export interface FixedType extends Named {
  readonly kind: 'fixed'
  readonly size: number
}

export type NamedType = RecordType | EnumType | FixedType
export type AvroType = Primitive | ArrayType | MapType | UnionType | NamedType

export interface AvroSchema {
  readonly root: AvroType
  /** The named types of the dependencies, by full name. */
  readonly dependencies: ReadonlyMap<string, NamedType>
}

const PRIMITIVES: ReadonlySet<string> = new Set([
  ...['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'],
])

export const isPrimitive = (kind: string): kind is PrimitiveKind => PRIMITIVES.has(kind)

export const isNamed = (type: AvroType): type is NamedType =>
  type.kind === 'record' || type.kind === 'enum' || type.kind === 'fixed'

/** The full name of a named type; the kind of any other. Branches of a union are told apart by it. */
export const nameOf = (type: AvroType): string => (isNamed(type) ? type.name.full : type.kind)

/** Whether every value of the type takes no bytes. A type takes either none, or at least one. */
export function isEmpty(type: AvroType): boolean {
  if (type.kind === 'record') return type.isEmpty
  return type.kind === 'null' || (type.kind === 'fixed' && type.size === 0)
}
