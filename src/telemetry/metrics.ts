// Every metric: one table, and the registry of one broker made from it. Nothing here is shared between brokers, and
// nothing is measured here; the rooms count and observe. On a hot path keep the child (`metrics.child(...)`) in a
// variable: finding it by its labels is what costs. How a scrape is written is in exposition.ts, what is kept of each
// step in history.ts.
//
// Names as scraped: dots become underscores, timers end in _seconds, counters in _total. Timers take milliseconds.

import { afterOthers, type Clock } from '../base/clock.ts'
import {
  chooseFormat,
  contentTypeOf,
  type Exposed,
  type Format,
  type Kind,
  labelText,
  writeFamilies,
} from './exposition.ts'
import { StepHistogram } from './step-histogram.ts'

/**
 * How the history captures a metric: the rate of the last step, its percentiles too, or a value for each kept step. A
 * metric without this mark is not captured.
 */
export type Captured = 'rate' | 'percentiles' | 'series'

interface MetricOf<K extends Kind, L extends string> {
  readonly kind: K
  readonly labels: readonly L[]
  readonly doc: string
  /** Upper bounds: seconds for a timer, the metric's own unit for a distribution. */
  readonly buckets: readonly number[]
  /** True for metrics that this project adds to the specification's catalogue. */
  readonly ours: boolean
  /** Names the capability that this version does not have yet; the metric is not scraped until then. */
  readonly notYet: string | null
  /** Null: the history leaves it out. */
  readonly captured: Captured | null
}

interface Marks {
  readonly ours?: boolean
  readonly captured?: Captured
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
      captured: marks.captured ?? null,
    })
}

const timer = metric('timer', SECONDS)
const distribution = metric('distribution', MESSAGES)
const counter = metric('counter', [])
const gauge = metric('gauge', [])

const OURS = { ours: true } as const
const REMOTE = { notYet: 'the remote tier' } as const

/** The catalogue. Texts that a client can choose (client ids, user names) are never labels. */
const table = Object.freeze({
  'svc.broker.produce': timer(['topic'], 'Time from the arrival of a produce to its outcome, for each topic in it.', {
    captured: 'percentiles',
  }),
  'svc.broker.fetch': timer(['topic'], 'Time of a fetch with its wait for bytes, for each topic in it.', {
    captured: 'rate',
  }),
  'svc.broker.fetch.delivery': timer(['topic'], 'Time of a fetch that delivered records.', { captured: 'percentiles' }),
  'svc.broker.fetch.empty': timer(['topic'], 'Time of a successful fetch that delivered no records.'),
  'svc.broker.request': timer(
    ['api_key', 'result'],
    'Time of a request by API; result is error or timeout where the broker could not do it, in whole or in part, and success otherwise: what it refuses with reason is no error of its own. The percentiles of the snapshot and of the history leave out the time that a fetch waited for records, and a join or sync for the other members.',
    { captured: 'percentiles' },
  ),
  'svc.broker.frame_size': distribution(['direction', 'api_key'], 'Bytes of a frame; direction is in or out.', {
    buckets: BYTES,
  }),
  'svc.broker.up': gauge([], '1 while the broker serves, 0 while it starts or drains.'),
  'svc.broker.failures': counter(
    ['operation', 'error_type'],
    'Failures, by operation and kind of error, which of an answer is the first error code that is not the doing of the client; authentication is operation=auth.',
    { captured: 'rate' },
  ),
  'svc.broker.lossy_records': counter(
    ['reason'],
    'Records that were acknowledged or delivered and that the store lost (reason=lost), and records whose checksum failed when they were read, once each (reason=corrupt).',
    { ours: true, captured: 'rate' },
  ),
  'svc.broker.max_offset': gauge(
    ['topic', 'partition'],
    'The high watermark of a partition that this broker leads, as of the last refresh.',
  ),
  'svc.broker.log_start_offset': gauge(
    ['topic', 'partition'],
    'The log start offset of a partition that this broker leads, as of the last refresh.',
  ),
  'svc.broker.connections': gauge([], 'Open connections.', { ours: true, captured: 'series' }),
  'svc.broker.backpressure_connections': gauge([], 'Connections that are not read because answers are pending.', {
    ours: true,
    captured: 'series',
  }),
  'svc.broker.pending_bytes': gauge([], 'Bytes pending on all connections.', OURS),
  'svc.broker.throttle': timer(['api_key'], 'Time that a client was told to wait because of its quotas.', OURS),
  'svc.broker.malformed_frames': counter([], 'Connections closed because what they sent is not the protocol.', OURS),
  'svc.broker.produce.records': counter(['topic'], 'Records that were acknowledged.', {
    ours: true,
    captured: 'series',
  }),
  'svc.broker.produce.bytes': counter(['topic'], 'Bytes of record batches that were acknowledged.', {
    ours: true,
    captured: 'series',
  }),
  'svc.broker.fetch.records': counter(['topic'], 'Records that were handed out.', { ours: true, captured: 'rate' }),
  'svc.broker.fetch.bytes': counter(['topic'], 'Bytes of record batches that were handed out.', {
    ours: true,
    captured: 'rate',
  }),
  'svc.broker.fetch.sessions': gauge([], 'Fetch sessions that are held.', OURS),
  'svc.broker.fetch.session_partitions': gauge([], 'Partitions in all fetch sessions together.', OURS),
  'svc.broker.fetch.granted_bytes': gauge(
    [],
    'Memory that fetches have for their answers, until clients have taken them.',
    OURS,
  ),
  'svc.broker.fetch.deferred': counter(
    [],
    'Fetches answered without records because slower clients had the memory for answers.',
    OURS,
  ),
  'svc.broker.fetch.session_evictions': counter([], 'Fetch sessions that made room for others.', OURS),
  'svc.group.lag': gauge(
    ['group'],
    'Records that a group was not delivered yet, over the partitions where that is known; NaN where it is known of none, and for all groups above the cap.',
    { captured: 'series' },
  ),
  'svc.broker.group_bytes': gauge(
    [],
    'Bytes of members of all groups that this broker coordinates: metadata, assignments, ids, requests that wait.',
    { ours: true, captured: 'series' },
  ),
  'svc.broker.group_offset_bytes': gauge(
    [],
    'Bytes of all groups that this broker coordinates beside their members: ids and committed offsets, of empty groups too.',
    OURS,
  ),
  'svc.broker.rebalances': counter([], 'Rebalances that completed.', OURS),
  'svc.storage.read': timer(
    ['tier', 'result', 'mode'],
    'Time of a read from the store; mode is stream, since no consumer group of the store is read through.',
  ),
  'svc.storage.write': timer(['tier', 'result'], 'Time of a write to the store.'),
  'svc.storage.ack': timer(
    ['tier', 'result'],
    'Time until a write is as durable as an acknowledgement says; result=error where it was not, or it is not known.',
  ),
  'svc.storage.read.messages': distribution(['tier', 'mode'], 'Records of one read.'),
  'svc.storage.write.messages': distribution(['tier'], 'Records of one write.'),
  'svc.storage.cache_bytes': gauge([], 'Bytes in the tail cache.', OURS),
  'svc.storage.live_bytes': gauge([], 'Bytes of live batches in the local tier.', OURS),
  'svc.storage.corrupt_batches': counter([], 'Batches that were not what was written when they were read.', OURS),
  'svc.storage.damaged_partitions': gauge(
    [],
    'Partitions of which the store has lost records. They are readable below the loss and take no more.',
    OURS,
  ),
  'svc.storage.unreadable_documents': counter(
    ['kind'],
    'Documents beside the logs, or parts of one, that this broker found and could not read, once each: a bad hand or a later version wrote them. The log names each at ERROR.',
    OURS,
  ),
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
  'svc.storage.worker.up': gauge([], '1 while this broker runs the storage worker, for the partitions that it leads.'),
  'svc.storage.worker.failures': counter(['phase', 'error_type'], 'Steps of the storage worker that failed.'),
  'jvm.memory.used': gauge(
    ['area'],
    "Bytes in use. On Node: area=heap is V8's heap, area=nonheap the memory that it keeps outside of it, buffers above all.",
  ),
  'jvm.memory.max': gauge(
    ['area'],
    "The most that V8's heap may take, bytes (area=heap; the rest has no bound of its own).",
  ),
  'jvm.gc.pause': timer(
    ['action'],
    "Time of V8's garbage collections, most of it a pause; action is minor, major, incremental or weak-callbacks.",
  ),
  'jvm.threads.live': gauge(
    [],
    'Threads of the process as the kernel counts them; NaN where it does not say (not Linux).',
  ),
  'process.cpu.usage': gauge([], 'CPU time that the process took in the last 5 s, as a share of all cores.'),
  'system.cpu.usage': gauge(
    [],
    'CPU time that everything on the machine took in the last 5 s, as a share of all cores.',
  ),
  'system.load.average.1m': gauge([], 'Processes that ran or waited for a core, averaged over a minute; 0 on Windows.'),
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
  /** The value that it was last set to. */
  readonly value: number
  set(value: number): void
  inc(by?: number): void
  dec(by?: number): void
}

export interface ObservedChild {
  /**
   * Milliseconds for a timer, the metric's own unit for a distribution. `captured` is counted in its place by the
   * history's percentiles.
   */
  observe(value: number, captured?: number): void
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
  readonly captured: Captured | null
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

/** One child as the history reads it. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** A counter's total, a gauge's value, the sum of the observations. */
  readonly value: number
  /** How much was observed. */
  readonly count: number
  /** The observations since it was last cleared; null where the table asks for no percentiles. */
  readonly step: StepHistogram | null
}

/** The answer to a scrape. */
export interface Scrape {
  readonly contentType: string
  readonly chunks: AsyncIterable<string>
}

export interface Metrics {
  /** The child for these labels; always the same object. Keep it where it is used often. */
  child<N extends MetricName>(name: N, labels: Labels<N>): Child<N>
  count<N extends CounterName>(name: N, labels: Labels<N>, by?: number): void
  observe<N extends ObservedName>(name: N, labels: Labels<N>, value: number): void
  set<N extends GaugeName>(name: N, labels: Labels<N>, value: number): void
  /** Reads the gauge at each scrape instead. A later call for the same metric replaces an earlier one. */
  sample<N extends GaugeName>(name: N, labels: Labels<N>, read: () => number): void
  /** Takes the gauge out of the scrape, whether it was set or sampled. */
  remove<N extends GaugeName>(name: N, labels: Labels<N>): void
  /** Drops all children whose label has this value, in every metric: a topic, a group or a socket is gone. */
  forget(label: (typeof MORTAL)[number], value: string): void
  /** The sum of a counter over all its labels, those that were forgotten too: it never falls. */
  total(name: CounterName): number
  /** Every child of a metric. */
  series(name: MetricName): Iterable<Series>
  /** The gauge as it would be scraped; NaN if it was never set. */
  read<N extends GaugeName>(name: N, labels: Labels<N>): number
  /**
   * Every series in the format that the Accept header prefers: OpenMetrics 1.0 or Prometheus text 0.0.4. Written in
   * slices, each with whole children; the event loop runs other work between them.
   */
  exposition(accept: string | undefined, clock: Clock): Scrape
  /** The same as text 0.0.4, in one go: for few series. */
  scrape(): Promise<string>
}

/** One child: a running total, and for observed metrics the count in each bucket (the last one has no upper bound). */
interface Cell extends CounterChild, GaugeChild, ObservedChild, Exposed {
  readonly labels: Readonly<Record<string, string>>
  value: number
  count: number
  readonly step: StepHistogram | null
}

interface Sample {
  readonly labelText: string
  readonly read: () => number
}

/** Labels whose values go: a topic, a group or a socket. */
const MORTAL = ['topic', 'group', 'local'] as const

interface Entry {
  readonly row: MetricRow
  /**
   * For each label that can go, and each value, the keys of the children that have it, so that no search is needed when
   * one goes. A metric with one label needs none: the value is the key.
   */
  readonly keysOf: ReadonlyMap<string, Map<string, Set<string>>>
  readonly cells: Map<string, Cell>
  readonly samples: Map<string, Sample>
  /** The sums of forgotten children of a counter. */
  forgotten: number
}

/** Other upper bounds than the table's, in seconds for a timer; an empty list leaves count and sum. */
export type Buckets = Readonly<Partial<Record<ObservedName, readonly number[]>>>

/**
 * The metrics of one broker. Metrics without labels are present from the start; the others appear with their first
 * child.
 */
export function createMetrics(buckets: Buckets = {}): Metrics {
  const entries = new Map<string, Entry>(
    metricRows.map(row => {
      const bounded = { ...row, buckets: buckets[row.name as ObservedName] ?? row.buckets }
      return [row.name, { row: bounded, keysOf: indexOf(row), cells: new Map(), samples: new Map(), forgotten: 0 }]
    }),
  )
  const scraped = metricRows.filter(({ notYet }) => notYet === null).map(({ name }) => entries.get(name)!)

  function find(name: MetricName, labels: Readonly<Record<string, string>>): Cell {
    const entry = entries.get(name)!
    const { row, cells } = entry
    const key = keyOf(row, labels)
    const known = cells.get(key)
    if (known !== undefined) return known
    const cell = makeCell(row, labels)
    cells.set(key, cell)
    enter(entry, key, labels)
    return cell
  }

  for (const { row } of scraped) if (row.labels.length === 0) find(row.name, {})

  const families = (format: Format) =>
    writeFamilies(
      scraped.map(entry => ({ ...entry.row, children: () => childrenOf(entry) })),
      format,
    )

  async function* slices(format: Format, clock: Clock): AsyncGenerator<string> {
    for (const slice of families(format)) {
      yield slice
      await afterOthers(clock)
    }
  }

  return {
    child: (name, labels) => find(name, labels) as unknown as Child<typeof name>,
    count: (name, labels, by = 1) => find(name, labels).inc(by),
    observe: (name, labels, value) => find(name, labels).observe(value),
    set: (name, labels, value) => find(name, labels).set(value),
    sample(name, labels, read) {
      const entry = entries.get(name)!
      const { row, samples } = entry
      const key = keyOf(row, labels)
      samples.set(key, { labelText: labelText(row.labels, labels), read })
      enter(entry, key, labels)
    },
    remove(name, labels) {
      const entry = entries.get(name)!
      const key = keyOf(entry.row, labels)
      entry.cells.delete(key)
      entry.samples.delete(key)
      leave(entry, key, labels)
    },
    forget(label, value) {
      for (const entry of entries.values()) {
        const { row, cells, samples, keysOf } = entry
        if (!row.labels.includes(label)) continue
        for (const key of keysOf.get(label)?.get(value) ?? [value]) {
          if (row.kind === 'counter') entry.forgotten += cells.get(key)?.value ?? 0
          cells.delete(key)
          samples.delete(key)
        }
        keysOf.get(label)?.delete(value)
      }
    },
    total(name) {
      const { cells, forgotten } = entries.get(name)!
      let sum = forgotten
      for (const { value } of cells.values()) sum += value
      return sum
    },
    series: name => entries.get(name)!.cells.values(),
    read(name, labels) {
      const { row, cells, samples } = entries.get(name)!
      const key = keyOf(row, labels)
      return samples.get(key)?.read() ?? cells.get(key)?.value ?? Number.NaN
    },
    exposition(accept, clock) {
      const format = chooseFormat(accept)
      return { contentType: contentTypeOf(format), chunks: slices(format, clock) }
    },
    scrape: async () => [...families('text')].join(''),
  }
}

/** The lines of a metric, one child after the other. A sampled gauge goes before one that was set. */
function* childrenOf({ row, cells, samples }: Entry): Generator<Exposed> {
  if (row.kind !== 'gauge') return yield* cells.values()
  for (const [key, cell] of cells) if (!samples.has(key)) yield cell
  for (const { labelText, read } of samples.values()) yield { labelText, value: read(), counts: null }
}

function indexOf({ labels }: MetricRow): Entry['keysOf'] {
  return new Map(labels.length === 1 ? [] : MORTAL.filter(each => labels.includes(each)).map(each => [each, new Map()]))
}

function enter({ keysOf }: Entry, key: string, labels: Readonly<Record<string, string>>): void {
  for (const [label, byValue] of keysOf) {
    const value = String(labels[label])
    const keys = byValue.get(value) ?? new Set()
    byValue.set(value, keys.add(key))
  }
}

function leave({ keysOf }: Entry, key: string, labels: Readonly<Record<string, string>>): void {
  for (const [label, byValue] of keysOf) {
    const value = String(labels[label])
    const keys = byValue.get(value)
    if (keys?.delete(key) && keys.size === 0) byValue.delete(value)
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
  const step = row.captured === 'percentiles' ? new StepHistogram() : null
  const cell: Cell = {
    labels: Object.freeze({ ...labels }),
    labelText: labelText(row.labels, labels),
    value: 0,
    count: 0,
    counts,
    step,
    inc(by = 1) {
      cell.value += by
    },
    dec(by = 1) {
      cell.value -= by
    },
    set(value) {
      cell.value = value
    },
    observe(value, captured = value) {
      const observed = value / unit
      let bucket = 0
      while (bucket < buckets.length && observed > buckets[bucket]!) bucket++
      counts![bucket]!++
      cell.value += observed
      cell.count++
      step?.record(captured)
    },
  }
  return cell
}
