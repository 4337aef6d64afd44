// Every metric: one table, and the registry of one broker made from it. Nothing here is shared between brokers, and
// nothing is measured here; the rooms count and observe. On a hot path keep the child (`metrics.child(...)`) in a
// variable: finding it by its labels is what costs.
//
// Names as scraped: dots become underscores, timers end in _seconds, counters in _total. Timers take milliseconds.

import type { Metric } from 'prom-client'
import { Registry } from 'prom-client'

type Kind = 'timer' | 'distribution' | 'counter' | 'gauge'

interface MetricOf<K extends Kind, L extends string> {
  readonly kind: K
  readonly labels: readonly L[]
  readonly doc: string
  /** Upper bounds: seconds for a timer, the metric's own unit for a distribution. */
  readonly buckets: readonly number[]
  /** True for metrics that this project adds to the specification's catalogue. */
  readonly ours: boolean
  /** Names the capability that this version does not have yet. */
  readonly notYet: string | null
}

interface Marks {
  readonly ours?: boolean
  readonly notYet?: string
  readonly buckets?: readonly number[]
}

const SECONDS = Object.freeze([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
const BYTES = Object.freeze([
  64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 104_857_600,
])
const MESSAGES = Object.freeze([1, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000])

function metric<K extends Kind>(kind: K, fallbackBuckets: readonly number[]) {
  return <const L extends string>(labels: readonly L[], doc: string, marks: Marks = {}): MetricOf<K, L> =>
    Object.freeze({
      kind,
      labels,
      doc,
      buckets: marks.buckets ?? fallbackBuckets,
      ours: marks.ours ?? false,
      notYet: marks.notYet ?? null,
    })
}

const timer = metric('timer', SECONDS)
const distribution = metric('distribution', MESSAGES)
const counter = metric('counter', [])
const gauge = metric('gauge', [])

const OURS = { ours: true } as const
const REMOTE = { notYet: 'the remote tier' } as const
const GAUGES = { notYet: 'the lag and offset gauges' } as const

/** The catalogue. Labels that could be anybody's text (client ids, user names) are not labels. */
const table = Object.freeze({
  'svc.broker.produce': timer(['topic'], 'Time from the arrival of a produce to its outcome, for each topic in it.'),
  'svc.broker.fetch': timer(['topic'], 'Time of a fetch with its wait for bytes, for each topic in it.'),
  'svc.broker.fetch.delivery': timer(['topic'], 'Time of a fetch that delivered records.'),
  'svc.broker.fetch.empty': timer(['topic'], 'Time of a successful fetch that delivered no records.'),
  'svc.broker.request': timer(['api_key', 'result'], 'Time of a request by API; result is success, error or timeout.'),
  'svc.broker.frame_size': distribution(['direction', 'api_key'], 'Bytes of a frame; direction is in or out.', {
    buckets: BYTES,
  }),
  'svc.broker.up': gauge([], '1 while the broker serves, 0 while it starts or drains.'),
  'svc.broker.failures': counter(
    ['operation', 'error_type'],
    'What failed, by operation and kind of error; authentication is operation=auth.',
  ),
  'svc.broker.max_offset': gauge(['topic', 'partition'], 'The high watermark of a partition.'),
  'svc.broker.log_start_offset': gauge(['topic', 'partition'], 'The log start offset of a partition.'),
  'svc.broker.connections': gauge([], 'Open connections.', OURS),
  'svc.broker.backpressure_connections': gauge([], 'Connections that are not read because answers are pending.', OURS),
  'svc.broker.pending_bytes': gauge([], 'Bytes pending on all connections.', OURS),
  'svc.broker.throttle': timer(['api_key'], 'Time that a client was told to wait because of its quotas.', OURS),
  'svc.broker.malformed_frames': counter([], 'Connections closed because what they sent is not the protocol.', OURS),
  'svc.broker.produce.records': counter(['topic'], 'Records that were acknowledged.', OURS),
  'svc.broker.produce.bytes': counter(['topic'], 'Bytes of record batches that were acknowledged.', OURS),
  'svc.broker.fetch.records': counter(['topic'], 'Records that were handed out.', OURS),
  'svc.broker.fetch.bytes': counter(['topic'], 'Bytes of record batches that were handed out.', OURS),
  'svc.broker.fetch.sessions': gauge([], 'Fetch sessions that are held.', OURS),
  'svc.broker.fetch.session_partitions': gauge([], 'Partitions in all fetch sessions together.', OURS),
  'svc.broker.fetch.session_evictions': counter([], 'Fetch sessions that made room for others.', OURS),
  'svc.group.lag': gauge(['group'], 'Lag of a group over all partitions; NaN when it cannot be known.', GAUGES),
  'svc.broker.rebalances': counter([], 'Rebalances that completed.', OURS),
  'svc.storage.read': timer(['tier', 'result', 'mode'], 'Time of a read from the store.'),
  'svc.storage.write': timer(['tier', 'result'], 'Time of a write to the store.'),
  'svc.storage.ack': timer(['tier', 'result'], 'Time until a write is as durable as an acknowledgement says.'),
  'svc.storage.read.messages': distribution(['tier', 'mode'], 'Records of one read.'),
  'svc.storage.write.messages': distribution(['tier'], 'Records of one write.'),
  'svc.storage.cache_bytes': gauge([], 'Bytes in the tail cache.', OURS),
  'svc.storage.live_bytes': gauge([], 'Bytes of live batches in the local tier.', OURS),
  'svc.storage.corrupt_batches': counter([], 'Batches that were not what was written when they were read.', OURS),
  'svc.storage.compression.bytes': counter(
    ['codec', 'form'],
    'Bytes of batches that were compressed for the store; form is original or stored.',
    OURS,
  ),
  'svc.storage.local.pool.acquire': timer(
    ['result'],
    'Wait for a connection of the pool; result is success, timeout or error.',
  ),
  'svc.storage.local.pool.pending': gauge([], 'Requests that wait for a connection of the pool.'),
  'svc.redis.command': timer(
    ['command', 'local'],
    'Time of a Redis command, where svc.redis.metrics.enabled says so; a transaction is EXEC. Buckets only with histogram, local only with local-distinction.',
    OURS,
  ),
  'svc.storage.local.redis.command': timer(
    ['command', 'local'],
    'The same for the storage Redis, where that is one of its own.',
    OURS,
  ),
  'svc.redis.connections': gauge(['client'], 'Connections to Redis that stand; client is broker or storage.', OURS),
  'svc.redis.reconnects': counter(['client'], 'Connections to Redis that were lost and made again.', OURS),
  'svc.redis.breaker_moves': counter(
    ['client', 'to'],
    'Moves of the circuit breaker; to is closed, open or half-open.',
    OURS,
  ),
  'svc.redis.incarnations': counter(
    ['client'],
    'Times that a Redis came to have another history (its master_replid changed): a failover, a restart.',
    OURS,
  ),
  'svc.storage.archive': timer(['result'], 'Time to offload a segment.', REMOTE),
  'svc.storage.archive.segments': counter([], 'Segments that were offloaded.', REMOTE),
  'svc.storage.archive.bytes': counter([], 'Bytes that were offloaded.', REMOTE),
  'svc.storage.archive.failures': counter(['error_type'], 'Offloads that failed.', REMOTE),
  'svc.storage.archive.lag.segments': gauge([], 'Sealed segments that wait for their offload.', REMOTE),
  'svc.storage.archive.lag.bytes': gauge([], 'Bytes that wait for their offload.', REMOTE),
  'svc.storage.archive.lag.age_seconds': gauge([], 'Age of the oldest segment that waits for its offload.', REMOTE),
  'svc.cluster.brokers': gauge([], 'Brokers on this store that live, this one included.', OURS),
  'svc.cluster.confirmed': gauge([], '1 while the other brokers certainly know that this one lives.', OURS),
  'svc.cluster.leadership_changes': counter(
    ['change'],
    'Partitions whose lead this broker took (change=taken) or gave up (change=lost).',
    OURS,
  ),
  'svc.storage.append.refusals': counter(
    ['reason'],
    'Appends of which the store wrote nothing, because another has the lead (fenced), the log ends elsewhere (misplaced), or the stream is removed or damaged.',
    OURS,
  ),
  'svc.storage.log_end_regressions': counter(
    [],
    'Partitions whose end the store had lost when it came back. Offsets that this broker knew are not used again.',
    OURS,
  ),
  'svc.storage.worker.up': gauge([], '1 while this broker runs the storage worker.'),
  'svc.storage.worker.failures': counter(['phase', 'error_type'], 'Steps of the storage worker that failed.'),
})

type Table = typeof table
export type MetricName = keyof Table
type NameOf<K extends Kind> = { [N in MetricName]: Table[N]['kind'] extends K ? N : never }[MetricName]
export type CounterName = NameOf<'counter'>
export type GaugeName = NameOf<'gauge'>
export type ObservedName = NameOf<'timer' | 'distribution'>
export type Labels<N extends MetricName> = { readonly [L in Table[N]['labels'][number]]: string }

export interface CounterChild {
  inc(by?: number): void
}

export interface GaugeChild {
  set(value: number): void
  inc(by?: number): void
  dec(by?: number): void
}

export interface ObservedChild {
  /** Milliseconds for a timer, the metric's own unit for a distribution. */
  observe(value: number): void
}

export type Child<N extends MetricName> = N extends CounterName
  ? CounterChild
  : N extends GaugeName
    ? GaugeChild
    : ObservedChild

export interface MetricRow {
  readonly name: MetricName
  readonly scrapedName: string
  readonly kind: Kind
  readonly labels: readonly string[]
  readonly doc: string
  readonly buckets: readonly number[]
  readonly ours: boolean
  readonly notYet: string | null
}

/** The name in the scrape. */
function scrapedName(name: string, kind: Kind): string {
  const base = name.replaceAll('.', '_')
  return kind === 'timer' ? `${base}_seconds` : kind === 'counter' ? `${base}_total` : base
}

/** Every metric, in the order of the reference page. */
export const metricRows: readonly MetricRow[] = Object.freeze(
  Object.entries(table).map(([name, row]) => ({
    ...row,
    name: name as MetricName,
    scrapedName: scrapedName(name, row.kind),
  })),
)

export interface Metrics {
  /** The child for these labels; always the same object. Keep it where it is used often. */
  child<N extends MetricName>(name: N, labels: Labels<N>): Child<N>
  count<N extends CounterName>(name: N, labels: Labels<N>, by?: number): void
  observe<N extends ObservedName>(name: N, labels: Labels<N>, value: number): void
  set<N extends GaugeName>(name: N, labels: Labels<N>, value: number): void
  /** Reads the gauge at each scrape instead. A later call for the same metric replaces an earlier one. */
  sample<N extends GaugeName>(name: N, labels: Labels<N>, read: () => number): void
  /** Ends what `sample` began. */
  unsample<N extends GaugeName>(name: N, labels: Labels<N>): void
  /** Drops all children whose label has this value, in every metric: a topic, a group or a socket is gone. */
  forget(label: 'topic' | 'group' | 'local', value: string): void
  /** The sum of a counter over all its labels. */
  total(name: CounterName): number
  /** Text in the exposition format of Prometheus. */
  scrape(): Promise<string>
  readonly contentType: string
}

/** One child: a running total, and for observed metrics the count in each bucket (the last one has no upper bound). */
interface Cell extends CounterChild, GaugeChild, ObservedChild {
  readonly labels: Readonly<Record<string, string>>
  value: number
  readonly counts: Float64Array | null
}

interface Entry {
  readonly row: MetricRow
  readonly cells: Map<string, Cell>
  readonly samples: Map<string, { readonly labels: Readonly<Record<string, string>>; readonly read: () => number }>
}

/** Other upper bounds than the table's, in seconds for a timer; an empty list leaves count and sum. */
export type Buckets = Readonly<Partial<Record<ObservedName, readonly number[]>>>

/** The metrics of one broker. Metrics without labels are present from the start; the others appear with their first child. */
export function createMetrics(buckets: Buckets = {}): Metrics {
  const registry = new Registry()
  const entries = new Map<string, Entry>(
    metricRows.map(row => {
      const bounded = { ...row, buckets: buckets[row.name as ObservedName] ?? row.buckets }
      return [row.name, { row: bounded, cells: new Map(), samples: new Map() }]
    }),
  )

  function find(name: MetricName, labels: Readonly<Record<string, string>>): Cell {
    const { row, cells } = entries.get(name)!
    const key = keyOf(row, labels)
    const known = cells.get(key)
    if (known !== undefined) return known
    const cell = makeCell(row, labels)
    cells.set(key, cell)
    return cell
  }

  for (const entry of entries.values()) {
    if (entry.row.labels.length === 0) find(entry.row.name, {})
    registry.registerMetric(asPrometheus(entry) as unknown as Metric)
  }

  return {
    child: (name, labels) => find(name, labels) as unknown as Child<typeof name>,
    count: (name, labels, by = 1) => find(name, labels).inc(by),
    observe: (name, labels, value) => find(name, labels).observe(value),
    set: (name, labels, value) => find(name, labels).set(value),
    sample(name, labels, read) {
      const { row, samples } = entries.get(name)!
      samples.set(keyOf(row, labels), { labels: { ...labels }, read })
    },
    unsample(name, labels) {
      const { row, samples } = entries.get(name)!
      samples.delete(keyOf(row, labels))
    },
    forget(label, value) {
      for (const { cells, samples } of entries.values()) {
        for (const [key, { labels }] of cells) if (labels[label] === value) cells.delete(key)
        for (const [key, { labels }] of samples) if (labels[label] === value) samples.delete(key)
      }
    },
    total: name => [...entries.get(name)!.cells.values()].reduce((sum, cell) => sum + cell.value, 0),
    scrape: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

function keyOf(row: MetricRow, labels: Readonly<Record<string, string>>): string {
  if (row.labels.length === 1) return String(labels[row.labels[0]!])
  return row.labels.map(label => labels[label]).join('\0')
}

function makeCell(row: MetricRow, labels: Readonly<Record<string, string>>): Cell {
  const { buckets } = row
  const unit = row.kind === 'timer' ? 1000 : 1
  const counts = row.kind === 'timer' || row.kind === 'distribution' ? new Float64Array(buckets.length + 1) : null
  const cell: Cell = {
    labels: Object.freeze({ ...labels }),
    value: 0,
    counts,
    inc(by = 1) {
      cell.value += by
    },
    dec(by = 1) {
      cell.value -= by
    },
    set(value) {
      cell.value = value
    },
    observe(value) {
      const observed = value / unit
      let bucket = 0
      while (bucket < buckets.length && observed > buckets[bucket]!) bucket++
      counts![bucket]!++
      cell.value += observed
    },
  }
  return cell
}

interface PrometheusValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  readonly metricName?: string
}

/**
 * What prom-client's registry asks of a metric. Its own classes hash the labels at each observation, kept child or not
 * (370 ns); a cell is a few additions, and the registry only reads and formats it.
 */
function asPrometheus({ row, cells, samples }: Entry) {
  const shared = { name: row.scrapedName, help: row.doc, aggregator: 'sum' }
  if (row.kind === 'timer' || row.kind === 'distribution') {
    return {
      ...shared,
      get: () =>
        Promise.resolve({
          ...shared,
          type: 'histogram',
          values: [...cells.values()].flatMap(cell => spread(row, cell)),
        }),
    }
  }
  const get = () => {
    const counted = [...cells].filter(([key]) => !samples.has(key)).map(([, { value, labels }]) => ({ value, labels }))
    const sampled = [...samples.values()].map(({ labels, read }) => ({ value: read(), labels }))
    return Promise.resolve({ ...shared, type: row.kind, values: [...counted, ...sampled] })
  }
  return { ...shared, get }
}

/** The lines of one histogram child: buckets count everything up to their bound. */
function spread(row: MetricRow, { counts, value, labels }: Cell): readonly PrometheusValue[] {
  let count = 0
  const buckets = Array.from(counts!, (inBucket, at) => {
    count += inBucket
    return {
      metricName: `${row.scrapedName}_bucket`,
      labels: { le: row.buckets[at] ?? '+Inf', ...labels },
      value: count,
    }
  })
  return [
    ...buckets,
    { metricName: `${row.scrapedName}_sum`, labels, value },
    { metricName: `${row.scrapedName}_count`, labels, value: count },
  ]
}
