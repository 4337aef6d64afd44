// The sums that are compared: for each partition the number of records, the bounds of their offsets, and a digest each
// of keys, values and headers in the order of the offsets. SQL engines compute them with the queries here; `sumsOf`
// computes them from records that a Kafka client has read.
//
//   digest of a column = md5 of the texts of its rows, one after the other, in the order of the offsets
//   text of a key or value = its md5 as hexadecimal digits, or '-' for null
//   text of headers = '-' if there are none; else for each header: md5 of its key, ':', text of its value, ','

import { createHash } from 'node:crypto'

/** A record as a client reads it. */
export interface SeenRecord {
  readonly partition: number
  readonly offset: number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: readonly (readonly [key: string, value: Uint8Array | null])[]
  /** Its transaction was aborted, so consumers with `isolation.level=read_committed` do not see it. */
  readonly isAborted?: boolean
}

export interface Sums {
  readonly partition: number
  readonly rows: number
  readonly first: number
  readonly last: number
  readonly keys: string
  readonly values: string
  readonly headers: string
}

const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex')
const textOf = (bytes: Uint8Array | null) => (bytes === null ? '-' : md5(bytes))

/** Returns the sums of all records, by partition. */
export function sumsOf(records: readonly SeenRecord[]): Sums[] {
  const byPartition = Map.groupBy(records, ({ partition }) => partition)
  return [...byPartition]
    .sort(([a], [b]) => a - b)
    .map(([partition, unsorted]) => {
      const sorted = unsorted.toSorted((a, b) => a.offset - b.offset)
      const digest = (text: (record: SeenRecord) => string) => md5(sorted.map(text).join(''))
      return {
        partition,
        rows: sorted.length,
        first: sorted[0]!.offset,
        last: sorted.at(-1)!.offset,
        keys: digest(({ key }) => textOf(key)),
        values: digest(({ value }) => textOf(value)),
        headers: digest(({ headers }) =>
          headers.length === 0 ? '-' : headers.map(([key, value]) => `${md5(key)}:${textOf(value)},`).join(''),
        ),
      }
    })
}

/** Which rows of a table are compared. */
export interface Asked {
  readonly topic: string
  /** Only offsets from this one on, as after a change of the log start. */
  readonly from?: number
  /** Only offsets below this one. */
  readonly until?: number
  /** Only what consumers with `isolation.level=read_committed` see. */
  readonly isCommitted?: boolean
}

/** How an engine writes the parts of the query in which SQL differs. */
export interface Dialect {
  /** Quotes a name. Engines have `offset`, `partition` and `timestamp` as words of their own. */
  quote(name: string): string
  /** The md5 of a binary column as lower-case hexadecimal digits. */
  md5(column: string): string
  /** The texts of all rows of a group, one after the other, in the order of the offsets. */
  joined(text: string, offset: string): string
  /** Whether a row has no headers. */
  lacksHeaders(column: string): string
  /** The text of the headers of a row, which has some. */
  headers(column: string, text: (column: string) => string): string
  /** The md5 of a text as lower-case hexadecimal digits. */
  md5OfText(text: string): string
}

export const DIALECTS = {
  duckdb: {
    quote: name => `"${name}"`,
    md5: column => `md5(${column})`,
    md5OfText: text => `md5(${text})`,
    joined: (text, offset) => `string_agg(${text}, '' ORDER BY ${offset})`,
    lacksHeaders: column => `${column} IS NULL`,
    headers: (column, text) =>
      `array_to_string(list_transform(${column}, h -> md5(h.key) || ':' || ${text('h.value')} || ','), '')`,
  },
  clickhouse: {
    quote: name => `\`${name}\``,
    md5: column => `lower(hex(MD5(${column})))`,
    md5OfText: text => `lower(hex(MD5(${text})))`,
    joined: (text, offset) =>
      `arrayStringConcat(arrayMap(x -> x.2, arraySort(x -> x.1, groupArray((${offset}, ${text})))), '')`,
    // Its arrays cannot be null: it reads an absent list as an empty one. Kafka knows no difference.
    lacksHeaders: column => `empty(${column})`,
    headers: (column, text) =>
      `arrayStringConcat(arrayMap(h -> concat(lower(hex(MD5(h.1))), ':', ${text('h.2')}, ','), ${column}), '')`,
  },
  spark: {
    quote: name => `\`${name}\``,
    md5: column => `md5(${column})`,
    md5OfText: text => `md5(${text})`,
    joined: (text, offset) =>
      `array_join(transform(array_sort(collect_list(struct(${offset} AS o, ${text} AS t))), x -> x.t), '')`,
    lacksHeaders: column => `${column} IS NULL`,
    headers: (column, text) =>
      `array_join(transform(${column}, h -> concat(md5(h.key), ':', ${text('h.value')}, ',')), '')`,
  },
  trino: {
    quote: name => `"${name}"`,
    md5: column => `lower(to_hex(md5(${column})))`,
    md5OfText: text => `lower(to_hex(md5(to_utf8(${text}))))`,
    joined: (text, offset) => `array_join(array_agg(${text} ORDER BY ${offset}), '')`,
    lacksHeaders: column => `${column} IS NULL`,
    headers: (column, text) =>
      `array_join(transform(${column}, h -> lower(to_hex(md5(to_utf8(h.key)))) || ':' || ${text('h.value')} || ','), '')`,
  },
} as const satisfies Readonly<Record<string, Dialect>>

/** Returns the query for the sums of a table. Its columns are those of Sums, in this order. */
export function sumsQuery(dialect: Dialect, table: string, asked: Asked): string {
  const { from, until, isCommitted = false } = asked
  const { quote, md5: md5Of, md5OfText, joined, lacksHeaders, headers } = dialect
  const [partition, offset] = [quote('partition'), quote('offset')]
  const orDash = (column: string) => `coalesce(${md5Of(column)}, '-')`
  const ofHeaders = `CASE WHEN ${lacksHeaders(quote('headers'))} THEN '-' ELSE ${headers(quote('headers'), orDash)} END`
  const digest = (text: string) => md5OfText(joined(text, offset))
  const where = [
    `${quote('control_type')} IS NULL`,
    ...(isCommitted ? [`coalesce(${quote('txn_state')}, 1) = 1`] : []),
    ...(from === undefined ? [] : [`${offset} >= ${from}`]),
    ...(until === undefined ? [] : [`${offset} < ${until}`]),
  ]
  return [
    `SELECT ${partition}, count(*), min(${offset}), max(${offset}),`,
    `${digest(orDash(quote('key')))}, ${digest(orDash(quote('value')))}, ${digest(ofHeaders)}`,
    `FROM ${table} WHERE ${where.join(' AND ')} GROUP BY ${partition} ORDER BY ${partition}`,
  ].join(' ')
}

/** Returns the sums of the rows that a query answers. */
export function sumsOfRows(rows: readonly (readonly unknown[])[]): Sums[] {
  return rows.map(([partition, count, first, last, keys, values, headers]) => ({
    partition: Number(partition),
    rows: Number(count),
    first: Number(first),
    last: Number(last),
    keys: String(keys),
    values: String(values),
    headers: String(headers),
  }))
}

/** The rows of a query, or why the engine refused it. */
export type Answer = readonly (readonly unknown[])[] | { readonly refused: string }

/** Runs the queries and resolves with their answers, in their order. */
export type Query = (queries: readonly unknown[]) => Promise<readonly Answer[]>
