// The embedded store: the store port in one folder of the local disk. The journal is its write-ahead log, and lmdb
// has its checkpoint. This file opens the folder and decides each call. rounds.ts makes calls durable, contents.ts
// has the current state, upkeep.ts keeps the journal short. Only one store at a time can use a folder.

import { statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Clock, within } from '../../base/clock.ts'
import { readInt64 } from '../../base/int64.ts'
import { type Random, systemRandom } from '../../base/random.ts'
import { StoreOpenError } from '../open-error.ts'
import {
  type Append,
  type Batch,
  type Commit,
  type Committed,
  type Conflict,
  checkAppend,
  checkRewrite,
  type Document,
  type Fenced,
  type Gone,
  isStoreFailure,
  type Opened,
  OutcomeUnknown,
  type Pass,
  type Pong,
  passAfter,
  type Read,
  type ReadLimits,
  type Row,
  type Store,
  StoreUnavailable,
} from '../store.ts'
import { type Checkpoint, loadCheckpoint, type Position, readOverlaid } from './checkpoint.ts'
import { bytesOf, Contents, epochsWith, type Head, leadOf, type Stream } from './contents.ts'
import { type Disk, heldDisk, realDisk } from './disk.ts'
import { decodeRoundHeader, FIRST_ROUND, markOf, ROUND_HEADER_BYTES } from './entry.ts'
import { type GatheredReads, gatherReads, type Piece } from './gathered-reads.ts'
import { fileName, Journal, type JournalFile } from './journal.ts'
import { type Folder, INDEX, openFolder, refusal } from './open-folder.ts'
import { recover } from './recovery.ts'
import { replayInto } from './replay.ts'
import { isNoRoom, Reserve, reserveBytes } from './reserve.ts'
import { type AddEntry, Rounds } from './rounds.ts'
import { decodeRun, type Run } from './run-index.ts'
import { IndexFailed, openTables, type Tables } from './tables.ts'
import { Upkeep } from './upkeep.ts'

export { StoreOpenError }

export interface EmbeddedStoreOptions {
  /** The path of the folder. It is created if it does not exist. */
  readonly path: string
  /**
   * `always`: a call is synced before it is acknowledged. `interval`: it is written before, and synced within
   * `fsyncIntervalMs` plus the time of one sync.
   */
  readonly fsync: 'always' | 'interval'
  readonly fsyncIntervalMs: number
  readonly clock: Clock
  readonly random?: Random
  /** The most bytes of a journal file, but at most a sixteenth of the disk. */
  readonly journalFileBytes?: number
  /** A checkpoint is taken after this many bytes of journal. A start replays the journal after the last checkpoint. */
  readonly checkpointBytes?: number
  readonly disk?: Disk
  /** The function that opens the index: openTables by default. A test passes another one to observe the index. */
  readonly openIndex?: typeof openTables
  /** Called if a failure of the disk ends the store: every later call throws. The broker should stop. */
  readonly onFatal?: (error: Error) => void
  /** Gets sentences for the operator: a torn tail that was cut, damage, a checkpoint that had to wait. */
  readonly report: (message: string) => void
}

const JOURNAL_FILE_BYTES = 256 << 20
/** No journal file is larger than this part of its disk, because the file that is being written cannot be freed. */
const FILE_DISK_PART = 1 / 16
const LEAST_FILE_BYTES = 1 << 20
const CHECKPOINT_BYTES = 64 << 20

/** A synced commit is never lost, so all documents have one incarnation. */
const DOCUMENTS_INCARNATION = 'the only one'

/**
 * Returns the most bytes of a journal file. If the file system does not tell its size, `diskBytes` is 0 and there is
 * no limit.
 */
function mostFileBytes(diskBytes: number): number {
  return diskBytes === 0 ? Number.POSITIVE_INFINITY : Math.max(LEAST_FILE_BYTES, Math.floor(diskBytes * FILE_DISK_PART))
}

/** Opens the store. Throws StoreOpenError with one sentence. */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const path = resolve(options.path)
  const folder = openFolder(path)
  let tables: Tables | null = null
  let journal: Journal | null = null
  const rounds: { current: Rounds | null } = { current: null }
  try {
    const random = options.random ?? systemRandom
    const disk = heldDisk(options.disk ?? realDisk(options.clock), path, folder.lock.isHere)
    const { totalBytes } = await spaceOf(path)
    const fileBytes = Math.min(options.journalFileBytes ?? JOURNAL_FILE_BYTES, mostFileBytes(totalBytes))
    const reserve = new Reserve({
      disk,
      folder: path,
      bytes: reserveBytes(totalBytes),
      foundBytes: folder.reserveBytes,
      usableBytes: async () => (await spaceOf(path)).usableBytes,
      giveRoom: async () => (await journal?.giveRoom()) ?? false,
    })
    journal = new Journal({
      disk,
      reserve,
      isHere: folder.lock.isHere,
      folder: path,
      fileBytes,
      mostSpareBytes: totalBytes * FILE_DISK_PART,
      clock: options.clock,
      random,
      onSyncFailed: error => rounds.current?.syncFailed(error),
    })
    for (const { name, size } of folder.journal) journal.known(name, size)
    await journal.unlinkSurplus()
    if (!folder.hasIndex && journal.files.size > 0) {
      throw refusal(path, `it holds ${fileName(journal.files.keys().next().value!)} but no ${INDEX}; restore that file`)
    }
    tables = await withReserve(
      reserve,
      () => (options.openIndex ?? openTables)(join(path, INDEX), reserve.bytes / 2),
      error => isNoRoom(error.cause),
    )
    return await start(options, path, rounds, folder, sparing(tables, reserve), journal, reserve)
  } catch (error) {
    await journal?.close()
    await tables?.close()
    folder.lock.release()
    if (error instanceof StoreOpenError) throw error
    throw refusal(path, (error as Error).message, error)
  }
}

/** Does the work. If it is refused and `mayHelp` returns true, releases the reserve and does the work once more. */
async function withReserve<T>(
  reserve: Reserve,
  work: () => T,
  mayHelp: (error: Error) => boolean,
): Promise<Awaited<T>> {
  try {
    return await work()
  } catch (error) {
    if (!mayHelp(error as Error) || !(await reserve.release().catch(() => false))) throw error
    return await work()
  }
}

/**
 * Returns tables that release the reserve if a commit fails and another one may succeed. They do so for almost every
 * error, because lmdb does not always tell that the disk was full.
 */
function sparing(tables: Tables, reserve: Reserve): Tables {
  const commit: Tables['commit'] = changes =>
    withReserve(
      reserve,
      () => tables.commit(changes),
      error => !(error instanceof IndexFailed),
    )
  return { ...tables, commit }
}

async function spaceOf(path: string): Promise<{ readonly totalBytes: number; readonly usableBytes: number }> {
  const { blocks, bavail, bsize } = await statfs(path)
  return { totalBytes: blocks * bsize, usableBytes: bavail * bsize }
}

async function start(
  options: EmbeddedStoreOptions,
  path: string,
  holder: { current: Rounds | null },
  folder: Folder,
  tables: Tables,
  journal: Journal,
  reserve: Reserve,
): Promise<Store> {
  const { clock, report } = options
  const contents = new Contents(tables, journal)
  const checkpoint = loadCheckpoint(tables, contents)
  if (checkpoint === null) {
    for (const file of journal.files.values()) {
      if (file.size < FIRST_ROUND || !(await holdsRound(journal, file))) continue
      throw refusal(path, `its ${INDEX} is empty although ${fileName(file.number)} is not; restore the whole folder`)
    }
  }
  const { end, era } = await readBack(tables, journal, contents, checkpoint, report)

  const upkeep = new Upkeep(
    {
      clock,
      tables,
      contents,
      journal,
      reserve,
      era,
      checkpointBytes: options.checkpointBytes ?? CHECKPOINT_BYTES,
      report,
    },
    end,
    checkpoint?.files ?? new Map(),
    checkpoint?.gone ?? [],
  )
  let fatal: Error | null = null
  const rounds = new Rounds(
    {
      clock,
      journal,
      contents,
      reserve,
      era,
      fsyncIntervalMs: options.fsync === 'always' ? null : options.fsyncIntervalMs,
      onFatal: error => {
        fatal = error
        journal.stop()
        report(error.message)
        options.onFatal?.(error)
      },
      report,
      between: () => upkeep.between(),
    },
    end,
  )
  upkeep.attach(rounds)
  holder.current = rounds
  journal.ready()
  // The new era is on the disk before its first round. On a full disk the existing data can be read meanwhile.
  let marking: Promise<void> | null = null
  let isMarked = false
  const mark = () => {
    marking ??= upkeep
      .begin()
      .then(() => {
        isMarked = true
      })
      .finally(() => {
        marking = null
      })
    return marking
  }
  // The first write that needs the reserve waits for it.
  void reserve.make()
  await mark().catch((error: Error) => report(`nothing can be written until this start is noted: ${error.message}`))

  let closing: Promise<void> | null = null
  const closed = Promise.withResolvers<null>()
  const durability =
    options.fsync === 'always' ? 'fsync before every acknowledgement' : `fsync every ${options.fsyncIntervalMs} ms`
  const incarnation = (options.random ?? systemRandom).bytes(9).toString('base64url')
  const verbs = verbsOf({ path, contents, rounds, reads: gatherReads(journal, clock), tables, incarnation })
  const refuseClosed = <A extends readonly unknown[], T>(verb: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      if (closing !== null) return Promise.reject(new StoreUnavailable(`the embedded store in ${path} is closed`))
      if (fatal !== null) {
        return Promise.reject(
          new StoreUnavailable(`the embedded store in ${path} has stopped: ${fatal.message}`, { cause: fatal }),
        )
      }
      return verb(...args)
    }
  }
  const unmarked = (error: Error): never => {
    throw new StoreUnavailable(`the embedded store cannot write: ${error.message}`, { cause: error })
  }
  const refuseUnmarked = <A extends readonly unknown[], T>(verb: (...args: A) => Promise<T>) =>
    refuseClosed((...args: A): Promise<T> => (isMarked ? verb(...args) : mark().then(() => verb(...args), unmarked)))
  const opening = refuseUnmarked(verbs.open)
  const claiming = refuseClosed(verbs.claim)
  /** Opens a stream. If nothing can be written, reads must still work: then the lead is taken in memory only. */
  async function openOrClaim(...args: Parameters<Store['open']>): ReturnType<Store['open']> {
    try {
      return await opening(...args)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      const claimed = await claiming(...args)
      if (claimed === null) throw error
      return claimed
    }
  }
  return {
    description: `embedded store in ${path}, ${durability}`,
    breaker: 'disabled',
    create: refuseUnmarked(verbs.create),
    remove: refuseUnmarked(verbs.remove),
    streams: refuseClosed(verbs.streams),
    space: refuseClosed(verbs.space),
    usage: refuseClosed(verbs.usage),
    ping,
    open: openOrClaim,
    append: refuseUnmarked(verbs.append),
    confirm: refuseClosed(verbs.confirm),
    read: refuseClosed(verbs.read),
    trim: refuseUnmarked(verbs.trim),
    rewrite: refuseUnmarked(verbs.rewrite),
    remake: refuseClosed(verbs.remake),
    load: refuseClosed(verbs.load),
    version: refuseClosed(verbs.version),
    list: refuseClosed(verbs.list),
    names: refuseClosed(verbs.names),
    commit: refuseUnmarked(verbs.commit),
    renewed: () => closed.promise,
    close: () => (closing ??= close()),
  }

  /** Checks that the queue of all calls makes progress, and that the round before this call is on the disk. */
  async function ping(withinMs: number): Promise<readonly Pong[]> {
    const startedAtMs = clock.monotonic()
    const turn = refuseClosed(() => rounds.call(0, null, () => null))()
    const failure = await within(
      clock,
      withinMs,
      turn.then(() => null, explain),
      () => `the disk has not taken what was written for ${withinMs} ms`,
    )
    const warnings =
      options.fsync === 'always'
        ? []
        : [
            `fsync is interval: up to ${options.fsyncIntervalMs} ms of acknowledged records, and what one sync takes, are lost when the machine stops`,
          ]
    const durability = { facts: { fsync: options.fsync }, warnings }
    return [{ part: 'store', place: path, failure, tookMs: clock.monotonic() - startedAtMs, durability }]
  }

  async function close(): Promise<void> {
    try {
      await upkeep.stop()
      await rounds.drained()
      if (fatal === null) {
        await upkeep.checkpoint(true).catch((error: Error) => {
          report(`the last checkpoint could not be written, the next start replays the journal: ${error.message}`)
        })
      }
    } finally {
      await reserve.idle()
      await journal.close()
      await tables.close()
      folder.lock.release()
      closed.resolve(null)
    }
  }
}

/** Returns the sentence of a store failure. Throws every other error. */
function explain(error: unknown): string {
  if (!isStoreFailure(error)) throw error
  return error.message
}

/** Returns true if a round was ever written to the file. */
async function holdsRound(journal: Journal, file: JournalFile): Promise<boolean> {
  const incarnation = await journal.header(file)
  if (incarnation === null) return false
  return decodeRoundHeader(await journal.read(file.number, FIRST_ROUND, ROUND_HEADER_BYTES), incarnation) !== null
}

/** Replays the journal onto the checkpoint. Returns the end of the journal and the era of this start. */
async function readBack(
  tables: Tables,
  journal: Journal,
  contents: Contents,
  checkpoint: Checkpoint | null,
  report: (message: string) => void,
): Promise<{ end: Position; era: number }> {
  if (checkpoint === null) {
    // Without a checkpoint nothing was ever acknowledged, because the first checkpoint precedes the first round.
    await journal.begin()
    return { end: { file: journal.active.number, position: FIRST_ROUND, sequence: 0 }, era: 1 }
  }
  for (const [number, { stored, end }] of checkpoint.files) {
    const file = journal.files.get(number)
    if (file === undefined) continue
    file.stored = stored
    file.live = stored
    file.end = end
  }
  journal.reserve(Math.max(checkpoint.at.file, ...checkpoint.files.keys()))
  findLost(tables, journal, contents, checkpoint, report)
  const replay = replayInto(contents, report)
  let end: Position = checkpoint.at
  let era = checkpoint.era
  if (!checkpoint.clean) {
    const sources = []
    for (const file of journal.files.values()) {
      if (file.number < checkpoint.at.file) continue
      sources.push({
        number: file.number,
        incarnation: file.size === 0 ? null : await journal.header(file),
        size: file.size,
        read: (position: number, length: number) => journal.read(file.number, position, length),
      })
    }
    const recovery = await recover(sources, { ...checkpoint.at, era }, replay.visit, replay.lost)
    end = recovery.end
    era = recovery.end.era
    for (const { file, position } of recovery.mended) {
      report(
        `the header of the round in ${fileName(file)} at ${position} was damaged; its content is complete and kept`,
      )
    }
    if (recovery.cutBytes > 0) {
      report(
        `a torn tail of ${recovery.cutBytes} bytes was cut from ${fileName(end.file)} at ${end.position}: it was being written when the store stopped`,
      )
    }
    replay.finish()
  }
  for (const file of journal.files.values()) {
    if (file.number >= checkpoint.at.file && file.number < end.file) file.end = Math.max(file.end, file.size)
  }
  // These files were prepared but never written, or they were cut off with a torn tail.
  for (const file of [...journal.files.values()]) if (file.number > end.file) await journal.discard(file)
  const last = journal.files.get(end.file)
  if (last === undefined || last.size === 0 || (await journal.header(last)) === null) {
    const what = `${fileName(end.file)}, the newest journal file, is ${last === undefined ? 'missing' : 'damaged'}`
    if (!checkpoint.clean) throw new Error(`${what}; restore it, or the whole folder`)
    report(`${what}: a new one is begun`)
    await journal.begin()
    return { end: { ...end, file: journal.active.number, position: FIRST_ROUND }, era: era + 1 }
  }
  await journal.resume(end.file, end.position)
  // The bytes that were read may still be in the page cache only.
  await journal.sync()
  return { end, era: era + 1 }
}

/** Marks the streams whose stored runs lie in files that are missing or too short. */
function findLost(
  tables: Tables,
  journal: Journal,
  contents: Contents,
  checkpoint: Checkpoint,
  report: (message: string) => void,
): void {
  const short = new Map<number, number>()
  for (const [number, { stored, end }] of checkpoint.files) {
    const size = journal.files.get(number)?.size ?? 0
    if (stored > 0 && size < end) short.set(number, size)
  }
  if (short.size === 0) return
  const names = [...short].map(([number, size]) => `${fileName(number)} ${size === 0 ? 'is missing' : 'is truncated'}`)
  report(`damage: ${names.join(', ')}`)
  for (const { key, value } of tables.runs.range({ start: Buffer.alloc(4), end: Buffer.alloc(12, 0xff) })) {
    const run = decodeRun(key, value)
    const size = short.get(run.file)
    if (size === undefined || run.position + run.length <= size) continue
    const stream = contents.streamsByNumber.get(key.readUInt32BE(0))
    if (stream === undefined || run.nextOffset <= stream.start) continue
    if (stream.damage !== null && stream.damage.offset <= run.baseOffset) continue
    const message = `batches from offset ${run.baseOffset} on were in ${fileName(run.file)}, which ${size === 0 ? 'is missing' : 'is truncated'}`
    stream.damage = { offset: Math.max(run.baseOffset, stream.start), message }
    stream.dirty = true
    contents.dirtyStreams.add(stream)
    report(`stream ${stream.name} is damaged: ${message}`)
  }
}

interface Parts {
  readonly path: string
  readonly contents: Contents
  readonly rounds: Rounds
  readonly reads: GatheredReads
  readonly tables: Tables
  /** Names this start. */
  readonly incarnation: string
}

interface Verbs extends Omit<Store, 'description' | 'breaker' | 'ping' | 'renewed' | 'close'> {
  /** Like open, but without a write. Resolves to null if the end would have to rise. */
  claim(...args: Parameters<Store['open']>): Promise<Opened | Fenced | Gone | null>
}

function verbsOf({ path, contents, rounds, reads, tables, incarnation }: Parts): Verbs {
  const GONE = Object.freeze({ kind: 'gone' as const })

  const documentOf = (head: Head): Document => ({
    kind: head.kind,
    name: head.name,
    version: head.version,
    fields: readOverlaid(tables, 'fields', head.number, [head.changesStoring, head.changes]),
  })

  const onceSynced = async (outcome: Committed | Conflict): Promise<Committed | Conflict> => {
    if (outcome.kind === 'committed')
      await rounds.synced().catch((cause: Error) => {
        throw new OutcomeUnknown(`the embedded store has stopped: ${cause.message}`, { cause })
      })
    return outcome
  }

  const openedAs = (stream: Stream, epoch: number, end: number): Opened => ({
    kind: 'opened',
    epoch,
    start: stream.start,
    end,
    highWatermark: end,
    emptyFrom: contents.emptyFrom(stream),
    bytes: bytesOf(stream),
    epochs: epochsWith(stream, epoch, end),
    rows: readOverlaid(tables, 'rows', stream.number, [stream.rowsStoring, stream.rows]),
    lastAttempt: stream.lastAttempt,
    pass: passOf(stream),
    incarnation,
    damage: stream.damage,
  })
  const fencedBy = (stream: Stream): Fenced => ({ kind: 'fenced', epoch: leadOf(stream) })

  return {
    create: streams =>
      rounds.call(
        64 * streams.length,
        null,
        add => {
          for (const name of streams) {
            if (contents.stream(name) === null) add({ type: 'create', stream: contents.nextStream, name })
          }
        },
        'change',
      ),

    remove: streams =>
      rounds.call(32 * streams.length, null, add => {
        for (const name of streams) {
          const stream = contents.stream(name)
          if (stream !== null) add({ type: 'remove', stream: stream.number })
        }
      }),

    streams: () => rounds.call(0, null, () => [...contents.streams.keys()]),

    usage: streams =>
      rounds.call(0, null, () =>
        streams.map(name =>
          contents.stream(name) === null ? null : { entries: null, memoryBytes: null, isEmptied: false },
        ),
      ),

    async space() {
      const space = await spaceOf(path).catch((error: Error) => {
        throw new StoreUnavailable(`the free space in ${path} cannot be read: ${error.message}`, { cause: error })
      })
      return { place: path, ...space }
    },

    open: (name, known, floor) =>
      rounds.call(
        64,
        name,
        add => {
          const stream = contents.stream(name)
          if (stream === null) return GONE
          const lead = leadOf(stream)
          if (known !== 0 && lead > known) return fencedBy(stream)
          const end = stream.damage === null ? Math.max(stream.end, floor) : stream.end
          const opened = openedAs(stream, lead + 1, end)
          add({ type: 'open', stream: stream.number, epoch: lead + 1, end })
          return opened
        },
        'change',
      ),

    claim: (name, known, floor) =>
      rounds.call(0, name, () => {
        const stream = contents.stream(name)
        if (stream === null) return GONE
        if (known !== 0 && leadOf(stream) > known) return fencedBy(stream)
        if (stream.damage === null && floor > stream.end) return null
        stream.claim = leadOf(stream) + 1
        return openedAs(stream, stream.claim, stream.end)
      }),

    append: (append: Append) => {
      checkAppend(append)
      const marks = append.batches.map(markOf)
      let bytes = 160 + append.attempt.length + 28 * marks.length + rowBytes(append.rows)
      for (const mark of marks) bytes += mark.length
      const decide = (add: AddEntry) => {
        const stream = contents.stream(append.stream)
        if (stream === null) return GONE
        if (append.epoch !== leadOf(stream)) return fencedBy(stream)
        if (stream.damage !== null) return { kind: 'damaged' as const, message: stream.damage.message }
        if (append.at !== stream.end) return { kind: 'misplaced' as const, end: stream.end }
        const { epoch, at, attempt, rows } = append
        if (stream.claim !== null) add({ type: 'open', stream: stream.number, epoch, end: at })
        const payload = append.batches.map(batch => batch.bytes)
        add({ type: 'append', stream: stream.number, epoch, at, attempt, batches: marks, rows }, payload)
        return { kind: 'appended' as const, end: stream.end, highWatermark: stream.end }
      }
      return rounds.call(bytes, append.stream, decide, 'append')
    },

    confirm: (name, epoch) =>
      rounds.call(0, name, () => {
        const stream = contents.stream(name)
        if (stream === null) return GONE
        if (epoch !== leadOf(stream)) return fencedBy(stream)
        return { kind: 'confirmed' as const, highWatermark: stream.end }
      }),

    async read(name, from, limits) {
      const stream = contents.stream(name)
      if (stream === null || !stream.visible) return GONE
      if (from < stream.visibleStart) return { kind: 'trimmed', start: stream.visibleStart }
      const readable = stream.damage?.offset ?? Number.POSITIVE_INFINITY
      const until = Math.min(limits.until, stream.visibleEnd, readable)
      const pieces = choose(contents.visibleRuns(stream, from), from, { ...limits, until })
      if (pieces.length === 0 && stream.damage !== null && limits.until > readable) {
        return { kind: 'damaged', message: stream.damage.message }
      }
      return readPieces(reads, pieces)
    },

    trim: (name, epoch, before, rows) => {
      const decide = (add: AddEntry) => {
        const stream = contents.stream(name)
        if (stream === null) return GONE
        if (epoch !== leadOf(stream)) return fencedBy(stream)
        const limit = stream.damage?.offset ?? stream.end
        const start = Math.max(stream.start, Math.min(before, limit))
        const bytes = bytesOf(stream)
        if (start > stream.start || rows.length > 0) add({ type: 'trim', stream: stream.number, start, rows })
        return { kind: 'trimmed' as const, start, bytes: bytes - bytesOf(stream) }
      }
      const makesRoom = before > (contents.stream(name)?.start ?? 0)
      return rounds.call(64 + rowBytes(rows), name, decide, makesRoom ? 'relief' : 'change')
    },

    rewrite: asked => {
      checkRewrite(asked)
      const { stream: name, epoch, from, to, batches, rows } = asked
      const marks = batches.map(markOf)
      let bytes = 160 + 28 * marks.length + rowBytes(rows)
      for (const mark of marks) bytes += mark.length
      const decide = (add: AddEntry) => {
        const stream = contents.stream(name)
        if (stream === null) return GONE
        if (epoch !== leadOf(stream)) return fencedBy(stream)
        if (stream.damage !== null && stream.damage.offset < to)
          return { kind: 'damaged' as const, message: stream.damage.message }
        passAfter(asked, stream.start, passOf(stream), stream.end)
        if (stream.claim !== null) add({ type: 'open', stream: stream.number, epoch, end: stream.end })
        const payload = batches.map(batch => batch.bytes)
        add({ type: 'rewrite', stream: stream.number, from, to, batches: marks, rows }, payload)
        return { kind: 'rewritten' as const, ...passOf(stream), bytes: bytesOf(stream) }
      }
      return rounds.call(bytes, name, decide, 'append')
    },

    // This store cannot recreate one stream: part of the folder is lost, the other partitions stay readable, and the
    // operator restores the folder from a copy.
    remake: async () => ({ kind: 'kept' as const }),

    load: (kind, name) =>
      rounds.call(0, null, () => {
        const head = contents.head(kind, name)
        return head === null ? null : documentOf(head)
      }),

    version: (kind, name) => rounds.call(0, null, () => contents.head(kind, name)?.version ?? 0),

    list: kind => rounds.call(0, null, () => [...(contents.documents.get(kind)?.values() ?? [])].map(documentOf)),

    names: kind => rounds.call(0, null, () => [...(contents.documents.get(kind)?.keys() ?? [])]),

    commit(commit: Commit) {
      const { kind, name, expect, changes, remove = false, mayOverfill = false, isSynced = false } = commit
      const decide = (add: AddEntry) => {
        const head = contents.head(kind, name)
        if ((head?.version ?? 0) !== expect) return { kind: 'conflict' as const, version: head?.version ?? 0 }
        const document = head?.number ?? contents.nextDocument
        const version = contents.lastVersion + 1
        add({ type: 'commit', document, version, removed: remove, kind, name, changes })
        return { kind: 'committed' as const, version, incarnation: DOCUMENTS_INCARNATION }
      }
      const addsNothing = remove || (expect > 0 && changes.every(({ value }) => value === null))
      const bytes = 64 + 3 * (kind.length + name.length) + rowBytes(changes)
      const called = rounds.call(bytes, null, decide, addsNothing || mayOverfill ? 'relief' : 'change')
      return isSynced ? called.then(onceSynced) : called
    },
  }
}

/** A pass may begin at the log start at any time, because rewrites lie beside what they replace. */
function passOf({ pass }: Stream): Pass {
  return { to: pass.to, until: 0 }
}

function rowBytes(rows: readonly Row[]): number {
  let bytes = 0
  for (const { key, value } of rows) bytes += 8 + 3 * key.length + (value?.length ?? 0)
  return bytes
}

/** Returns the part of a run that a read takes: complete batches that follow each other. */
/** Batches of a run that lie directly one behind the other. */
interface RunPiece extends Piece {
  readonly batches: readonly Extent[]
}

interface Extent {
  readonly baseOffset: number
  readonly nextOffset: number
  /** The position in the piece. */
  readonly from: number
  readonly to: number
}

function choose(runs: Iterable<Run>, from: number, limits: ReadLimits): RunPiece[] {
  const pieces: RunPiece[] = []
  let bytes = 0
  for (const run of runs) {
    if (run.baseOffset >= limits.until) break
    const batches: Extent[] = []
    let first = 0
    let baseOffset = run.baseOffset
    let start = 0
    let full = false
    for (const { nextOffset, end } of run.ends ?? [{ nextOffset: run.nextOffset, end: run.length }]) {
      if (nextOffset > from) {
        if (baseOffset >= limits.until) break
        bytes += end - start
        full = bytes > limits.maxBytes && (pieces.length > 0 || batches.length > 0)
        if (full) break
        if (batches.length === 0) first = start
        batches.push({ baseOffset, nextOffset, from: start - first, to: end - first })
      }
      baseOffset = nextOffset
      start = end
    }
    const last = batches.at(-1)
    if (last !== undefined) pieces.push({ file: run.file, position: run.position + first, length: last.to, batches })
    if (full || bytes >= limits.maxBytes) break
  }
  return pieces
}

async function readPieces(reads: GatheredReads, pieces: readonly RunPiece[]): Promise<Read> {
  const { found, release } = await reads.read(pieces)
  const batches: Batch[] = []
  for (const [i, piece] of pieces.entries()) {
    for (const { baseOffset, nextOffset, from, to } of piece.batches) {
      batches.push(batchOf(baseOffset, nextOffset, found[i]!.subarray(from, to)))
    }
  }
  return { kind: 'read', batches, release }
}

/**
 * Returns the batch by its index entry and its own header. Its CRC is not checked: the reader of the batch checks it.
 */
function batchOf(baseOffset: number, nextOffset: number, bytes: Buffer): Batch {
  const whole = bytes.length >= 61
  return {
    baseOffset,
    nextOffset,
    recordCount: whole ? bytes.readInt32BE(57) : 0,
    maxTimestamp: whole ? readInt64(bytes, 35) : -1,
    bytes,
  }
}
