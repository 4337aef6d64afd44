// The rounds of the remote tier at the broker that holds the worker's lease: hears from the leaders which partitions
// changed, starts the work of the topics that have something to do, and tells all brokers what waits. Work that takes
// longer than a round goes on beside the next ones. topic-work.ts has the work for one topic.

import { aFewAtATime } from '../../base/a-few.ts'
import type { Patience } from '../../base/patience.ts'
import { mayExist } from '../../log/catalogue.ts'
import { isStoreFailure, UnreadableDocument } from '../../store/store.ts'
import { DecoderThreads } from '../columns/decoder-thread.ts'
import { EncoderThreads } from '../columns/encoder-thread.ts'
import { EncoderMemory, threadBytesOf } from '../offload/encoder-memory.ts'
import { SizeRatios } from '../offload/file-plan.ts'
import type { Jobs, Unreadable } from '../offload/job-documents.ts'
import { jobId } from '../offload/jobs.ts'
import { backlogOf, evictable, type JobsOfTopics } from './backlog.ts'
import { dropTables } from './dropped-tables.ts'
import { OffloadMeters } from './offload-meters.ts'
import type { HolderRooms, OffloadReport, RemoteNews, RemoteRounds } from './remote-rounds.ts'
import type { TierParts } from './tier-parts.ts'
import { NotHolder } from './topic-table.ts'
import { type TopicConfig, TopicWork } from './topic-work.ts'
import type { WorkRooms } from './work-rooms.ts'

/** A term of the lease, as this broker serves it. */
interface Service {
  readonly fence: number
  readonly over: AbortController
  readonly rooms: WorkRooms
  readonly topics: Map<string, TopicWork>
  /** By broker: its start, and the change up to which its news were heard. */
  readonly heard: Map<number, { readonly incarnation: string; readonly to: number }>
  /** The partitions whose documents are to be read, by topic. */
  readonly news: Map<string, Set<number>>
  /** Whether the jobs of deleted topics were removed. */
  isSwept: boolean
}

/** A place that does not create an object only once is asked again after this time. */
const VERDICT_MS = 10 * 60_000

export function openHolder(parts: TierParts, { lease, logs }: HolderRooms): RemoteRounds {
  const { clock, settings, metrics, logger, notices, breaker } = parts
  const concurrency = settings.get('storage.worker.tick-concurrency')
  const threads = settings.get('storage.remote.iceberg.offload.threads')
  const encoders = new EncoderThreads(clock, threads)
  // A file is read back in less than half of the time that it took to encode.
  const decoders = new DecoderThreads(clock, Math.ceil(threads / 2))
  const meters = new OffloadMeters({ clock, metrics, logger })
  const limitBytes = settings.get('storage.remote.iceberg.offload.memory')
  const memory = new EncoderMemory(limitBytes, threadBytesOf(limitBytes, threads))
  const ratios = new SizeRatios()
  /** The work in progress, of this term or an earlier one. */
  const running = new Map<string, Promise<void>>()
  const queue: (() => Promise<void>)[] = []
  let active = 0
  let service: Service | null = null
  let isReleased = false
  let jobsOf: JobsOfTopics = new Map()
  /** The last time when the place was not known to be unsafe. */
  let verdictAtMs = clock.monotonic()

  metrics.sample('svc.storage.archive.lag.segments', {}, () => lag().segments)
  metrics.sample('svc.storage.archive.lag.bytes', {}, () => lag().bytes)
  metrics.sample('svc.storage.archive.lag.age_seconds', {}, () => {
    const { oldestSealedAtMs } = lag()
    return oldestSealedAtMs === null ? 0 : Math.max(0, (clock.now() - oldestSealedAtMs) / 1_000)
  })

  /** Returns what waits; at brokers without the lease nothing does. */
  const lag = () => backlogOf(service === null ? new Map() : jobsOf, clock.now(), isCopied)

  const isCopied = (topicId: string) => {
    const resolved = parts.catalogue.current().topicsById.get(topicId)?.resolved
    return resolved?.remoteStorageEnable === true && !resolved.remoteLogCopyDisable
  }

  function begin(fence: number): void {
    if (isReleased || (service !== null && service.fence === fence && !service.over.signal.aborted)) return
    end()
    const over = new AbortController()
    const patience: Patience = {
      untilMs: Number.POSITIVE_INFINITY,
      ended: over.signal,
      get isOver() {
        return over.signal.aborted || breaker.isOpen
      },
    }
    const term = { fence, patience, lease }
    const rooms: WorkRooms = {
      ...{ parts, term, logs, encoders, memory, ratios, meters, summarize: decoders.summarize },
      settings: {
        rowGroupBytes: settings.get('storage.remote.iceberg.row-group-size'),
        targetFileBytes: settings.get('storage.remote.iceberg.target-file-size'),
        batchBytes: settings.get('storage.remote.iceberg.batch-bytes'),
        verify: settings.get('storage.remote.verify'),
        maxFileWaitMs: settings.get('storage.remote.iceberg.max-file-wait'),
        maxAttempts: settings.get('storage.worker.offload-jobs.max-attempts'),
        threads,
      },
    }
    service = { fence, over, rooms, topics: new Map(), heard: new Map(), news: new Map(), isSwept: false }
  }

  function end(): void {
    service?.over.abort()
    service = null
    jobsOf = new Map()
  }

  async function run(): Promise<void> {
    const now = service
    if (now === null) return
    try {
      if (breaker.isOpen) await breaker.check()
      forgetVerdict()
      await readNews(now)
      const topics = await arrange(now)
      jobsOf = await parts.jobs.ofAll(topics.map(({ topic }) => topic.topicId))
      const due = topics.filter(work => isDue(work))
      const asked = askOnce()
      await Promise.all(due.map(work => start(now, work, asked)))
      const confirm = async () => {
        await lease.look()
        if (service !== now || !lease.isHeld) throw new NotHolder('this broker no longer holds the lease')
      }
      const isRunning = (topicId: string) => running.has(topicId)
      const alone = (topicId: string, drop: () => Promise<void>) => dropAlone(now, topicId, drop)
      if (service === now) await dropTables({ parts, meters, confirm, isRunning, alone })
      if (due.length > 0) jobsOf = await parts.jobs.ofAll(topics.map(({ topic }) => topic.topicId))
      if (service === now) await forgetDone(now)
      if (service === now) await tell()
    } catch (error) {
      if (!isStoreFailure(error) && !(error instanceof NotHolder)) throw error
      meters.phaseFailed('offload', '', error)
    }
  }

  /** The next rounds begin while a table is dropped, and its topic may be on the remote tier again by then. */
  async function dropAlone({ topics }: Service, topicId: string, drop: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    running.set(topicId, promise)
    try {
      await drop()
    } finally {
      topics.get(topicId)?.loseTable()
      running.delete(topicId)
      resolve()
    }
  }

  /** A place that was found unsafe may have been mended. */
  function forgetVerdict(): void {
    if (parts.createOnly !== 'broken') verdictAtMs = clock.monotonic()
    else if (clock.monotonic() - verdictAtMs >= VERDICT_MS) parts.createOnly = 'unknown'
  }

  /**
   * Reads the documents of the partitions that leaders named. Those that cannot be read are tried in the next round.
   */
  async function readNews({ news, topics, rooms }: Service): Promise<void> {
    const { topicsById } = parts.catalogue.current()
    const wanted = [...news].flatMap(([topicId, partitions]) => [...partitions].map(index => ({ topicId, index })))
    await aFewAtATime(clock, wanted, async ({ topicId, index }) => {
      const topic = topicsById.get(topicId)
      // The leader may know the topic before this broker does.
      if (topic === undefined) return
      try {
        const sealed = await logs.sealedSegments(topicId, index)
        const work = topics.get(topicId) ?? new TopicWork(rooms, { topicId, topicName: topic.name })
        topics.set(topicId, work)
        if (sealed.isReadable) work.heard(index, sealed)
        forget(topicId, index)
      } catch (error) {
        if (error instanceof UnreadableDocument) forget(topicId, index)
        else meters.phaseFailed('offload', topic.name, error)
      }
    })

    function forget(topicId: string, index: number): void {
      const left = news.get(topicId)
      left?.delete(index)
      if (left?.size === 0) news.delete(topicId)
    }
  }

  /** Returns the topics of the remote tier, and forgets those that left it, with their jobs. */
  async function arrange(now: Service): Promise<readonly TopicWork[]> {
    const { topics, news } = now
    const current = parts.catalogue.current()
    for (const topicId of [...topics.keys(), ...news.keys()]) {
      const topic = current.topicsById.get(topicId)
      if (topic?.resolved.remoteStorageEnable === true) continue
      topics.delete(topicId)
      if (topic !== undefined && !running.has(topicId)) await parts.jobs.remove(topicId)
      if (topic !== undefined || !mayExist(current).has(topicId)) news.delete(topicId)
    }
    if (!now.isSwept) {
      await parts.jobs.sweep(topicId => mayExist(current).has(topicId))
      now.isSwept = true
    }
    return [...topics.values()]
  }

  function isDue(work: TopicWork): boolean {
    const { topicId } = work.topic
    if (running.has(topicId) || notices.state.tables.get(topicId)?.isDropping === true) return false
    return work.isDue(jobsOf.get(topicId) ?? NO_JOBS, { isCopied: isCopied(topicId) })
  }

  function askOnce(): TopicConfig['isPlaceWorking'] {
    let asked: Promise<boolean> | null = null
    return () => {
      asked ??= breaker.check()
      return asked
    }
  }

  /** Starts the work of a topic when its turn comes. Resolves when it has ended. */
  function start(of: Service, work: TopicWork, isPlaceWorking: TopicConfig['isPlaceWorking']): Promise<void> {
    const { topicId } = work.topic
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    running.set(topicId, promise)
    queue.push(async () => {
      try {
        if (service === of) await work.run({ isCopied: isCopied(topicId), isPlaceWorking })
        resolve()
      } catch (error) {
        reject(error as Error)
      } finally {
        running.delete(topicId)
      }
    })
    pump()
    return promise
  }

  function pump(): void {
    while (active < concurrency) {
      const next = queue.shift()
      if (next === undefined) return
      active++
      void next().finally(() => {
        active--
        pump()
      })
    }
  }

  /** Forgets done jobs beyond the retention count. */
  async function forgetDone({ topics }: Service): Promise<void> {
    const most = settings.get('storage.worker.offload-jobs.retention-count')
    const partitionsOf = (topicId: string) => topics.get(topicId)?.partitions ?? new Map()
    const byTopic = Map.groupBy(evictable(jobsOf, most, partitionsOf), ({ topicId }) => topicId)
    for (const [topicId, remove] of byTopic) {
      const [{ topicName }] = remove as [(typeof remove)[number]]
      await parts.jobs.change({ topicId, topicName }, jobs => ({
        answer: null,
        // One that an operator has retried since is not done any more.
        remove: remove.filter(job => jobs.get(jobId(job))?.status === job.status),
      }))
    }
  }

  /** Tells all brokers what waits, if that has changed. */
  async function tell(): Promise<void> {
    const worker = { atMs: Math.floor(clock.now()), ...lag(), ...meters.perMinute() }
    const { worker: told } = notices.state
    const isSame = told !== null && JSON.stringify({ ...told, atMs: 0 }) === JSON.stringify({ ...worker, atMs: 0 })
    // Brokers take rates that are older than a minute for 0, so the same rates are told again unless they are 0.
    if (isSame && worker.segmentsPerMin === 0) return
    await notices.change(() => ({ worker }))
  }

  return {
    begin,
    since(brokerId, incarnation) {
      const known = service?.heard.get(brokerId)
      return known?.incarnation === incarnation ? known.to : 0
    },
    heard(brokerId, incarnation, { to, topics }: RemoteNews) {
      if (service === null) return
      for (const { topicId, partitions } of topics) {
        const known = service.news.get(topicId) ?? new Set()
        for (const partition of partitions) known.add(partition)
        service.news.set(topicId, known)
      }
      service.heard.set(brokerId, { incarnation, to })
    },
    run,
    report(): OffloadReport {
      const { segments, bytes } = lag()
      return { ...meters.take(), waitingSegments: segments, waitingBytes: bytes }
    },
    end,
    release() {
      isReleased = true
      end()
    },
    async close() {
      isReleased = true
      end()
      await Promise.all([encoders.close(), Promise.allSettled(running.values())])
      await decoders.close()
    },
  }
}

const NO_JOBS: Jobs | Unreadable = new Map()
