// Writes the manifests of one attempt of a commit, and keeps the counts and bounds that the manifest list needs.

import { type Random, uuidText } from '../../base/random.ts'
import type { DataFileFacts } from '../columns/data-file.ts'
import { FIELD, PARTITION_FIELDS } from '../columns/table-schema.ts'
import type { ManifestFile, PartitionSummary } from './manifest-lists.ts'
import type { PartitionFieldType } from './manifest-schemas.ts'
import { CONTENT, type ManifestEntry, STATUS, writeManifest } from './manifests.ts'
import { BadMetadata, type PartitionSpec, type TableMetadata } from './metadata.ts'
import { SORT_ORDER_ID } from './new-table.ts'
import type { Table } from './table.ts'
import { manifestKey, uriOf } from './table-files.ts'

/** A data file that was written to the place of the table. */
export interface AddedFile extends DataFileFacts {
  /** Its key. */
  readonly key: string
}

/** Identity, time and chance of one attempt. */
export interface Stamp {
  readonly snapshotId: number
  readonly nowMs: number
  readonly random: Random
}

/** Returns the entry of a new file. Its sequence numbers are inherited, so that its manifest survives a rebase. */
export function addedEntry({ objects }: Table, file: AddedFile, snapshotId: number): ManifestEntry {
  return {
    status: STATUS.added,
    snapshotId,
    sequenceNumber: null,
    fileSequenceNumber: null,
    file: {
      content: CONTENT.data,
      path: uriOf(objects, file.key),
      format: 'PARQUET',
      partition: new Map([
        [PARTITION_FIELDS[0].fieldId, file.partition],
        [PARTITION_FIELDS[1].fieldId, file.ingestedDay],
      ]),
      recordCount: file.rows,
      size: file.size,
      columnSizes: file.columnSizes,
      valueCounts: file.valueCounts,
      nullValueCounts: file.nullValueCounts,
      nanValueCounts: null,
      lowerBounds: file.lowerBounds,
      upperBounds: file.upperBounds,
      keyMetadata: null,
      splitOffsets: file.splitOffsets,
      equalityIds: null,
      sortOrderId: SORT_ORDER_ID,
      referencedDataFile: null,
    },
  }
}

/** The partition fields of files that this room adds, as manifests have them. */
const OUR_FIELDS: readonly PartitionFieldType[] = [
  { id: PARTITION_FIELDS[0].fieldId, name: PARTITION_FIELDS[0].name, type: 'int' },
  { id: PARTITION_FIELDS[1].fieldId, name: PARTITION_FIELDS[1].name, type: { type: 'int', logicalType: 'date' } },
]

/** Returns the table's spec of that partition tuple. Another writer may have made a different one the default. */
function specOf(metadata: TableMetadata): PartitionSpec {
  const found = metadata['partition-specs'].find(
    ({ fields }) =>
      fields.length === PARTITION_FIELDS.length &&
      PARTITION_FIELDS.every(
        (field, i) =>
          fields[i]!['field-id'] === field.fieldId &&
          fields[i]!['source-id'] === field.sourceId &&
          fields[i]!.transform === field.transform,
      ),
  )
  if (found === undefined)
    throw new BadMetadata(
      `${metadata.location} has no partition spec of identity(partition) and day(ingested_at); files cannot be added`,
    )
  return found
}

/** Writes manifests onto one version of a table. */
export class ManifestWriter {
  readonly snapshotId: number
  /** The spec of added files. */
  readonly specId: number
  /** Keys of the written manifests. */
  readonly keys: string[] = []
  readonly #table: Table
  readonly #stamp: Stamp
  readonly #sequenceNumber: number
  readonly #uuid: string

  /** Throws BadMetadata if the table's schema or specs no longer have the columns that this room writes. */
  constructor(table: Table, stamp: Stamp, sequenceNumber: number) {
    this.#table = table
    this.#stamp = stamp
    this.#sequenceNumber = sequenceNumber
    this.#uuid = uuidText(stamp.random)
    this.snapshotId = stamp.snapshotId
    this.specId = specOf(table.metadata)['spec-id']
  }

  /** Resolves with the new manifest as the manifest list names it. By default it is one of added files' spec. */
  async write(
    entries: readonly ManifestEntry[],
    { specId, partitionFields } = { specId: this.specId, partitionFields: OUR_FIELDS },
  ): Promise<ManifestFile> {
    const { objects, location, metadata } = this.#table
    const schema = metadata.schemas.find(each => each['schema-id'] === metadata['current-schema-id'])
    const spec = metadata['partition-specs'].find(each => each['spec-id'] === specId)
    if (schema === undefined || !schema.fields.some(({ id }) => id === FIELD.offset))
      throw new BadMetadata(`the current schema of ${metadata.location} has no column with id ${FIELD.offset}`)
    if (spec === undefined) throw new BadMetadata(`${metadata.location} has no partition spec ${specId}`)
    const header = { schema, specId, specFields: spec.fields }
    const bytes = writeManifest({ partitionFields, entries }, header, this.#stamp.random.bytes(16))
    const key = manifestKey(location, this.#uuid, this.keys.length)
    await objects.write(key, bytes)
    this.keys.push(key)
    return {
      path: uriOf(objects, key),
      length: bytes.length,
      specId,
      content: 0,
      sequenceNumber: this.#sequenceNumber,
      minSequenceNumber: this.#smallest(entries),
      addedSnapshotId: this.snapshotId,
      ...countsOf(entries),
      partitions: summariesOf(entries, partitionFields),
      keyMetadata: null,
    }
  }

  #smallest(entries: readonly ManifestEntry[]): number {
    const live = entries.filter(({ status }) => status !== STATUS.deleted)
    return live.reduce(
      (smallest, { sequenceNumber }) => Math.min(smallest, sequenceNumber ?? this.#sequenceNumber),
      this.#sequenceNumber,
    )
  }
}

function countsOf(entries: readonly ManifestEntry[]) {
  const files = [0, 0, 0]
  const rows = [0, 0, 0]
  for (const { status, file } of entries) {
    files[status]! += 1
    rows[status]! += file.recordCount
  }
  return {
    addedFiles: files[STATUS.added]!,
    existingFiles: files[STATUS.existing]!,
    deletedFiles: files[STATUS.deleted]!,
    addedRows: rows[STATUS.added]!,
    existingRows: rows[STATUS.existing]!,
    deletedRows: rows[STATUS.deleted]!,
  }
}

/** Returns the bounds of the tuples; null if a field is no int, as it may be in a spec of another writer. */
function summariesOf(
  entries: readonly ManifestEntry[],
  fields: readonly PartitionFieldType[],
): readonly PartitionSummary[] | null {
  const summaries: PartitionSummary[] = []
  for (const { id, type } of fields) {
    if ((typeof type === 'string' ? type : (type as { type: unknown }).type) !== 'int') return null
    const values = entries.map(({ file }) => file.partition.get(id) ?? null)
    const numbers = values.filter(value => typeof value === 'number')
    summaries.push({
      containsNull: numbers.length < values.length,
      containsNan: false,
      lowerBound: numbers.length === 0 ? null : intBound(numbers.reduce((a, b) => Math.min(a, b))),
      upperBound: numbers.length === 0 ? null : intBound(numbers.reduce((a, b) => Math.max(a, b))),
    })
  }
  return summaries
}

function intBound(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}
