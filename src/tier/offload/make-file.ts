// Makes one data file of neighbouring segments: reads their batches, encodes them in a thread, uploads the bytes as
// they are made, and reads the file back. It commits nothing, and a file that fails stays for the orphan sweep.

import { ahead } from '../../base/ahead.ts'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { release } from '../../base/copied.ts'
import type { Patience } from '../../base/patience.ts'
import { type Random, uuidText } from '../../base/random.ts'
import type { DataFileFacts } from '../columns/data-file.ts'
import type { EncodeOptions, FileEnd } from '../columns/encode.ts'
import type { EncodeJob, EncoderThreads } from '../columns/encoder-thread.ts'
import { HANDED_BYTES, type Handed } from '../columns/handed.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import { type SummarizeGroup, verifyFile } from '../columns/verify.ts'
import type { AddedFile } from '../iceberg/manifest-writer.ts'
import type { Table } from '../iceberg/table.ts'
import { type DataFileName, dataFileKey } from '../iceberg/table-files.ts'
import type { Objects } from '../objects/objects.ts'
import type { EncoderMemory, FileMemory } from './encoder-memory.ts'
import { clientBytes } from './file-plan.ts'
import type { OffloadJob } from './jobs.ts'
import type { OffloadSource } from './offload-source.ts'
import { SegmentCutter } from './segment-cutter.ts'

export interface FileSettings {
  readonly rowGroupBytes: number
  readonly batchBytes: EncodeOptions['batchBytes']
  /** Which part of a file is read back: its footer and a row group, or everything. */
  readonly verify: 'sample' | 'full'
}

export interface FileDeps {
  readonly clock: Clock
  readonly random: Random
  /** When it is over, no file is begun and no batch is read. */
  readonly patience: Patience
  readonly encoders: EncoderThreads
  readonly memory: EncoderMemory
  readonly settings: FileSettings
  /** Restores a row group that was read back; by default on this thread. */
  readonly summarize?: SummarizeGroup
}

/** The files of some segments, uploaded and read back. */
export interface MadeFiles {
  readonly jobs: readonly OffloadJob[]
  /** One; none if the segments have no rows; several if there is one segment that is larger than a file may be. */
  readonly files: readonly AddedFile[]
  /** When the first upload began, by both clocks. */
  readonly beganAtMs: { readonly wall: number; readonly monotonic: number }
}

/** The caller does not wait any longer. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** Something failed while the batches of one segment were read or encoded. The others of the file may be good. */
export class SegmentFailed extends Error {
  override readonly name = 'SegmentFailed'
  readonly job: OffloadJob
  override readonly cause: Error

  constructor(job: OffloadJob, cause: Error) {
    super(cause.message, { cause })
    this.job = job
    this.cause = cause
  }
}

/** The most bytes of batches that one call hands to a thread, unless one batch is larger. */
const ADD_BYTES = HANDED_BYTES

/**
 * Makes the file of some segments, or several of one segment that is cut into pieces. Rejects with SegmentFailed; with
 * the error of the object store; with DamagedFile or MissingFile if the file that was read back is not the one that was
 * made; with Stopped. The jobs are neighbours of one partition and one day.
 */
export async function makeFiles(
  table: Table,
  jobs: readonly OffloadJob[],
  pieces: number,
  source: OffloadSource,
  deps: FileDeps,
): Promise<MadeFiles> {
  const { clock } = deps
  const beganAtMs = { wall: clock.now(), monotonic: clock.monotonic() }
  const [job] = jobs
  assert(job !== undefined && (pieces === 1 || jobs.length === 1), `${jobs.length} segments in ${pieces} pieces`)
  const { partition, base, sealedAtMs: ingestedAt } = job
  if (pieces === 1) {
    const kafkaBytes = jobs.reduce((sum, each) => sum + clientBytes(each), 0)
    const name = { partition, base, next: jobs.at(-1)!.next, ingestedAt, kafkaBytes }
    const { file } = await makeFile(table, name, jobs, source, 'whole-segment', deps)
    return { jobs, files: file === null ? [] : [file], beganAtMs }
  }

  const cutter = new SegmentCutter(source, job)
  const files: AddedFile[] = []
  let from = base
  try {
    for (let piece = 0; piece < pieces; piece++) {
      // Where it ends exactly, and how many bytes it has, is known only when it is made.
      const share = (of: number) => Math.floor((of * (piece + 1)) / pieces)
      const until = base + share(job.next - base)
      const kafkaBytes = share(clientBytes(job)) - Math.floor((clientBytes(job) * piece) / pieces)
      const name = { partition, base: from, next: Math.max(until, from + 1), ingestedAt, kafkaBytes }
      const isLast = piece === pieces - 1
      const rest = { ...job, base: from, plainBytes: null }
      const part: OffloadSource = { ...source, read: () => cutter.read(isLast ? Number.POSITIVE_INFINITY : until) }
      const made = await makeFile(table, name, [rest], part, isLast ? 'whole-segment' : 'behind-last-batch', deps)
      if (made.file !== null) files.push(made.file)
      from = made.next
    }
    checkBytes(job, cutter.bytes)
  } catch (error) {
    throw error instanceof SegmentFailed ? new SegmentFailed(job, error.cause) : error
  } finally {
    await cutter.close()
  }
  return { jobs, files, beganAtMs }
}

/** Resolves with the file, null if it would have no rows, and with the offset at which it ends. */
async function makeFile(
  { objects, location }: Table,
  name: DataFileName,
  jobs: readonly OffloadJob[],
  source: OffloadSource,
  end: FileEnd,
  deps: FileDeps,
): Promise<{ readonly file: AddedFile | null; readonly next: number }> {
  const { encoders, memory, settings, random } = deps
  const key = dataFileKey(location, name, uuidText(random))
  const { topicId, topicName, partition } = jobs[0]!
  const { rowGroupBytes, batchBytes } = settings
  const metadata = { 'kafka.topic': topicName, 'kafka.topic-id': topicId }

  const encoder = await encoders.open({ partition, rowGroupBytes, batchBytes, metadata })
  const held = memory.open()
  const encoding: Encoding = { facts: null, failure: null }
  const parts = encode(encoding, encoder, held, jobs, source, end, deps)
  try {
    // Nothing is uploaded until there is a row.
    const begun = await firstRows(parts)
    if (encoding.facts?.rows === 0) return { file: null, next: encoding.facts.next }
    const { size } = await objects.write(key, joined(begun, parts)).catch((error: unknown) => {
      throw encoding.failure ?? error
    })
    const { facts } = encoding
    assert(facts !== null, `the place took ${size} bytes of ${key} before they were all made`)
    if (size !== facts.size) throw new DamagedFile(`the place has ${size} bytes of ${key}, expected ${facts.size}`)
    await readBack(objects, key, facts, deps)
    return { file: { ...facts, key }, next: facts.next }
  } finally {
    // The place may not have asked for them, or not to the end: the source has to be told.
    await parts.return()
    held.end()
    await encoder.abandon()
  }
}

interface Encoding {
  /** Once the file is finished. */
  facts: DataFileFacts | null
  failure: unknown
}

/** Yields the bytes of the file. */
async function* encode(
  encoding: Encoding,
  encoder: EncodeJob,
  held: FileMemory,
  jobs: readonly OffloadJob[],
  source: OffloadSource,
  end: FileEnd,
  { patience }: FileDeps,
): AsyncGenerator<Uint8Array, void> {
  try {
    for (const job of jobs) {
      try {
        yield* encodeSegment(job)
      } catch (error) {
        throw error instanceof Stopped || error instanceof SegmentFailed
          ? error
          : new SegmentFailed(job, asError(error))
      }
    }
    const { parts, facts } = await encoder.finish(end)
    encoding.facts = facts
    held.finished()
    yield* leaving(parts, false)
  } catch (error) {
    encoding.failure = error
    throw error
  }

  async function* encodeSegment(job: OffloadJob): AsyncGenerator<Uint8Array, void> {
    const { partition, base, next, sealedAtMs } = job
    checkPatience()
    const aborted = (await source.aborted?.(partition, base, next)) ?? []
    await encoder.begin({ base, next, ingestedAt: sealedAtMs, aborted })
    let bytes = 0
    // The store reads the next batches while the thread encodes these.
    let running: Promise<Uint8Array[]> | null = null
    for await (const slice of ahead(slices(source.read(partition, base, next), encoder))) {
      if (running !== null && !held.tryRoom(slice.bytes)) {
        yield* leaving(await running, false)
        running = null
      }
      // A file waits for room only while none of its calls run.
      if (running === null)
        while ((await held.room(slice.bytes, patience)) === 'close') yield* leaving(await encoder.closeGroup(), true)
      checkPatience()
      const before = running
      // The thread has these batches when it has encoded those before.
      running = encoder.add(slice)
      running.catch(() => {})
      if (before !== null) yield* leaving(await before, false)
      bytes += slice.bytes
    }
    if (running !== null) yield* leaving(await running, false)
    checkBytes(job, bytes)
  }

  async function* leaving(parts: readonly Uint8Array[], isGroupClosed: boolean): AsyncGenerator<Uint8Array, void> {
    held.held(
      encoder.heldBytes,
      parts.reduce((sum, { length }) => sum + length, 0),
      isGroupClosed,
    )
    for (const part of parts) {
      // A part that was freed has no length.
      const { length } = part
      yield part
      held.left(length)
    }
  }

  function checkPatience(): void {
    if (patience.isOver) throw new Stopped('the holder stopped before the segment was read')
  }
}

/** A source that lost batches must not let their segment be trimmed. */
function checkBytes(job: OffloadJob, bytes: number): void {
  const { plainBytes } = job
  if (plainBytes === null || bytes === plainBytes) return
  const why = `the segment has ${bytes} bytes of batches, and had ${plainBytes} when it was sealed`
  throw new SegmentFailed(job, new Error(why))
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

/** Yields copies of the batches in pieces for one call each: the source overwrites its memory. */
async function* slices(read: AsyncIterable<readonly Uint8Array[]>, encoder: EncodeJob): AsyncGenerator<Handed, void> {
  for await (const batches of read) {
    let slice: Uint8Array[] = []
    let bytes = 0
    for (const batch of batches) {
      if (slice.length > 0 && bytes + batch.length > ADD_BYTES) {
        yield encoder.copy(slice)
        slice = []
        bytes = 0
      }
      slice.push(batch)
      bytes += batch.length
    }
    if (slice.length > 0) yield encoder.copy(slice)
  }
}

/** A file begins with these bytes, whatever is in it. */
const MAGIC_BYTES = 4

/** Takes parts until there is more than the beginning of the file: a row group, or the end of a file without rows. */
async function firstRows(parts: AsyncIterator<Uint8Array, void>): Promise<readonly Uint8Array[]> {
  const begun: Uint8Array[] = []
  for (let bytes = 0; bytes <= MAGIC_BYTES; ) {
    const next = await parts.next()
    if (next.done) break
    begun.push(next.value)
    bytes += next.value.length
  }
  return begun
}

/** Yields the parts to the place, and frees each one when the place asks for the next. */
async function* joined(first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of first) {
    yield part
    release([part])
  }
  for await (const part of rest) {
    yield part
    release([part])
  }
}

/** Rejects if the object is not the file that was made. */
async function readBack(
  objects: Objects,
  key: string,
  facts: DataFileFacts,
  { settings, summarize }: FileDeps,
): Promise<void> {
  const stored = await objects.stat(key)
  if (stored !== null && stored.size !== facts.size)
    throw new DamagedFile(`the place has ${stored.size} bytes of ${key}, expected ${facts.size}`)
  const depth = settings.verify === 'full' ? 'everything' : 'one-group'
  await verifyFile((start, end) => objects.read(key, { start, end }), facts, depth, summarize)
}
