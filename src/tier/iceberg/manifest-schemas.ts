// The Avro schemas of manifests and manifest lists of format version 2, with the field ids of the Iceberg specification
// ("Manifests", "Manifest Lists"). Names are those of the specification too, because some readers go by name.

import type { AvroSchema } from './avro.ts'

const required = (id: number, name: string, type: AvroSchema) => ({ name, type, 'field-id': id })
const optional = (id: number, name: string, type: AvroSchema) => ({
  name,
  type: ['null', type],
  default: null,
  'field-id': id,
})

/** A map from an int, which Avro's maps cannot be: an array of pairs. */
const intMap = (keyId: number, valueId: number, valueType: string): AvroSchema => ({
  type: 'array',
  logicalType: 'map',
  items: {
    type: 'record',
    name: `k${keyId}_v${valueId}`,
    fields: [required(keyId, 'key', 'int'), required(valueId, 'value', valueType)],
  },
})

const arrayOf = (elementId: number, items: AvroSchema): AvroSchema => ({
  type: 'array',
  items,
  'element-id': elementId,
})

/** A field of the partition tuple in a manifest. */
export interface PartitionFieldType {
  readonly id: number
  readonly name: string
  /** The Avro type of its values, which may also be null. */
  readonly type: AvroSchema
}

/** The schema of manifests whose files have this partition tuple. */
export function manifestSchema(partitionFields: readonly PartitionFieldType[]): AvroSchema {
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      required(0, 'status', 'int'),
      optional(1, 'snapshot_id', 'long'),
      optional(3, 'sequence_number', 'long'),
      optional(4, 'file_sequence_number', 'long'),
      required(2, 'data_file', {
        type: 'record',
        name: 'r2',
        fields: [
          required(134, 'content', 'int'),
          required(100, 'file_path', 'string'),
          required(101, 'file_format', 'string'),
          required(102, 'partition', {
            type: 'record',
            name: 'r102',
            fields: partitionFields.map(({ id, name, type }) => optional(id, name, type)),
          }),
          required(103, 'record_count', 'long'),
          required(104, 'file_size_in_bytes', 'long'),
          optional(108, 'column_sizes', intMap(117, 118, 'long')),
          optional(109, 'value_counts', intMap(119, 120, 'long')),
          optional(110, 'null_value_counts', intMap(121, 122, 'long')),
          optional(137, 'nan_value_counts', intMap(138, 139, 'long')),
          optional(125, 'lower_bounds', intMap(126, 127, 'bytes')),
          optional(128, 'upper_bounds', intMap(129, 130, 'bytes')),
          optional(131, 'key_metadata', 'bytes'),
          optional(132, 'split_offsets', arrayOf(133, 'long')),
          optional(135, 'equality_ids', arrayOf(136, 'int')),
          optional(140, 'sort_order_id', 'int'),
          optional(143, 'referenced_data_file', 'string'),
        ],
      }),
    ],
  }
}

export const MANIFEST_LIST_SCHEMA: AvroSchema = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    required(500, 'manifest_path', 'string'),
    required(501, 'manifest_length', 'long'),
    required(502, 'partition_spec_id', 'int'),
    required(517, 'content', 'int'),
    required(515, 'sequence_number', 'long'),
    required(516, 'min_sequence_number', 'long'),
    required(503, 'added_snapshot_id', 'long'),
    required(504, 'added_files_count', 'int'),
    required(505, 'existing_files_count', 'int'),
    required(506, 'deleted_files_count', 'int'),
    required(512, 'added_rows_count', 'long'),
    required(513, 'existing_rows_count', 'long'),
    required(514, 'deleted_rows_count', 'long'),
    optional(
      507,
      'partitions',
      arrayOf(508, {
        type: 'record',
        name: 'r508',
        fields: [
          required(509, 'contains_null', 'boolean'),
          optional(518, 'contains_nan', 'boolean'),
          optional(510, 'lower_bound', 'bytes'),
          optional(511, 'upper_bound', 'bytes'),
        ],
      }),
    ),
    optional(519, 'key_metadata', 'bytes'),
  ],
}
