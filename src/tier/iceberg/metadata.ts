// Table metadata of Iceberg format version 2 as JSON values (Iceberg specification, "Table Metadata"). The types name
// the members that this room reads or changes. All other members, of the table, of snapshots and of refs, stay as they
// are. This file does not know how metadata is stored.

import { gunzipSync } from 'node:zlib'
import { cut } from '../../base/cut.ts'
import { type Int64, type JsonObject, parseJson, writeJson } from './lossless-json.ts'

export type Properties = Readonly<Record<string, string>>

export interface Snapshot extends JsonObject {
  readonly 'snapshot-id': Int64
  readonly 'parent-snapshot-id'?: Int64 | null
  readonly 'sequence-number': number
  readonly 'timestamp-ms': number
  /** A URI. */
  readonly 'manifest-list': string
  readonly summary: Properties
}

export interface Ref extends JsonObject {
  readonly 'snapshot-id': Int64
  readonly type: string
  readonly 'max-ref-age-ms'?: number
  readonly 'max-snapshot-age-ms'?: number
  readonly 'min-snapshots-to-keep'?: number
}

export interface PartitionSpec extends JsonObject {
  readonly 'spec-id': number
  readonly fields: readonly PartitionField[]
}

export interface PartitionField extends JsonObject {
  readonly 'source-id': number
  readonly 'field-id': number
  readonly name: string
  readonly transform: string
}

export interface TableSchema extends JsonObject {
  readonly 'schema-id': number
  readonly fields: readonly (JsonObject & { readonly id: number })[]
}

export interface TableMetadata extends JsonObject {
  readonly 'format-version': 2
  readonly 'table-uuid': string
  /** The URI of the table. */
  readonly location: string
  readonly 'last-sequence-number': number
  readonly 'last-updated-ms': number
  readonly 'current-schema-id': number
  readonly schemas: readonly TableSchema[]
  readonly 'default-spec-id': number
  readonly 'partition-specs': readonly PartitionSpec[]
  readonly properties: Properties
  /** Null, absent and -1: the table has no snapshot. */
  readonly 'current-snapshot-id'?: Int64 | null
  readonly snapshots: readonly Snapshot[]
  readonly 'snapshot-log': readonly (JsonObject & { readonly 'snapshot-id': Int64; readonly 'timestamp-ms': number })[]
  readonly 'metadata-log': readonly (JsonObject & { readonly 'metadata-file': string })[]
  readonly refs: Readonly<Record<string, Ref>>
}

/** Thrown for metadata that this code cannot continue: damaged, or of a format version that it does not write. */
export class BadMetadata extends Error {
  override readonly name = 'BadMetadata'
}

export function metadataBytes(metadata: TableMetadata): Buffer {
  return Buffer.from(writeJson(metadata))
}

type Check = (value: unknown) => boolean

const isObject: Check = value => typeof value === 'object' && value !== null && !Array.isArray(value)
const isText: Check = value => typeof value === 'string'
const isCount: Check = value => Number.isSafeInteger(value)
const isId: Check = value => typeof value === 'bigint' || Number.isSafeInteger(value)
const areObjects: Check = value => Array.isArray(value) && value.every(isObject)

/** The members that must be there, and the form that each one must have. */
const MEMBERS: readonly (readonly [name: string, form: string, check: Check])[] = [
  ['table-uuid', 'a string', isText],
  ['location', 'a string', isText],
  ['last-sequence-number', 'an integer', isCount],
  ['last-updated-ms', 'an integer', isCount],
  ['current-schema-id', 'an integer', isCount],
  ['schemas', 'an array of objects', areObjects],
  ['default-spec-id', 'an integer', isCount],
  ['partition-specs', 'an array of objects', areObjects],
]

const SNAPSHOT_MEMBERS: readonly (readonly [name: string, form: string, check: Check])[] = [
  ['snapshot-id', 'an integer', isId],
  ['sequence-number', 'an integer', isCount],
  ['timestamp-ms', 'an integer', isCount],
  ['manifest-list', 'a string', isText],
]

const GZIP = Buffer.from([0x1f, 0x8b])
/**
 * Metadata of ten thousand commits has some 5 MB. Parsing stops everything else, and a few bytes of gzip can hold
 * gigabytes.
 */
const MOST_BYTES = 32 * 1024 ** 2

/** Parses the bytes of a metadata file; `name` names it in errors. Throws BadMetadata. */
export function parseMetadata(bytes: Uint8Array, name: string): TableMetadata {
  try {
    return check(parse(bytes, name), name)
  } catch (error) {
    if (error instanceof BadMetadata) throw error
    // Values that are nested deeply are too much for the stack.
    throw new BadMetadata(`${name} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

function check(parsed: unknown, name: string): TableMetadata {
  const fail = (why: string) => new BadMetadata(`${name} cannot be used: ${why}`)
  if (!isObject(parsed)) throw fail('it is no JSON object')
  const metadata = parsed as JsonObject
  const version = metadata['format-version']
  if (version !== 2)
    throw fail(`its format-version is ${cut(writeJson(version ?? null))}; expected 2. No other version can be written`)
  const checkMembers = (value: JsonObject, members: typeof MEMBERS, where: string) => {
    for (const [member, form, isRight] of members)
      if (!isRight(value[member])) throw fail(`${where}${member} must be ${form}`)
  }
  checkMembers(metadata, MEMBERS, '')
  // These may be absent or null in metadata of other writers.
  const snapshots = metadata.snapshots ?? []
  const refs = metadata.refs ?? {}
  const properties = metadata.properties ?? {}
  const logs = { 'snapshot-log': metadata['snapshot-log'] ?? [], 'metadata-log': metadata['metadata-log'] ?? [] }
  if (!areObjects(snapshots)) throw fail('snapshots must be an array of objects')
  for (const snapshot of snapshots as JsonObject[]) checkMembers(snapshot, SNAPSHOT_MEMBERS, 'a snapshot: ')
  for (const [member, log] of Object.entries(logs))
    if (!areObjects(log)) throw fail(`${member} must be an array of objects`)
  if (!isObject(properties) || !Object.values(properties as object).every(isText))
    throw fail('properties must be an object of strings')
  if (!isObject(refs) || !Object.values(refs as object).every(ref => isObject(ref) && isId(ref['snapshot-id'])))
    throw fail('refs must be an object of refs, each with a snapshot-id')
  return { ...metadata, ...logs, snapshots, refs, properties } as unknown as TableMetadata
}

function parse(bytes: Uint8Array, name: string): unknown {
  try {
    const isPacked = GZIP.equals(bytes.subarray(0, GZIP.length))
    const plain = isPacked ? gunzipSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes
    if (plain.length > MOST_BYTES) throw new Error(`it has ${plain.length} bytes, more than ${MOST_BYTES}`)
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(plain))
  } catch (error) {
    throw new BadMetadata(`${name} cannot be read as JSON: ${(error as Error).message}`, { cause: error })
  }
}

/** Returns the snapshot that readers see; null for a table without one. Throws BadMetadata if it is not listed. */
export function currentSnapshot(metadata: TableMetadata): Snapshot | null {
  const id = metadata['current-snapshot-id'] ?? null
  if (id === null || id === -1) return null
  const found = metadata.snapshots.find(snapshot => snapshot['snapshot-id'] === id)
  if (found === undefined)
    throw new BadMetadata(`the table ${metadata.location} has no snapshot ${id}, although it is the current one`)
  return found
}

/** Returns the metadata with the properties changed: a null takes one away. */
export function withProperties(
  metadata: TableMetadata,
  changes: Readonly<Record<string, string | null>>,
): TableMetadata {
  const properties: Record<string, string> = { ...metadata.properties }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete properties[name]
    else properties[name] = value
  }
  return { ...metadata, properties }
}
