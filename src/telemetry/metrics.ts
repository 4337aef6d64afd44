// The table of all metrics, and the registry of one broker that is made from it. Brokers share nothing here. This file
// measures nothing: the rooms count and observe. On a hot path keep the child (`metrics.child(...)`) in a variable,
// because finding it by its labels is expensive. exposition.ts writes a scrape, and history.ts keeps the values of each
// step.
//
// Names in a scrape: dots become underscores, timers end in _seconds, counters in _total. Timers take milliseconds.

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
 * How the history captures a metric. `rate`: the rate of the last step. `percentiles`: also the percentiles of the last
 * step. `series`: a value for each kept step. A metric without this mark is not captured.
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
  /**
   * The capability that this version does not have yet; null for the other metrics. Until then the metric is not
   * scraped.
   */
  readonly notYet: string | null
  /** Null if the history does not capture the metric. */
  readonly captured: Captured | null
  /** True if it measures only the remote tier; see RemoteMeters. */
  readonly isRemote: boolean
}

interface Marks {
  readonly ours?: boolean
  readonly captured?: Captured
  readonly notYet?: string
  readonly buckets?: readonly number[]
  readonly isRemote?: boolean
}

const SECONDS = Object.freeze([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
const ROUND_SECONDS = Object.freeze([0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3600])
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
      isRemote: marks.isRemote ?? false,
    })
}

const timer = metric('timer', SECONDS)
const distribution = metric('distribution', MESSAGES)
const counter = metric('counter', [])
const gauge = metric('gauge', [])

const OURS = { ours: true } as const
const REMOTE = { isRemote: true } as const

/** The catalogue. Texts that a client can choose (client ids, user names) are never labels. */
const table = Object.freeze({
  'svc.broker.produce': timer(
    ['topic'],
    'Time from the arrival of a produce request to its outcome, for each topic in the request.',
    {
      captured: 'percentiles',
    },
  ),
  'svc.broker.fetch': timer(
    ['topic'],
    'Time of a fetch, including its wait for bytes, for each topic in the request.',
    {
      captured: 'rate',
    },
  ),
  'svc.broker.fetch.delivery': timer(['topic'], 'Time of a fetch that delivered records.', { captured: 'percentiles' }),
  'svc.broker.fetch.empty': timer(['topic'], 'Time of a successful fetch that delivered no records.'),
  'svc.broker.request': timer(
    ['api_key', 'result'],
    'Time of a request by API. result is error or timeout if the broker could not do a part of the request or all of it, and success otherwise. A justified refusal counts as success. The percentiles of the snapshot and of the history leave out the time that a fetch waited for records and that a join or sync waited for other members.',
    { captured: 'percentiles' },
  ),
  'svc.broker.frame_size': distribution(['direction', 'api_key'], 'Bytes of a frame; direction is in or out.', {
    buckets: BYTES,
  }),
  'svc.broker.up': gauge([], '1 while the broker serves, 0 while it starts or drains.'),
  'svc.broker.failures': counter(
    ['operation', 'error_type'],
    'Failures, by operation and kind of error. The kind of an answer is its first error code that the client did not cause. Authentication is operation=auth.',
    { captured: 'rate' },
  ),
  'svc.broker.authentications': counter(
    ['mechanism', 'kind'],
    'Clients that authenticated with SASL; kind is first, or again for a re-authentication on the same connection.',
    OURS,
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
  'svc.broker.backpressure_connections': gauge(
    [],
    'Connections that the broker does not read because answers are pending.',
    {
      ours: true,
      captured: 'series',
    },
  ),
  'svc.broker.pending_bytes': gauge([], 'Bytes pending on all connections.', OURS),
  'svc.broker.throttle': timer(['api_key'], 'Time that a client was told to wait because of its quotas.', OURS),
  'svc.broker.malformed_frames': counter(
    [],
    'Connections closed because the client sent bytes that are not the Kafka protocol.',
    OURS,
  ),
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
  'svc.broker.fetch.sessions': gauge([], 'Open fetch sessions.', OURS),
  'svc.broker.fetch.session_partitions': gauge([], 'Partitions in all fetch sessions together.', OURS),
  'svc.broker.fetch.granted_bytes': gauge(
    [],
    'Bytes of memory that fetches have for their answers, until the clients have received them.',
    OURS,
  ),
  'svc.broker.fetch.deferred': counter(
    [],
    'Fetches answered without records because answers to slower clients used the memory.',
    OURS,
  ),
  'svc.broker.fetch.session_evictions': counter([], 'Fetch sessions that were removed to make room for others.', OURS),
  'svc.group.lag': gauge(
    ['group'],
    'Records that were not delivered to a group yet, over the partitions for which this is known. NaN if it is known for no partition, and for all groups above the cap.',
    { captured: 'series' },
  ),
  'svc.broker.group_bytes': gauge(
    [],
    'Bytes of members of all groups that this broker coordinates: metadata, assignments, ids, requests that wait.',
    { ours: true, captured: 'series' },
  ),
  'svc.broker.group_offset_bytes': gauge(
    [],
    'Bytes of all groups that this broker coordinates, without their members: ids and committed offsets. Empty groups count too.',
    OURS,
  ),
  'svc.broker.rebalances': counter([], 'Rebalances that completed.', OURS),
  'svc.storage.read': timer(
    ['tier', 'result', 'mode'],
    'Time of a read from the store. mode is always stream, because the broker does not read through consumer groups of the store.',
  ),
  'svc.storage.write': timer(['tier', 'result'], 'Time of a write to the store.'),
  'svc.storage.ack': timer(
    ['tier', 'result'],
    'Time until a write is as durable as an acknowledgement says; result=error if it is not, or if that is unknown.',
  ),
  'svc.storage.read.messages': distribution(['tier', 'mode'], 'Records of one read.'),
  'svc.storage.write.messages': distribution(['tier'], 'Records of one write.'),
  'svc.storage.cache_bytes': gauge([], 'Bytes in the tail cache.', OURS),
  'svc.storage.live_bytes': gauge([], 'Bytes of live batches in the local tier.', OURS),
  'svc.storage.corrupt_batches': counter([], 'Batches that could not be read as they were written.', OURS),
  'svc.storage.damaged_partitions': gauge(
    [],
    'Partitions of which the store has lost records. Clients can read the records below the loss, and new records are refused.',
    OURS,
  ),
  'svc.storage.unreadable_documents': counter(
    ['kind'],
    'Documents of the store beside the logs, or parts of them, that this broker could not read. Each counts once. They were edited by hand, or a later version wrote them. The broker logs each at ERROR.',
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
    { captured: 'percentiles' },
  ),
  'svc.storage.local.pool.pending': gauge([], 'Requests that wait for a connection of the pool.'),
  'svc.redis.command': timer(
    ['command', 'local'],
    'Time of a Redis command, if svc.redis.metrics.enabled is true; a transaction is EXEC. It has buckets only with histogram, and the label local only with local-distinction.',
    OURS,
  ),
  'svc.storage.local.redis.command': timer(
    ['command', 'local'],
    'Time of a command of the storage Redis, if that is a separate Redis.',
    OURS,
  ),
  'svc.redis.connections': gauge(['client'], 'Open connections to Redis; client is broker or storage.', OURS),
  'svc.redis.reconnects': counter(['client'], 'Connections to Redis that were lost and made again.', OURS),
  'svc.redis.breaker_moves': counter(
    ['client', 'to'],
    'Moves of the circuit breaker; to is closed, open or half-open.',
    OURS,
  ),
  'svc.redis.incarnations': counter(
    ['client'],
    'Times that the history of a Redis changed (another master_replid), by a failover or a restart.',
    OURS,
  ),
  'svc.storage.archive': timer(['result'], 'Time of the attempt that offloaded a segment, or failed to.', {
    ...REMOTE,
    buckets: ROUND_SECONDS,
  }),
  'svc.storage.archive.segments': counter([], 'Segments that were offloaded.', REMOTE),
  'svc.storage.archive.bytes': counter([], 'Stored bytes of the segments that were offloaded.', REMOTE),
  'svc.storage.archive.failures': counter(
    ['error_type'],
    'Attempts to offload a segment that failed: damaged_batch, or failed for another reason. An attempt that an object store ended that is away does not count.',
    REMOTE,
  ),
  'svc.storage.archive.lag.segments': gauge(
    [],
    'Sealed segments that wait for their offload, at the broker that holds the lease of the storage worker; 0 at the others.',
    REMOTE,
  ),
  'svc.storage.archive.lag.bytes': gauge([], 'Stored bytes of these segments.', REMOTE),
  'svc.storage.archive.lag.age_seconds': gauge(
    [],
    'Age of the oldest of these segments, since it was sealed; 0 if none waits.',
    REMOTE,
  ),
  'svc.tls.certificate_expiry_seconds': gauge(
    ['port'],
    'Seconds until the certificate of a TLS port expires, negative after that; port is broker for the Kafka listeners, and server for the admin API.',
    OURS,
  ),
  'svc.cluster.brokers': gauge([], 'Brokers on this store that are alive, including this one.', OURS),
  'svc.cluster.confirmed': gauge([], '1 while the other brokers certainly know that this one is alive.', OURS),
  'svc.cluster.leadership_changes': counter(
    ['change'],
    'Partitions whose lead this broker took (change=taken) or gave up (change=lost).',
    OURS,
  ),
  'svc.schema_registry.verdicts': counter(
    ['topic', 'reason'],
    "Records that were checked against their schemas when they were produced, those of refused batches too. reason is valid, or the rule that a record's key or value breaks.",
    { ours: true },
  ),
  'svc.schema_registry.subjects': gauge(
    [],
    'Subjects in the list that this broker keeps, those with deleted versions only included; 0 before the first question that needs all subjects.',
    OURS,
  ),
  'svc.schema_registry.highest_id': gauge([], 'The highest schema id that this broker has seen.', OURS),
  'svc.schema_registry.cache_bytes': gauge(
    ['cache'],
    'Bytes that the registry keeps in memory, about: the list of subjects (cache=list), subjects, schemas, ids, and results of its threads (cache=work).',
    OURS,
  ),
  'svc.schema_registry.work': timer(
    ['verb', 'result'],
    'Time that a schema waited for a thread and was worked on; verb is examine, compare, compile or serialize. result is done, invalid (the text is no schema), costly (the limit of processor time or memory was passed) or failed.',
    OURS,
  ),
  'svc.schema_registry.refusals': counter(
    ['code'],
    'Requests that the registry refused, by error_code: 42201 is an invalid schema, 409 an incompatible one.',
    OURS,
  ),
  'svc.mcp.calls': counter(
    ['tool', 'result'],
    'Calls of agents, by the tool, resource or prompt (unknown: no tool has the name) and by the result: ok, preview, or the code of the error.',
    OURS,
  ),
  'svc.mcp.duration': timer(['tool'], 'Time of a call of an agent, without the wait for its turn.', OURS),
  'svc.storage.append.refusals': counter(
    ['reason'],
    'Appends of which the store wrote nothing, because another broker leads (fenced), the log ends at another offset (misplaced), or the stream is removed (gone) or damaged.',
    OURS,
  ),
  'svc.storage.log_end_regressions': counter(
    [],
    'Partitions of which the store had lost the end when it came back. Offsets that this broker knew are not used again.',
    OURS,
  ),
  'svc.storage.cleaner.passes': counter(
    ['result'],
    'Passes of the cleaner over a compacted partition: done, partly (the keys did not fit the dedupe buffer), ended (the broker no longer leads or compacts the partition), uncleanable, or failed (the store did not take a piece).',
    OURS,
  ),
  'svc.storage.cleaner.bytes': counter(
    ['result'],
    'Stored bytes of the batches that the cleaner has copied (result=kept) and dropped (result=dropped).',
    OURS,
  ),
  'svc.storage.cleaner.records': counter(
    ['result'],
    'Records that the cleaner has copied (result=kept) and dropped (result=dropped).',
    OURS,
  ),
  'svc.storage.cleaner.keyless_records': counter(
    [],
    'Records without a key that the cleaner has dropped. They are older than the cleanup.policy compact of their topic.',
    OURS,
  ),
  'svc.storage.cleaner.max_dirty_ratio': gauge(
    [],
    'The largest dirty share of a compacted partition that this broker leads, from 0 to 1, as of the last round.',
    OURS,
  ),
  'svc.storage.cleaner.oldest_dirty_age_seconds': gauge(
    [],
    'Age of the oldest record that the cleaner may clean and has not cleaned, over all partitions, as of the last round.',
    OURS,
  ),
  'svc.storage.cleaner.uncleanable_partitions': gauge(
    [],
    'Compacted partitions that the cleaner leaves alone, because it cannot read one of their batches.',
    OURS,
  ),
  'svc.storage.worker.up': gauge(
    [],
    '1 while this broker holds the lease of the storage worker and starts the rounds of the cluster.',
  ),
  'svc.storage.worker.failures': counter(['phase', 'error_type'], 'Steps of the storage worker that failed.'),
  'svc.storage.worker.round': timer([], 'Rounds of the storage worker, at the broker that holds the lease.', {
    ...OURS,
    buckets: ROUND_SECONDS,
  }),
  'svc.storage.worker.phase': timer(
    ['phase'],
    'Phases of rounds (roll, retention, cleaning) that had something to do on a partition, at the broker that leads it.',
    { ...OURS, buckets: ROUND_SECONDS },
  ),
  'svc.storage.worker.refusals': counter(
    ['reason'],
    'Work of the storage worker that was refused: a round of a sender that does not hold the lease (not_holder), a round of this broker while the store has not confirmed its lease (unconfirmed), or a trim or rewrite of a partition that another broker leads (fenced).',
    OURS,
  ),
  'svc.storage.worker.rolled_segments': counter([], 'Segments that the storage worker sealed.', OURS),
  'svc.storage.worker.dropped_bytes': counter([], 'Stored bytes that retention dropped.', OURS),
  'jvm.memory.used': gauge(
    ['area'],
    "Bytes in use. On Node area=heap is V8's heap, and area=nonheap is V8's memory outside of the heap, mainly buffers.",
  ),
  'jvm.memory.max': gauge(
    ['area'],
    "The most bytes that V8's heap may take (area=heap). The other memory has no limit of its own.",
  ),
  'jvm.gc.pause': timer(
    ['action'],
    "Time of V8's garbage collections, most of it a pause; action is minor, major, incremental or weak-callbacks.",
  ),
  'jvm.threads.live': gauge([], 'Threads of the process as the kernel counts them; NaN on a system other than Linux.'),
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
  /** The current value. */
  readonly value: number
  set(value: number): void
  inc(by?: number): void
  dec(by?: number): void
}

export interface ObservedChild {
  /**
   * Observes milliseconds for a timer, or the metric's own unit for a distribution. If `captured` is given, the
   * percentiles of the history count it instead of `value`.
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
  readonly isRemote: boolean
}

/** Returns the name in a scrape. */
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
  /** The total of a counter, the value of a gauge, or the sum of the observations. */
  readonly value: number
  /** The number of observations. */
  readonly count: number
  /** The observations since the last `clear`; null if the table asks for no percentiles. */
  readonly step: StepHistogram | null
}

/** The answer to a scrape. */
export interface Scrape {
  readonly contentType: string
  readonly chunks: AsyncIterable<string>
}

export interface Metrics {
  /** Returns the child for these labels; always the same object. Keep it if you use it often. */
  child<N extends MetricName>(name: N, labels: Labels<N>): Child<N>
  count<N extends CounterName>(name: N, labels: Labels<N>, by?: number): void
  observe<N extends ObservedName>(name: N, labels: Labels<N>, value: number): void
  set<N extends GaugeName>(name: N, labels: Labels<N>, value: number): void
  /**
   * Makes each scrape call `read` for the value of the gauge. A later call for the same gauge replaces an earlier one.
   */
  sample<N extends GaugeName>(name: N, labels: Labels<N>, read: () => number): void
  /** Removes the gauge from the scrape, whether it was set or sampled. */
  remove<N extends GaugeName>(name: N, labels: Labels<N>): void
  /** Drops all children whose label has this value, in every metric, because the topic, group or socket is gone. */
  forget(label: (typeof MORTAL)[number], value: string): void
  /** Returns the sum of a counter over all its labels. Forgotten children count too, so the sum never falls. */
  total(name: CounterName): number
  /** Returns the children of a metric, without sampled gauges. */
  series(name: MetricName): Iterable<Series>
  /** Returns the value of the gauge in a scrape; NaN if it was never set. */
  read<N extends GaugeName>(name: N, labels: Labels<N>): number
  /**
   * Returns every series in the format that the Accept header prefers: OpenMetrics 1.0 or Prometheus text 0.0.4. The
   * text comes in slices of whole children. The event loop runs other work between the slices.
   */
  exposition(accept: string | undefined, clock: Clock): Scrape
  /** Resolves with all series in the text format 0.0.4, written in one go. For few series only. */
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

/** The labels whose values can disappear: a topic, a group or a socket. */
const MORTAL = ['topic', 'group', 'local'] as const

interface Entry {
  readonly row: MetricRow
  /**
   * For each label in MORTAL and each of its values, the keys of the children that have it, so that `forget` needs no
   * search. A metric with one label has no entries: the value is the key.
   */
  readonly keysOf: ReadonlyMap<string, Map<string, Set<string>>>
  readonly cells: Map<string, Cell>
  readonly samples: Map<string, Sample>
  /** The sums of forgotten children of a counter. */
  forgotten: number
}

/**
 * Upper bounds that replace those of the table, in seconds for a timer. If the list is empty, only +Inf, count and sum
 * are left.
 */
export type Buckets = Readonly<Partial<Record<ObservedName, readonly number[]>>>

/** How the remote tier is measured: its own metrics, and the children of others with tier=remote. */
export interface RemoteMeters {
  /** False: the scrape has none of them. */
  readonly isScraped: boolean
  /** Labels that they get in a scrape, beside their own. A name that a metric has already is left out. */
  readonly tags: ReadonlyMap<string, string>
}

const ALL_REMOTE: RemoteMeters = Object.freeze({ isScraped: true, tags: new Map() })

/**
 * Creates the metrics of one broker. Metrics without labels are present from the start; the others appear with their
 * first child.
 */
export function createMetrics(buckets: Buckets = {}, remote: RemoteMeters = ALL_REMOTE): Metrics {
  const entries = new Map<string, Entry>(
    metricRows.map(row => {
      const bounded = { ...row, buckets: buckets[row.name as ObservedName] ?? row.buckets }
      return [row.name, { row: bounded, keysOf: indexOf(row), cells: new Map(), samples: new Map(), forgotten: 0 }]
    }),
  )
  const scraped = metricRows
    .filter(({ notYet, isRemote }) => notYet === null && (remote.isScraped || !isRemote))
    .map(({ name }) => entries.get(name)!)

  function find(name: MetricName, labels: Readonly<Record<string, string>>): Cell {
    const entry = entries.get(name)!
    const { row, cells } = entry
    const key = keyOf(row, labels)
    const known = cells.get(key)
    if (known !== undefined) return known
    const cell = makeCell(row, labels, textOf(row, labels))
    cells.set(key, cell)
    enter(entry, key, labels)
    return cell
  }

  /** Returns the labels of a child in a scrape. */
  function textOf(row: MetricRow, labels: Readonly<Record<string, string>>): string {
    if (!isOfRemote(row, labels)) return labelText(row.labels, labels)
    const tags = Array.from(remote.tags, ([name, value]) => [labelNameOf(name), value] as const)
    const added = tags.filter(([name]) => !row.labels.includes(name) && name !== 'le')
    return labelText([...row.labels, ...added.map(([name]) => name)], { ...Object.fromEntries(added), ...labels })
  }

  for (const { row } of scraped) if (row.labels.length === 0) find(row.name, {})

  const families = (format: Format) =>
    writeFamilies(
      scraped.map(entry => ({ ...entry.row, children: () => childrenOf(entry, remote.isScraped) })),
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
      samples.set(key, { labelText: textOf(row, labels), read })
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

/** Yields the children of a metric. A sampled gauge replaces one that was set. */
function* childrenOf({ row, cells, samples }: Entry, hasRemote: boolean): Generator<Exposed> {
  if (row.kind !== 'gauge') {
    for (const cell of cells.values()) if (hasRemote || !isOfRemote(row, cell.labels)) yield cell
    return
  }
  for (const [key, cell] of cells) if (!samples.has(key)) yield cell
  for (const { labelText, read } of samples.values()) yield { labelText, value: read(), counts: null }
}

/** Returns the name as a scrape allows it. */
const labelNameOf = (name: string) => name.replaceAll(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_')

const isOfRemote = ({ isRemote }: MetricRow, labels: Readonly<Record<string, string>>) =>
  isRemote || labels['tier'] === 'remote'

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

function makeCell(row: MetricRow, labels: Readonly<Record<string, string>>, text: string): Cell {
  const { buckets } = row
  const unit = row.kind === 'timer' ? 1000 : 1
  const counts = row.kind === 'timer' || row.kind === 'distribution' ? new Float64Array(buckets.length + 1) : null
  const step = row.captured === 'percentiles' ? new StepHistogram() : null
  const cell: Cell = {
    labels: Object.freeze({ ...labels }),
    labelText: text,
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
