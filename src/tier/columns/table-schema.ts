// The columns of a topic's table, once: the Parquet schema of its files and the Iceberg schema of the table are both
// made from this list. Field ids never change and are never used again. Ids 20 to 99 are reserved for the broker, and
// decoded value columns have ids from 200 on. No code may depend on the number of columns: a file of another writer
// can have more of them. This file knows neither the form of Parquet nor that of Iceberg.

/** Types with the names of the Iceberg specification. A timestamptz is microseconds since 1970, UTC. */
export type PrimitiveType = 'int' | 'long' | 'timestamptz' | 'string' | 'binary'

export interface ListType {
  readonly kind: 'list'
  readonly elementId: number
  readonly elementRequired: boolean
  readonly element: StructType
}

export interface StructType {
  readonly kind: 'struct'
  readonly fields: readonly Column[]
}

export interface Column {
  /** The field id. */
  readonly id: number
  readonly name: string
  readonly type: PrimitiveType | ListType
  readonly required: boolean
  readonly doc: string
}

/** The field ids by name. `headerKey` and `headerValue` are leaves inside of `headers`. */
export const FIELD = Object.freeze({
  partition: 1,
  offset: 2,
  timestamp: 3,
  timestampType: 4,
  key: 5,
  value: 6,
  headers: 7,
  headersElement: 8,
  headerKey: 9,
  headerValue: 10,
  ingestedAt: 11,
  leaderEpoch: 12,
  producerId: 13,
  producerEpoch: 14,
  sequence: 15,
  controlType: 16,
  txnState: 17,
  batchHeader: 18,
  batchRaw: 19,
})

const HEADERS: ListType = {
  kind: 'list',
  elementId: FIELD.headersElement,
  elementRequired: true,
  element: {
    kind: 'struct',
    fields: [
      { id: FIELD.headerKey, name: 'key', type: 'string', required: true, doc: 'The name of the header.' },
      { id: FIELD.headerValue, name: 'value', type: 'binary', required: false, doc: 'The value of the header.' },
    ],
  },
}

/** The columns of every table, in the order in which files have them. */
export const TABLE_COLUMNS: readonly Column[] = Object.freeze<Column[]>([
  { id: FIELD.partition, name: 'partition', type: 'int', required: true, doc: 'The Kafka partition.' },
  { id: FIELD.offset, name: 'offset', type: 'long', required: true, doc: 'The offset of the record.' },
  {
    id: FIELD.timestamp,
    name: 'timestamp',
    type: 'timestamptz',
    required: true,
    doc: 'The timestamp of the record, limited to the years 1 to 9999. 1969-12-31T23:59:59.999Z (-1 ms): none.',
  },
  {
    id: FIELD.timestampType,
    name: 'timestamp_type',
    type: 'int',
    required: true,
    doc: '0: the producer set the timestamp; 1: the broker did when it appended the record.',
  },
  { id: FIELD.key, name: 'key', type: 'binary', required: false, doc: 'The key of the record.' },
  {
    id: FIELD.value,
    name: 'value',
    type: 'binary',
    required: false,
    doc: 'The value of the record; null in a tombstone.',
  },
  {
    id: FIELD.headers,
    name: 'headers',
    type: HEADERS,
    required: false,
    doc: 'The headers of the record, in their order; null if it has none.',
  },
  {
    id: FIELD.ingestedAt,
    name: 'ingested_at',
    type: 'timestamptz',
    required: true,
    doc: 'The time of the broker at which it sealed the segment of the record.',
  },
  { id: FIELD.leaderEpoch, name: 'leader_epoch', type: 'int', required: true, doc: 'The epoch of the leader.' },
  { id: FIELD.producerId, name: 'producer_id', type: 'long', required: false, doc: 'The producer id, if any.' },
  {
    id: FIELD.producerEpoch,
    name: 'producer_epoch',
    type: 'int',
    required: false,
    doc: 'The epoch of the producer id.',
  },
  {
    id: FIELD.sequence,
    name: 'sequence',
    type: 'int',
    required: false,
    doc: 'The sequence number of the record among those of its producer id.',
  },
  {
    id: FIELD.controlType,
    name: 'control_type',
    type: 'int',
    required: false,
    doc: 'Null: a record of a client; 0: an abort marker; 1: a commit marker; -1: a batch whose records cannot be read.',
  },
  {
    id: FIELD.txnState,
    name: 'txn_state',
    type: 'int',
    required: false,
    doc: 'Null: no transaction; 1: of a committed transaction; 2: of an aborted one.',
  },
  {
    id: FIELD.batchHeader,
    name: 'batch_header',
    type: 'binary',
    required: false,
    doc: 'On the first row of a record batch: the header of the batch, as it is without compression.',
  },
  {
    id: FIELD.batchRaw,
    name: 'batch_raw',
    type: 'binary',
    required: false,
    doc: 'On the first row of a record batch, where the other columns cannot restore its bytes: the bytes.',
  },
])

/** The partition spec of every table. `transform` has the names of the Iceberg specification. */
export const PARTITION_FIELDS = Object.freeze([
  { sourceId: FIELD.partition, fieldId: 1000, name: 'partition', transform: 'identity' },
  { sourceId: FIELD.ingestedAt, fieldId: 1001, name: 'ingested_at_day', transform: 'day' },
] as const)

/** Rows of a file are in this order: sort order 1 of every table, ascending, nulls first. */
export const SORT_FIELD = FIELD.offset

/** A column that has values of its own in a file, with its path. */
export interface Leaf {
  readonly id: number
  readonly path: readonly string[]
  readonly type: PrimitiveType
}

/** The leaves of the columns, in their order. Metrics of a file are kept by their ids. */
export const LEAVES: readonly Leaf[] = Object.freeze(
  TABLE_COLUMNS.flatMap(({ id, name, type }): Leaf[] =>
    typeof type === 'string'
      ? [{ id, path: [name], type }]
      : type.element.fields.map(field => ({
          id: field.id,
          path: [name, 'list', 'element', field.name],
          type: field.type as PrimitiveType,
        })),
  ),
)
