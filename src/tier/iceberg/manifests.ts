// Manifests: Avro files that list data files (or delete files) of a table with their state, partition tuple and column
// metrics (Iceberg specification, "Manifests"). This code writes manifests of data files, and reads those of others.

import { type AvroSchema, BadAvro, fieldsById, notNull, parsingAvro, readAvro, writeAvro } from './avro.ts'
import { FieldReader } from './field-reader.ts'
import { type Int64, writeJson } from './lossless-json.ts'
import { manifestSchema, type PartitionFieldType } from './manifest-schemas.ts'

export const STATUS = Object.freeze({ existing: 0, added: 1, deleted: 2 })
export const CONTENT = Object.freeze({ data: 0, positionDeletes: 1, equalityDeletes: 2 })

export interface DataFile {
  /** A value of CONTENT. */
  readonly content: number
  /** A URI. */
  readonly path: string
  readonly format: string
  /** The partition tuple by the ids of the partition fields; a value is as avsc decodes it. */
  readonly partition: ReadonlyMap<number, unknown>
  readonly recordCount: number
  /** In bytes. */
  readonly size: number
  /**
   * Metrics by field id; null if the writer kept none. Bounds are single values as the specification serializes them.
   */
  readonly columnSizes: ReadonlyMap<number, Int64> | null
  readonly valueCounts: ReadonlyMap<number, Int64> | null
  readonly nullValueCounts: ReadonlyMap<number, Int64> | null
  readonly nanValueCounts: ReadonlyMap<number, Int64> | null
  readonly lowerBounds: ReadonlyMap<number, Uint8Array> | null
  readonly upperBounds: ReadonlyMap<number, Uint8Array> | null
  readonly keyMetadata: Uint8Array | null
  readonly splitOffsets: readonly Int64[] | null
  readonly equalityIds: readonly number[] | null
  readonly sortOrderId: number | null
  readonly referencedDataFile: string | null
}

export interface ManifestEntry {
  /** A value of STATUS. */
  readonly status: number
  /** The snapshot that added the file, or deleted it. Null: inherited from the manifest list. */
  readonly snapshotId: Int64 | null
  /** Null: inherited from the manifest list. An added file's manifest can then survive a rebase as it is. */
  readonly sequenceNumber: number | null
  readonly fileSequenceNumber: number | null
  readonly file: DataFile
}

export interface Manifest {
  readonly partitionFields: readonly PartitionFieldType[]
  readonly entries: readonly ManifestEntry[]
}

/** The part of a table that a manifest repeats in its header. */
export interface ManifestHeader {
  /** The current schema and the fields of the partition spec, as in the metadata. */
  readonly schema: { readonly 'schema-id'?: unknown }
  readonly specId: number
  readonly specFields: readonly unknown[]
}

/** Returns a manifest of data files. `sync` is 16 random bytes. */
export function writeManifest({ partitionFields, entries }: Manifest, header: ManifestHeader, sync: Buffer): Buffer {
  const { schema, specId, specFields } = header
  const named = {
    schema: writeJson(schema),
    'schema-id': String(schema['schema-id'] ?? 0),
    'partition-spec': writeJson(specFields),
    'partition-spec-id': String(specId),
    'format-version': '2',
    content: 'data',
  }
  const records = entries.map(entry => asRecord(entry, partitionFields))
  return writeAvro(manifestSchema(partitionFields), named, records, sync)
}

const asPairs = <T>(map: ReadonlyMap<number, T> | null) =>
  map === null ? null : Array.from(map, ([key, value]) => ({ key, value }))
const asBytePairs = (map: ReadonlyMap<number, Uint8Array> | null) =>
  map === null ? null : Array.from(map, ([key, value]) => ({ key, value: Buffer.from(value) }))

function asRecord({ file, ...entry }: ManifestEntry, partitionFields: readonly PartitionFieldType[]) {
  return {
    status: entry.status,
    snapshot_id: entry.snapshotId,
    sequence_number: entry.sequenceNumber,
    file_sequence_number: entry.fileSequenceNumber,
    data_file: {
      content: file.content,
      file_path: file.path,
      file_format: file.format,
      partition: Object.fromEntries(partitionFields.map(({ id, name }) => [name, file.partition.get(id) ?? null])),
      record_count: file.recordCount,
      file_size_in_bytes: file.size,
      column_sizes: asPairs(file.columnSizes),
      value_counts: asPairs(file.valueCounts),
      null_value_counts: asPairs(file.nullValueCounts),
      nan_value_counts: asPairs(file.nanValueCounts),
      lower_bounds: asBytePairs(file.lowerBounds),
      upper_bounds: asBytePairs(file.upperBounds),
      key_metadata: file.keyMetadata === null ? null : Buffer.from(file.keyMetadata),
      split_offsets: file.splitOffsets,
      equality_ids: file.equalityIds,
      sort_order_id: file.sortOrderId,
      referenced_data_file: file.referencedDataFile,
    },
  }
}

/** Reads a manifest of any writer; `name` names it in errors. Entries are not yet completed from the manifest list. */
export async function readManifest(bytes: Uint8Array, name: string): Promise<Manifest> {
  const { schema, records } = await readAvro(bytes, name)
  return parsingAvro(name, () => {
    const entries = new FieldReader(schema, name)
    const fileSchema = entries.schemaOf(2)
    if (fileSchema === null) throw new BadAvro(`${name} is no manifest: no field has the id 2`)
    const files = new FieldReader(fileSchema, name)
    const partitionSchema = files.schemaOf(102)
    const partitionFields = partitionSchema === null ? [] : partitionFieldsOf(partitionSchema)
    return {
      partitionFields,
      entries: records.map(record => ({
        status: entries.number(record, 0),
        snapshotId: entries.optionalInt64(record, 1),
        sequenceNumber: entries.optionalNumber(record, 3),
        fileSequenceNumber: entries.optionalNumber(record, 4),
        file: readDataFile(entries.value(record, 2), files, partitionFields),
      })),
    }
  })
}

function partitionFieldsOf(schema: AvroSchema): readonly PartitionFieldType[] {
  return Array.from(fieldsById(schema), ([id, field]) => ({ id, name: field.name, type: notNull(field.schema) }))
}

function readDataFile(record: unknown, files: FieldReader, partitionFields: readonly PartitionFieldType[]): DataFile {
  const tuple = files.value(record, 102) as Readonly<Record<string, unknown>> | null
  return {
    content: files.optionalNumber(record, 134) ?? CONTENT.data,
    path: files.string(record, 100),
    format: files.string(record, 101),
    partition: new Map(partitionFields.map(({ id, name }) => [id, tuple?.[name] ?? null])),
    recordCount: files.number(record, 103),
    size: files.number(record, 104),
    columnSizes: files.optionalCounts(record, 108, 117, 118),
    valueCounts: files.optionalCounts(record, 109, 119, 120),
    nullValueCounts: files.optionalCounts(record, 110, 121, 122),
    nanValueCounts: files.optionalCounts(record, 137, 138, 139),
    lowerBounds: files.optionalBounds(record, 125, 126, 127),
    upperBounds: files.optionalBounds(record, 128, 129, 130),
    keyMetadata: files.optionalBytes(record, 131),
    splitOffsets: files.optionalInt64s(record, 132),
    equalityIds: files.optionalNumbers(record, 135),
    sortOrderId: files.optionalNumber(record, 140),
    referencedDataFile: files.optionalString(record, 143),
  }
}
