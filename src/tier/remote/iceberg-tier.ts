// The remote tier of a broker whose tables are in a bucket or a folder: opens the place, the archive that consumers
// read from, and the documents of jobs and notices, and answers questions about tables. holder.ts has the rounds of
// the broker that offloads. This file is loaded only with storage.remote.path.

import { assert } from '../../base/assert.ts'
import { ENDLESS } from '../../base/patience.ts'
import { Semaphore } from '../../base/semaphore.ts'
import { type ArchivePlace, type ArchiveTrouble, TierAway } from '../../log/archive.ts'
import type { Settings } from '../../settings/settings.ts'
import { openArchive } from '../archive/open-archive.ts'
import type { FileTrouble } from '../archive/open-files.ts'
import type { LoadedTable } from '../archive/tables.ts'
import { troubleOf } from '../archive/trouble.ts'
import { metadataBytes } from '../iceberg/metadata.ts'
import { tableLocation, uriOf, versionKey } from '../iceberg/table-files.ts'
import { openObjects, parsePlace } from '../objects/place.ts'
import type { S3Options } from '../objects/s3-client.ts'
import { JobDocuments } from '../offload/job-documents.ts'
import { Breaker, probePlace } from './breaker.ts'
import { openHolder } from './holder.ts'
import { meteredArchive } from './metered-archive.ts'
import { Notices } from './notices.ts'
import type { BrokerTier } from './remote-rounds.ts'
import type { RemoteTier, TierBacklog } from './remote-tier.ts'
import { descriptionOf, factsOf, filesMeetingSpan, NO_TABLE, piecesOf } from './table-facts.ts'
import type { RemoteTierRooms, TierParts } from './tier-parts.ts'
import { TableMissing } from './topic-table.ts'
import { watchedObjects } from './watched-objects.ts'

/** An inspection may see a version that is this old. */
const FRESH_MS = 1_000
/** The offload of the last minute, as the holder said it, counts for this long. */
const MINUTE_MS = 60_000

/** Opens the tier. A place that is away, or a store, does not keep it from opening. */
export async function openIcebergTier(rooms: RemoteTierRooms): Promise<BrokerTier> {
  const { settings, store, catalogue, clock, random, metrics } = rooms
  const path = settings.get('storage.remote.path')
  assert(path !== null, 'a remote tier has a place')
  const logger = rooms.logger.named('storage.remote')
  const warn = (text: string) => logger.warn(text)
  const opened = await openObjects(parsePlace(path), s3Options(settings), { clock, random, warn })

  const breaker = new Breaker({ clock, logger, probe: () => probePlace(opened, random) })
  const wrote = {
    done: metrics.child('svc.storage.write', { tier: 'remote', result: 'success' }),
    failed: metrics.child('svc.storage.write', { tier: 'remote', result: 'error' }),
  }
  let full: string | null = null
  const objects = watchedObjects(opened, clock, {
    away: () => breaker.suspect(),
    full: reason => {
      full = reason
      logger
        .limited('full', MINUTE_MS)
        .warn('the place of the remote tier is full: segments wait, and no attempt is spent', { reason })
    },
    wrote(tookMs, isDone) {
      if (isDone) full = null
      ;(isDone ? wrote.done : wrote.failed).observe(tookMs)
    },
  })

  const namespace = settings.get('storage.remote.catalog.namespace')
  logger.info(`the remote tier keeps its tables in ${opened.uri}`, { namespace })
  const archive = openArchive(
    objects,
    {
      threads: settings.get('storage.remote.iceberg.read.threads'),
      queueCapacity: settings.get('storage.remote.iceberg.read.queue-capacity'),
      cacheBytes: settings.get('storage.remote.iceberg.read.cache-bytes'),
      locationOf: ({ topicId, topicName }) => tableLocation(namespace, topicName, topicId),
      noticed: topicId => noticed(topicId),
      watch: { missing: (place, file) => void noteMissing(place, file) },
    },
    { clock },
  )
  const notices = new Notices({
    ...rooms,
    changed(topicIds) {
      for (const id of topicIds) archive.refresh(id)
    },
  })
  const noticed = (topicId: string) => notices.state.tables.get(topicId)?.version ?? 0
  const jobs = new JobDocuments(rooms)
  const parts: TierParts = {
    ...{ settings, store, catalogue, clock, random, metrics, logger, unreadable: rooms.unreadable },
    ...{ namespace, objects, breaker, notices, jobs, archive, createOnly: 'unknown' },
  }
  catalogue.watch({
    removed(topics) {
      for (const { id } of topics) archive.forget(id)
    },
  })
  /** Tables that are read for leaders and operators at one time. Readers have a queue of their own. */
  const turns = new Semaphore(clock, settings.get('storage.remote.iceberg.read.threads'))

  async function loaded(place: ArchivePlace, sinceMs: number): Promise<LoadedTable | null> {
    await turns.take(1, ENDLESS)
    try {
      return await archive.table(place, sinceMs)
    } finally {
      turns.give(1)
    }
  }

  /** Rejects with TierAway for a fault of the place or the table. */
  async function loadedOrAway(topicId: string, topicName: string, sinceMs: number): Promise<LoadedTable | null> {
    try {
      return await loaded({ topicId, topicName, partition: 0 }, sinceMs)
    } catch (error) {
      const trouble = troubleOf(error)
      assert(trouble.kind !== 'busy', 'tables have no queue')
      throw new TierAway(trouble.kind, trouble.why, { cause: error })
    }
  }

  async function orTrouble<T>(work: () => Promise<T>): Promise<T | ArchiveTrouble> {
    try {
      return await work()
    } catch (error) {
      return troubleOf(error)
    }
  }

  /** Tells the holder, who looks again before it stops to commit. */
  async function noteMissing({ topicId, topicName }: ArchivePlace, { path, message: why }: FileTrouble): Promise<void> {
    try {
      await notices.change(now => {
        const notice = now.tables.get(topicId)
        if (notice === undefined || notice.foreign !== null) return null
        return { tables: new Map([[topicId, { ...notice, foreign: { path, why } }]]) }
      })
    } catch (error) {
      logger
        .limited('missing', 10_000)
        .warn('a file of a table is missing, and the store did not take the notice of it', { topic: topicName, error })
    }
  }

  const nameOf = (topicId: string) =>
    catalogue.current().topicsById.get(topicId)?.name ?? notices.state.tables.get(topicId)?.topicName ?? null

  function backlog(): TierBacklog | null {
    const { worker } = notices.state
    if (worker === null) return null
    const { atMs: _, ...told } = worker
    const isRecent = clock.monotonic() - notices.workerSeenAtMs < MINUTE_MS
    return isRecent ? told : { ...told, segmentsPerMin: 0, bytesPerMin: 0 }
  }

  async function follow(): Promise<void> {
    // The place may take long to answer, and the leaders' part of the round does not need it.
    if (breaker.isOpen) void breaker.check()
    await notices.follow()
  }

  const tier: RemoteTier = {
    uri: opened.uri,
    namespace,
    jobs,
    archive: meteredArchive(archive, { clock, metrics, logger }),
    noticed,
    async table({ id, name }) {
      if (notices.state.tables.get(id)?.isDropping === true)
        throw new TierAway('away', 'its former table is being dropped')
      // A notice that comes while the table is read may be of a newer version.
      const expected = noticed(id)
      const found = await loadedOrAway(id, name, clock.monotonic())
      const version = found?.table.version ?? 0
      if (version >= expected) return found === null ? NO_TABLE : factsOf(found)
      const { message } = new TableMissing(uriOf(objects, tableLocation(namespace, name, id)), version, expected)
      throw new TierAway('damaged', message)
    },
    pieces: place =>
      orTrouble(async () => {
        const found = await loaded(place, Number.NEGATIVE_INFINITY)
        return found === null ? [] : piecesOf(found, place.partition)
      }),
    state: () => ({
      ...breaker.state,
      full,
      createOnly: parts.createOnly,
      readsWaiting: archive.waiting,
      cacheBytes: archive.bytes,
      suspended: notices.state.worker?.suspended ?? 0,
      passed: notices.state.worker?.passed ?? 0,
      foreign: Array.from(notices.state.tables).flatMap(([topicId, { foreign }]) =>
        foreign === null ? [] : [{ topicId, why: foreign.why }],
      ),
    }),
    backlog,
    follow,
    async describeTable(topicId) {
      const name = nameOf(topicId)
      if (name === null) return null
      const found = await loadedOrAway(topicId, name, clock.monotonic() - FRESH_MS)
      return found === null ? null : descriptionOf(found)
    },
    inspect: (place, base, next) =>
      orTrouble(async () => {
        const found = await loaded(place, clock.monotonic() - FRESH_MS)
        return found === null ? [] : filesMeetingSpan(found, place.partition, base, next)
      }),
    tables: () =>
      Array.from(notices.state.tables)
        .filter(([, { version, droppedAtMs, isDropping }]) => version > 0 && droppedAtMs === null && !isDropping)
        .map(([topicId, { topicName }]) => ({ topicId, topicName }))
        .sort((one, other) => (one.topicName < other.topicName ? -1 : one.topicName > other.topicName ? 1 : 0)),
    async metadata(topicId) {
      const name = nameOf(topicId)
      if (name === null) return null
      const found = await loadedOrAway(topicId, name, clock.monotonic())
      if (found === null) return null
      const { metadata, location, version } = found.table
      const metadataLocation = uriOf(objects, versionKey(location, version))
      return { location: metadata.location, metadataLocation, text: metadataBytes(metadata).toString() }
    },
    async close() {
      await archive.close()
      await opened.close()
    },
  }

  await follow().catch((error: unknown) => {
    logger.warn('the notices of the remote tier could not be read; the next round reads them', { error })
  })
  return { ...tier, holder: more => openHolder(parts, more) }
}

function s3Options(settings: Settings): S3Options {
  const given = {
    region: settings.get('storage.remote.s3.region'),
    endpoint: settings.get('storage.remote.s3.endpoint'),
    pathStyle: settings.get('storage.remote.s3.path-style-access'),
    accessKeyId: settings.get('storage.remote.s3.access-key-id'),
    secretAccessKey: settings.get('storage.remote.s3.secret-access-key'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}
