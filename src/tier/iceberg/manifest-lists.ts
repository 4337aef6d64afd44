// Manifest lists: one Avro file for each snapshot that names its manifests, with counts and the bounds of their
// partition tuples (Iceberg specification, "Manifest Lists"). Reading a manifest through its list completes the entries
// that inherit from it.

import type { Objects } from '../objects/objects.ts'
import { BadAvro, parsingAvro, readAvro, writeAvro } from './avro.ts'
import { FieldReader } from './field-reader.ts'
import type { Int64 } from './lossless-json.ts'
import { MANIFEST_LIST_SCHEMA } from './manifest-schemas.ts'
import { type Manifest, readManifest, STATUS } from './manifests.ts'
import { keyOf } from './table-files.ts'

export interface ManifestFile {
  /** A URI. */
  readonly path: string
  /** In bytes. */
  readonly length: number
  readonly specId: number
  /** 0: data files; 1: delete files. */
  readonly content: number
  readonly sequenceNumber: number
  readonly minSequenceNumber: number
  readonly addedSnapshotId: Int64
  readonly addedFiles: number
  readonly existingFiles: number
  readonly deletedFiles: number
  readonly addedRows: number
  readonly existingRows: number
  readonly deletedRows: number
  /** Of the partition fields of its spec, in their order. */
  readonly partitions: readonly PartitionSummary[] | null
  readonly keyMetadata: Uint8Array | null
}

export interface PartitionSummary {
  readonly containsNull: boolean
  readonly containsNan: boolean | null
  readonly lowerBound: Uint8Array | null
  readonly upperBound: Uint8Array | null
}

/** The number of files that the manifest has in its snapshot. */
export const liveFiles = ({ addedFiles, existingFiles }: ManifestFile) => addedFiles + existingFiles
export const liveRows = ({ addedRows, existingRows }: ManifestFile) => addedRows + existingRows

export interface ManifestListHeader {
  readonly snapshotId: Int64
  readonly parentSnapshotId: Int64 | null
  readonly sequenceNumber: number
}

export function writeManifestList(
  manifests: readonly ManifestFile[],
  { snapshotId, parentSnapshotId, sequenceNumber }: ManifestListHeader,
  sync: Buffer,
): Buffer {
  const header = {
    'snapshot-id': String(snapshotId),
    'parent-snapshot-id': String(parentSnapshotId),
    'sequence-number': String(sequenceNumber),
    'format-version': '2',
  }
  const bytes = (value: Uint8Array | null) => (value === null ? null : Buffer.from(value))
  const records = manifests.map(each => ({
    manifest_path: each.path,
    manifest_length: each.length,
    partition_spec_id: each.specId,
    content: each.content,
    sequence_number: each.sequenceNumber,
    min_sequence_number: each.minSequenceNumber,
    added_snapshot_id: each.addedSnapshotId,
    added_files_count: each.addedFiles,
    existing_files_count: each.existingFiles,
    deleted_files_count: each.deletedFiles,
    added_rows_count: each.addedRows,
    existing_rows_count: each.existingRows,
    deleted_rows_count: each.deletedRows,
    partitions:
      each.partitions?.map(({ containsNull, containsNan, lowerBound, upperBound }) => ({
        contains_null: containsNull,
        contains_nan: containsNan,
        lower_bound: bytes(lowerBound),
        upper_bound: bytes(upperBound),
      })) ?? null,
    key_metadata: bytes(each.keyMetadata),
  }))
  return writeAvro(MANIFEST_LIST_SCHEMA, header, records, sync)
}

/** Reads a manifest list of any writer; `name` names it in errors. Rejects with BadAvro. */
export async function readManifestList(bytes: Uint8Array, name: string): Promise<readonly ManifestFile[]> {
  const { schema, records } = await readAvro(bytes, name)
  return parsingAvro(name, () => {
    const fields = new FieldReader(schema, name)
    const hasSummaries = fields.schemaOf(507) !== null
    return records.map(record => ({
      path: fields.string(record, 500),
      length: fields.number(record, 501),
      specId: fields.number(record, 502),
      content: fields.optionalNumber(record, 517) ?? 0,
      sequenceNumber: fields.optionalNumber(record, 515) ?? 0,
      minSequenceNumber: fields.optionalNumber(record, 516) ?? 0,
      addedSnapshotId: fields.int64(record, 503),
      addedFiles: fields.number(record, 504),
      existingFiles: fields.number(record, 505),
      deletedFiles: fields.number(record, 506),
      addedRows: fields.number(record, 512),
      existingRows: fields.number(record, 513),
      deletedRows: fields.number(record, 514),
      partitions: hasSummaries ? readSummaries(fields, record) : null,
      keyMetadata: fields.optionalBytes(record, 519),
    }))
  })
}

function readSummaries(fields: FieldReader, record: unknown): readonly PartitionSummary[] | null {
  const summaries = fields.optionalArray(record, 507)
  if (summaries === null) return null
  const each = fields.itemsOf(507)
  return summaries.map(summary => ({
    containsNull: each.value(summary, 509) === true,
    containsNan: each.value(summary, 518) as boolean | null,
    lowerBound: each.optionalBytes(summary, 510),
    upperBound: each.optionalBytes(summary, 511),
  }))
}

/** Thrown if metadata names a file that does not exist, or that is not in the place of the table. */
export class MissingFile extends Error {
  override readonly name = 'MissingFile'
  readonly path: string

  constructor(path: string, why: string) {
    super(`${path} ${why}`)
    this.path = path
  }
}

async function readNamed(objects: Objects, path: string): Promise<Uint8Array> {
  const key = keyOf(objects, path)
  if (key === null) throw new MissingFile(path, `is not in ${objects.uri}; expected all files of the table there`)
  const bytes = await objects.read(key)
  if (bytes === null) throw new MissingFile(path, 'does not exist, although the metadata of the table names it')
  return bytes
}

/** Reads the manifest list that a snapshot names. Rejects with MissingFile, BadAvro or an ObjectStoreError. */
export async function loadManifestList(objects: Objects, path: string): Promise<readonly ManifestFile[]> {
  return readManifestList(await readNamed(objects, path), path)
}

/** Reads a manifest. Its entries have what they inherit from the manifest list. Rejects as loadManifestList. */
export async function loadManifest(objects: Objects, manifest: ManifestFile): Promise<Manifest> {
  const { partitionFields, entries } = await readManifest(await readNamed(objects, manifest.path), manifest.path)
  const { sequenceNumber, addedSnapshotId } = manifest
  return {
    partitionFields,
    entries: entries.map(entry => {
      const inherited = entry.status === STATUS.added || sequenceNumber === 0 ? sequenceNumber : null
      const complete = {
        ...entry,
        snapshotId: entry.snapshotId ?? addedSnapshotId,
        sequenceNumber: entry.sequenceNumber ?? inherited,
        fileSequenceNumber: entry.fileSequenceNumber ?? inherited,
      }
      if (complete.sequenceNumber === null && entry.status !== STATUS.deleted)
        throw new BadAvro(`${manifest.path}: ${entry.file.path} has no sequence number, and is not new in it`)
      return complete
    }),
  }
}
