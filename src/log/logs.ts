// The logs of a broker. It opens every partition that the broker leads, gives up those that it no longer leads, follows
// topics as they come and go, and shares one tail cache, one set of waiters and one upkeep among them. It runs rounds
// of the storage worker over them. partition.ts has the work of one partition.

import { type Clock, within } from '../base/clock.ts'
import { watchClockJumps } from '../base/clock-jumps.ts'
import type { Random } from '../base/random.ts'
import { Semaphore } from '../base/semaphore.ts'
import { because, NOT_LEADER_OR_FOLLOWER, type Refusal, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import type { BatchView } from '../protocol/records.ts'
import type { Settings } from '../settings/settings.ts'
import { isStoreFailure, type Space, type Store, streamId } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ColdTier } from './archive.ts'
import type { CatalogueKeeper, Topic } from './catalogue.ts'
import { Cleaner } from './cleaner/cleaner.ts'
import { CleanerThread } from './cleaner/cleaner-thread.ts'
import type { Work } from './cleaner/cleaner-work.ts'
import { ColdReads } from './cold-reads.ts'
import { Compression } from './compression.ts'
import { Dictionaries } from './dictionaries.ts'
import { Holdings } from './holdings.ts'
import type { Judge } from './judge.ts'
import { Judgings } from './judging.ts'
import type { Lane } from './lane.ts'
import type { Leadership } from './leadership.ts'
import { startOffsetGauges } from './offset-gauges.ts'
import { Partition, type PartitionRooms, type ReadResult } from './partition.ts'
import { type PartitionState, ProducerCount } from './partition-state.ts'
import { ReadAhead } from './read-ahead.ts'
import { readRange } from './read-range.ts'
import { partitionName, RefusedBatches } from './refused-batches.ts'
import { type RemoteNews, RemoteNewsOf } from './remote-news.ts'
import {
  type Cleaned,
  type CleaningShare,
  cleanDue,
  type Phase,
  type RoundReport,
  type RoundRooms,
  tendAll,
} from './round.ts'
import { SegmentDocuments } from './segment-documents.ts'
import type { SealedSegments } from './segments.ts'
import { TableReads, type UnreadTable, unreadTables } from './table-reads.ts'
import { TailCache } from './tail-cache.ts'
import { SEARCHES_AT_ONCE } from './time-search.ts'
import { Unpacking } from './unpacking.ts'
import { startUpkeep } from './upkeep.ts'
import { createWaiters, type Watch, type Watchlist } from './waiters.ts'

export interface LogsRooms {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly leadership: Leadership
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
  /**
   * Resolves with the highest offset that any consumer has committed for this partition (the next offset that it
   * reads); 0 if there are no commits.
   */
  committedUpTo?(topicId: string, index: number): Promise<number>
  /** The remote tier; null or absent without storage.remote.path. */
  readonly coldTier?: ColdTier | null
  /** Judges records that are produced; null or absent: none are judged. */
  readonly judge?: Judge | null
  /** Does the cleaner's work on the event loop, for runs on a simulated clock. By default a thread does it. */
  readonly cleanerWork?: Work
}

export interface Logs {
  /** Returns null if the topic or partition does not exist, or this broker does not lead it. */
  partition(topicId: string, index: number): Partition | null
  /**
   * Notes that a batch was refused because this broker does not lead the partition, or does not know its topic yet.
   * This broker may get the lead or the topic before the producer's next batch arrives.
   */
  refused(
    topic: { readonly id: string } | { readonly name: string },
    index: number,
    batch: BatchView,
    refusal: Refusal,
  ): void
  /**
   * Applies a change of the leaders. Gives up the partitions that this broker no longer leads: accepted batches are
   * finished, and the others are refused. Opens the partitions that it leads now. Resolves when both are done. Calls
   * take effect one after the other.
   */
  reassign(): Promise<void>
  /**
   * Opens those partitions of this broker again that another broker has led since, by the highest known epochs (-1:
   * unknown). A broker with another view may have written to them for a moment.
   */
  regain(epochOf: (topicId: string, index: number) => number): void
  /**
   * Gives up the rest of a partition that the store has lost, or that is damaged because all its batches are gone. The
   * partition begins again, empty, above all offsets that a client may know. Resolves with its first offset or a
   * refusal. Throws what the store throws.
   */
  remake(topicId: string, index: number): Promise<number | Refusal>
  /**
   * Resolves with the stored segments of any partition: while its leader is away, the store alone knows them. Throws
   * what the store throws, or UnreadableDocument.
   */
  sealedSegments(topicId: string, index: number): Promise<SealedSegments>
  /**
   * Yields the batches of the offsets [base, next) of any partition: whole, in order, as clients see them, with their
   * checksums verified. The caller needs no lead. Throws UnreadableBatch, and what the store throws.
   */
  readRange(topicId: string, index: number, base: number, next: number): AsyncIterable<readonly Uint8Array[]>
  /**
   * Returns the partitions that this broker leads, of topics that use the remote tier or have used it, whose documents
   * of segments it has loaded or changed after `since` (`to` of an earlier answer of this process; 0: all of them).
   */
  remoteNews(since: number): RemoteNews
  /**
   * Returns the topics whose partitions here take no records because the table of the topic could not be read at the
   * last attempt, with the reason.
   */
  unreadTables(): readonly UnreadTable[]
  /** Returns a list with which a reader waits for news of many partitions. */
  watchlist<W extends Watch>(): Watchlist<W>
  /** Opens batches for callers that need single records. */
  readonly unpacking: Unpacking
  readonly cleaner: Cleaner
  /** Resolves with the place of the logs and its free space. Throws what the store throws. */
  space(): Promise<Space>
  /** Ends every wait, and each later one at once, because the broker drains. */
  releaseWaiters(): void
  /**
   * Runs one round of the storage worker over the partitions of this broker (round.ts), with this share of its
   * concurrency. Joins the round that is in progress.
   */
  runRound(share: RoundShare): Promise<RoundReport>
  /** Refuses new work and finishes the work that is with the store. The store stays open. */
  close(): Promise<void>
}

export interface RoundShare {
  /** The most partitions that are worked on at the same time. */
  readonly concurrency: number
  readonly isCleaningAllowed: boolean
}

const NOTHING_CLEANED: Cleaned = Object.freeze({ cleaned: 0, cleanedBytes: 0, failures: 0 })

/** The most streams that are opened at one time. */
const OPEN_AT_ONCE = 1000

/** The delay before the broker looks again whether a missing partition was removed or lost. */
const LOOK_AGAIN_MS = 1_000

/** The most partitions that a log line about a change of leaders names. */
const NAMED_AT_ONCE = 20

/**
 * Opens the logs. Resolves when every partition of this broker has been opened, or at least tried once. A partition
 * that fails is tried again while the others work.
 */
export async function openLogs(given: LogsRooms): Promise<Logs> {
  const { store, catalogue, leadership, settings, clock, random, metrics } = given
  const logger = given.logger.named('log')
  /** The partitions of each topic; null for a partition that another broker leads. */
  const topics = new Map<string, readonly (Partition | null)[]>()
  const holdings = new Holdings(leadership)
  const cache = new TailCache(settings.get('storage.local.tail-cache-bytes'))
  const waiters = createWaiters(clock)
  /** Partitions that are being closed and still have work at the store. */
  const closing = new Set<Promise<void>>()
  const due: Lane[] = []
  let isClosed = false
  /** The number of partitions that this broker leads. */
  let led = 0

  const { unreadable = UNNAMED } = given
  const dictionaries = new Dictionaries({ store, settings, clock, logger, unreadable })
  void dictionaries.sweep()
  const compression = new Compression({ logger, metrics, dictionaries })
  const news = new RemoteNewsOf(() => topics)
  const documents = new SegmentDocuments({
    store,
    clock,
    random,
    leadership,
    logger,
    unreadable,
    changed: state => news.note(state),
    held: state => tableReads.held(state),
  })
  const lookForJumps = watchClockJumps(clock, jumpMs => {
    logger.warn(
      'the system clock has jumped forward; until tomorrow the broker drops no data that is too old only because of the jump',
      { jumpMs },
    )
  })
  const trustedNow = () => clock.now() - lookForJumps()
  const tier = given.coldTier ?? null
  const tableReads = new TableReads({ tier, documents, clock, logger, partitionsOf, trustedNow })
  const run = random.bytes(9).toString('base64url')
  let attempts = 0
  const unpacking = new Unpacking(clock)
  const rooms: PartitionRooms = {
    unpacking,
    judge: given.judge ?? null,
    judgings: new Judgings(clock, logger),
    searches: new Semaphore(clock, SEARCHES_AT_ONCE),
    store,
    clock,
    logger,
    compression,
    leadership,
    refused: new RefusedBatches(clock),
    cold: new ColdReads(tier),
    changeSegments: (state, decide) => documents.change(state, decide),
    held: state => tableReads.held(state),
    loadSegments: state => documents.load(state),
    producerCount: new ProducerCount(),
    gone: state => void findOut(state),
    nextAttempt: () => `${run}${++attempts}`,
    trustedNow,
    due(lane) {
      if (due.push(lane) === 1) clock.soon(formDue)
    },
    writes: {
      done: metrics.child('svc.storage.write', { tier: 'local', result: 'success' }),
      failed: metrics.child('svc.storage.write', { tier: 'local', result: 'error' }),
      acknowledged: metrics.child('svc.storage.ack', { tier: 'local', result: 'success' }),
      unacknowledged: metrics.child('svc.storage.ack', { tier: 'local', result: 'error' }),
      records: metrics.child('svc.storage.write.messages', { tier: 'local' }),
      refused: reason => metrics.count('svc.storage.append.refusals', { reason }),
      workRefused: () => metrics.count('svc.storage.worker.refusals', { reason: 'fenced' }),
    },
    readAhead: new ReadAhead<ReadResult>(clock),
    reads: {
      done: metrics.child('svc.storage.read', { tier: 'local', result: 'success', mode: 'stream' }),
      failed: metrics.child('svc.storage.read', { tier: 'local', result: 'error', mode: 'stream' }),
      records: metrics.child('svc.storage.read.messages', { tier: 'local', mode: 'stream' }),
      corrupt: metrics.child('svc.storage.corrupt_batches', {}),
      lossy: metrics.child('svc.broker.lossy_records', { reason: 'corrupt' }),
    },
  }

  const thread = new CleanerThread(clock)
  const cleaner = new Cleaner({
    store,
    compression,
    logger,
    metrics,
    work: given.cleanerWork ?? thread,
    mapBytes: settings.get('storage.worker.dedupe-buffer'),
    cleanableUpTo: partition => partition.activeFrom,
    stop: () => thread.stop(),
  })

  const offsetGauges = startOffsetGauges({ partitions, count: () => led, settings, clock, logger, metrics })

  function formDue(): void {
    for (const lane of due.splice(0)) lane.form()
  }

  function* partitions(): Generator<Partition> {
    for (const each of topics.values()) for (const partition of each) if (partition !== null) yield partition
  }

  function* partitionsOf(topicId: string): Generator<Partition> {
    for (const partition of topics.get(topicId) ?? []) if (partition !== null) yield partition
  }

  /**
   * Gives topics the partitions that this broker leads now, and closes those that it no longer leads. Returns the new
   * partitions. The caller must open them.
   */
  function arrange(some: Iterable<Topic>): readonly Partition[] {
    const taken: Partition[] = []
    const lost: Partition[] = []
    for (const topic of some) arrangeOne(topic, taken, lost)
    for (const partition of lost) {
      shut(partition, NOT_LED_HERE)
      offsetGauges.drop(partition)
    }
    tell('leads no more', 'lost', lost)
    return taken
  }

  function arrangeOne(topic: Topic, taken: Partition[], lost: Partition[]): void {
    const before = topics.get(topic.id) ?? []
    const after = Array.from({ length: topic.partitions }, (_, index) => {
      const known = before[index] ?? null
      if (leadership.leads(topic.id, index)) {
        if (known !== null) return known
        const partition = new Partition(rooms, topic, index, cache.tail(0))
        taken.push(partition)
        led++
        return partition
      }
      if (known === null) return null
      lost.push(known)
      led--
      holdings.leave(known, topic)
      return null
    })
    topics.set(topic.id, after)
  }

  async function open(made: readonly Partition[]): Promise<void> {
    for (let i = 0; i < made.length; i += OPEN_AT_ONCE) {
      await Promise.all(made.slice(i, i + OPEN_AT_ONCE).map(partition => partition.open()))
    }
    offsetGauges.show(made)
  }

  /**
   * Finds out whether the topic was removed or the store has lost the stream. The catalogue itself reports a removal.
   */
  async function findOut(state: PartitionState): Promise<void> {
    try {
      await catalogue.catchUp()
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      if (!isClosed) clock.timer(LOOK_AGAIN_MS, () => void findOut(state))
      return
    }
    if (!catalogue.current().topicsById.has(state.topic.id) || state.isLost) return
    state.lose()
    logger
      .limited('partition-lost', 10_000)
      .error(
        'the store has lost a partition: bring its keys back and restart the broker, or give up its records with DeleteRecords to -1 (ketch topics delete-records TOPIC --before=end --partition=N), and it begins anew',
        { partition: state.name, end: state.end },
      )
  }

  async function remake(topicId: string, index: number): Promise<number | Refusal> {
    const lost = topics.get(topicId)?.[index] ?? null
    const refusal = lost?.state.refusal ?? lost?.state.damage ?? null
    if (lost === null || refusal === null || !leadership.isConfirmed) return NOT_LED_HERE
    await catalogue.catchUp()
    const topic = catalogue.current().topicsById.get(topicId)
    if (topic === undefined) return because(UNKNOWN_TOPIC_OR_PARTITION, `Topic '${lost.topicName}' has been removed.`)
    const { state } = lost
    // A broker that has led the partition knows its end; otherwise only the offsets that consumers have committed are
    // left.
    const isKnown = state.epoch > 0
    const committed = isKnown ? 0 : ((await given.committedUpTo?.(topicId, index)) ?? 0)
    const epoch = Math.max(state.epoch, leadership.epochOf(topicId, index), state.sealed.epoch)
    const outcome = await store.remake(
      state.stream,
      epoch,
      Math.max(state.end, state.highWatermark, state.sealed.end, state.archivedEnd, committed),
    )
    if (outcome.kind === 'kept') return refusal
    const led = topics.get(topicId) ?? []
    // Another broker leads the partition by now, and opens the new stream.
    if (led[index] !== lost) return NOT_LED_HERE
    const fresh = new Partition(rooms, topic, index, cache.tail(outcome.start))
    topics.set(
      topicId,
      led.map(each => (each === lost ? fresh : each)),
    )
    offsetGauges.drop(lost)
    await lost.close(NOT_LED_HERE)
    await open([fresh])
    logger.warn('a partition that the store had lost begins again, empty', {
      partition: fresh.state.name,
      offset: outcome.start,
      epoch: fresh.leaderEpoch,
    })
    // Archived records are still there.
    return fresh.refusal ?? (fresh.isRemote ? fresh.logStartOffset : outcome.start)
  }

  let lastReassignment: Promise<void> = Promise.resolve()

  async function reassign(): Promise<void> {
    if (isClosed) return
    const taken = arrange(catalogue.current().topics.values())
    await Promise.all(closing)
    await open(taken)
    tell('leads', 'taken', taken)
  }

  function tell(what: string, change: 'lost' | 'taken', changed: readonly Partition[]): void {
    if (changed.length === 0) return
    metrics.count('svc.cluster.leadership_changes', { change }, changed.length)
    const names = changed.slice(0, NAMED_AT_ONCE).map(each => `${each.state.name} (epoch ${each.leaderEpoch})`)
    const rest = changed.length > names.length ? ` and ${changed.length - names.length} more` : ''
    logger.info(`this broker ${what} ${names.join(', ')}${rest}`, { partitions: changed.length })
    if (!logger.isEnabled('DEBUG')) return
    for (const { state, leaderEpoch } of changed) {
      logger.debug(`this broker ${what} ${state.name}`, { partition: state.name, epoch: leaderEpoch })
    }
  }

  function shut(partition: Partition, refusal: Parameters<Partition['close']>[0]): void {
    const closed = partition.close(refusal).finally(() => closing.delete(closed))
    closing.add(closed)
  }

  catalogue.watch({
    added: fresh => open(arrange(fresh)),
    async changed(known) {
      for (const topic of known) {
        for (const partition of partitionsOf(topic.id)) {
          partition.reconfigure(topic)
          news.note(partition.state)
          if (partition.state.hold !== null) tableReads.held(partition.state)
        }
      }
      const counts = new Map(known.map(({ id }) => [id, topics.get(id)?.length ?? 0]))
      const taken = arrange(known)
      // A partition that this broker gave up a moment ago finishes its appends before it is opened again.
      await Promise.all(closing)
      await open(taken)
      const reassigned = taken.filter(({ topicId, index }) => index < counts.get(topicId)!)
      tell('leads', 'taken', reassigned)
    },
    replaced(_, gone) {
      const lost = metrics.child('svc.broker.lossy_records', { reason: 'lost' })
      for (const topic of gone) lost.inc(holdings.of(topic, topics.get(topic.id) ?? []))
    },
    removed(gone) {
      for (const topic of gone) {
        const refusal = because(UNKNOWN_TOPIC_OR_PARTITION, `Topic '${topic.name}' has been removed.`)
        for (const partition of topics.get(topic.id) ?? []) {
          if (partition === null) continue
          led--
          shut(partition, refusal)
        }
        topics.delete(topic.id)
        holdings.forget(topic.id)
        dictionaries.removed(topic)
        void documents.removed(topic)
        metrics.forget('topic', topic.name)
      }
    },
  })
  await open(arrange(catalogue.current().topics.values()))
  void documents.sweep(catalogue)

  /** Opens the partitions again that the store may have lost. Ends when the store is closed. */
  async function followStore(): Promise<void> {
    for (let streams = await store.renewed(); streams !== null; streams = await store.renewed()) {
      const renewed = new Set(streams)
      const concerned = [...partitions()].filter(({ state }) => renewed.has(state.stream))
      logger.warn('the store may have lost what it had; partitions are opened again', { partitions: concerned.length })
      for (const partition of concerned) partition.reopen()
      dictionaries.renewed()
    }
  }
  void followStore()

  metrics.sample('svc.storage.cache_bytes', {}, () => cache.bytes)
  metrics.sample('svc.storage.live_bytes', {}, () => {
    let bytes = 0
    for (const partition of partitions()) bytes += partition.sizeBytes
    return bytes
  })
  metrics.sample('svc.storage.cleaner.uncleanable_partitions', {}, () => {
    let uncleanable = 0
    for (const partition of partitions()) if (partition.uncleanable !== null) uncleanable++
    return uncleanable
  })
  metrics.sample('svc.storage.damaged_partitions', {}, () => {
    let damaged = 0
    for (const partition of partitions()) if (partition.isDamaged) damaged++
    return damaged
  })

  function countFailure(phase: Phase | 'learning', error: unknown): void {
    const name = error instanceof Error ? error.name : 'unknown'
    metrics.count('svc.storage.worker.failures', { phase, error_type: name })
  }

  const upkeep = startUpkeep({ partitions, trustedNow, settings, clock, logger, failed: countFailure })
  const intervalMs = settings.get('storage.worker.tick-interval')
  /** After this time without a round no broker holds the lease of the storage worker, and nothing may be cleaned. */
  const holderMs = settings.get('storage.worker.lease-duration') + 3 * intervalMs
  let round: Promise<RoundReport> | null = null
  /** The newest request for a round. */
  let asked = { atMs: Number.NEGATIVE_INFINITY, isCleaningAllowed: false }

  /** The passes of the cleaner that go on; null if none does. */
  let cleaning: Promise<void> | null = null
  /** The passes that have ended and that no round has reported. */
  let cleaned: Cleaned = NOTHING_CLEANED

  async function startRound({ concurrency }: RoundShare): Promise<RoundReport> {
    const rounds = {
      clock,
      leadership,
      documents,
      cleaner,
      tier,
      trustedNow,
      failed(phase: Phase, { state }: Partition, error: unknown) {
        countFailure(phase, error)
        logger
          .limited(phase, 60_000)
          .warn(`the phase ${phase} of the storage worker failed; the next round tries again`, {
            partition: state.name,
            error,
          })
      },
      timed: (phase: Phase, tookMs: number) => metrics.observe('svc.storage.worker.phase', { phase }, tookMs),
    }
    const nowMs = trustedNow()
    const share = { partitions: [...partitions()], concurrency, nowMs, leastChunkMs: intervalMs }
    const tended = await tendAll(rounds, { ...share, isStopped: () => isClosed })
    // The gauges of the cleaner change with this, also while a pass goes on and while no partition may be cleaned.
    const dueNow = () => cleaner.candidates(share.partitions, nowMs).map(({ partition }) => partition)
    const due = dueNow()
    // A tombstone may have come since the round began, and the time for which it stays must not begin before.
    if (!isCleaningOver()) cleaning ??= clean(rounds, { due, nowMs: trustedNow(), isOver: isCleaningOver })
    // A pass may take hours. The next rounds roll and drop meanwhile, and one of them reports it. The answer of this
    // round must be there before the next one is due.
    if (cleaning !== null) await within(clock, intervalMs / 2, cleaning, () => undefined)
    const report = {
      ...tended,
      due: due.length === 0 ? 0 : dueNow().length,
      ...cleaned,
      failures: tended.failures + cleaned.failures,
    }
    cleaned = NOTHING_CLEANED
    metrics.count('svc.storage.worker.rolled_segments', {}, report.rolled)
    metrics.count('svc.storage.worker.dropped_bytes', {}, report.droppedBytes)
    return report
  }

  /** Returns true if the broker closes, the newest round allows no cleaning, or no broker asks for rounds any more. */
  function isCleaningOver(): boolean {
    return isClosed || !asked.isCleaningAllowed || clock.monotonic() - asked.atMs >= holderMs
  }

  async function clean(rounds: RoundRooms, share: CleaningShare): Promise<void> {
    try {
      const done = await cleanDue(rounds, share)
      cleaned = {
        cleaned: cleaned.cleaned + done.cleaned,
        cleanedBytes: cleaned.cleanedBytes + done.cleanedBytes,
        failures: cleaned.failures + done.failures,
      }
    } finally {
      cleaning = null
    }
  }

  function joinRound(share: RoundShare): Promise<RoundReport> {
    asked = { atMs: clock.monotonic(), isCleaningAllowed: share.isCleaningAllowed }
    round ??= startRound(share).finally(() => {
      round = null
    })
    return round
  }

  return {
    partition: (topicId, index) => topics.get(topicId)?.[index] ?? null,
    refused(topic, index, batch, refusal) {
      const place = 'id' in topic ? streamId(topic.id, index) : partitionName(topic.name, index)
      rooms.refused.note(place, batch, refusal)
    },
    regain(epochOf) {
      for (const partition of partitions()) {
        if (epochOf(partition.topicId, partition.index) > partition.leaderEpoch) partition.reopen()
      }
    },
    remake,
    reassign() {
      lastReassignment = lastReassignment.then(reassign)
      return lastReassignment
    },
    sealedSegments: (topicId, index) => documents.read(streamId(topicId, index)),
    readRange: (topicId, index, base, next) => readRange({ store, compression }, topicId, index, base, next),
    remoteNews: since => news.since(since),
    unreadTables: () => unreadTables(partitions()),
    watchlist: () => waiters.watchlist(),
    unpacking,
    cleaner,
    space: () => store.space(),
    releaseWaiters: () => waiters.release(),
    runRound: joinRound,
    async close() {
      isClosed = true
      waiters.release()
      tableReads.close()
      await lastReassignment
      offsetGauges.stop()
      await upkeep.stop()
      // The pass in progress ends with its current piece.
      await cleaner.stop()
      await Promise.all([round, cleaning])
      const refusal = because(NOT_LEADER_OR_FOLLOWER, 'The broker is shutting down; nothing was appended.')
      for (const partition of partitions()) shut(partition, refusal)
      await Promise.all(closing)
      compression.close()
      await dictionaries.close()
      documents.close()
    },
  }
}

const NOT_LED_HERE = because(NOT_LEADER_OR_FOLLOWER, 'Another broker leads the partition; nothing was appended.')
