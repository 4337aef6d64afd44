// The metadata of a new table: the schema, the partition spec and the sort order of columns/table-schema.ts in the form
// of Iceberg, and the properties that tell other engines how files are written.

import {
  type Column,
  type ListType,
  PARTITION_FIELDS,
  type PrimitiveType,
  SORT_FIELD,
  TABLE_COLUMNS,
} from '../columns/table-schema.ts'
import type { Properties, TableMetadata } from './metadata.ts'

/** Versions of the metadata that its log names. Their files are kept for longer (old-metadata.ts). */
export const LOGGED_VERSIONS = 100

const DAY_MS = 86_400_000

/**
 * Defaults of every table. Metadata is never compressed: its file would have another name, and the next writer would
 * not see that the version exists.
 */
const DEFAULT_PROPERTIES: Properties = {
  'write.format.default': 'parquet',
  'write.parquet.compression-codec': 'zstd',
  'write.metadata.compression-codec': 'none',
  'write.metadata.previous-versions-max': String(LOGGED_VERSIONS),
  'commit.manifest.min-count-to-merge': '100',
  'history.expire.max-snapshot-age-ms': String(DAY_MS),
  'history.expire.min-snapshots-to-keep': '10',
}

export interface NewTable {
  readonly uuid: string
  /** A URI. */
  readonly uri: string
  readonly nowMs: number
  /** Added to the defaults, or in their place. */
  readonly properties: Properties
}

export function newTableMetadata({ uuid, uri, nowMs, properties }: NewTable): TableMetadata {
  return {
    'format-version': 2,
    'table-uuid': uuid,
    location: uri,
    'last-sequence-number': 0,
    'last-updated-ms': nowMs,
    'last-column-id': Math.max(...TABLE_COLUMNS.flatMap(idsOf)),
    'current-schema-id': 0,
    schemas: [{ type: 'struct', 'schema-id': 0, fields: TABLE_COLUMNS.map(fieldOf) }],
    'default-spec-id': 0,
    'partition-specs': [
      {
        'spec-id': 0,
        fields: PARTITION_FIELDS.map(({ sourceId, fieldId, name, transform }) => ({
          'source-id': sourceId,
          'field-id': fieldId,
          name,
          transform,
        })),
      },
    ],
    'last-partition-id': Math.max(...PARTITION_FIELDS.map(({ fieldId }) => fieldId)),
    'default-sort-order-id': SORT_ORDER_ID,
    'sort-orders': [
      {
        'order-id': SORT_ORDER_ID,
        fields: [{ transform: 'identity', 'source-id': SORT_FIELD, direction: 'asc', 'null-order': 'nulls-first' }],
      },
    ],
    properties: { ...DEFAULT_PROPERTIES, ...properties },
    'current-snapshot-id': null,
    refs: {},
    snapshots: [],
    'snapshot-log': [],
    'metadata-log': [],
  }
}

/** Files of this writer say that they have this order. */
export const SORT_ORDER_ID = 1

function idsOf({ id, type }: Column): number[] {
  return typeof type === 'string' ? [id] : [id, type.elementId, ...type.element.fields.flatMap(idsOf)]
}

const fieldOf = ({ id, name, type, required, doc }: Column) => ({ id, name, required, type: typeOf(type), doc })

function typeOf(type: PrimitiveType | ListType): unknown {
  if (typeof type === 'string') return type
  return {
    type: 'list',
    'element-id': type.elementId,
    'element-required': type.elementRequired,
    element: { type: 'struct', fields: type.element.fields.map(fieldOf) },
  }
}
