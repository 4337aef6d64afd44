// The documents that keep the sealed segments of partitions (segments.ts), one document for each partition. Only the
// leader of a partition changes its document. It loads the document, asks the store whether it still leads, and writes
// by compare-and-set. So each segment begins where the one before ended, even while two brokers believe that they lead.
// The document names the highest epoch of its writers.
//
// The document outlives its segments: `end` stays when all of them were dropped. A leader that opens the stream names
// it as the floor of the end, so that a store that lost its tail does not give those offsets again.
//
//   document segments, <stream>   the field `sealed`: JSON of { format, epoch, end }
//                                 a field for each segment, named by its base: JSON of the other members of Segment
//                                 the field `remote`, if the topic uses the remote tier: JSON of RemoteLog
//                                 (remote-log.ts); `null` if it has stopped to use it
//
// A document that cannot be read is left as it is, and its partition goes on without segments.

import { LATEST_DATE_MS } from '../base/clock.ts'
import { changeDocument, type DocumentRooms } from '../store/document-keeper.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, type EpochStart, type Row, type StreamId, UnreadableDocument } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type CatalogueKeeper, mayExist, streamsOf, type Topic } from './catalogue.ts'
import type { Leadership } from './leadership.ts'
import type { PartitionState } from './partition-state.ts'
import { withKnown } from './remote-document.ts'
import type { RemoteLog } from './remote-log.ts'
import { NO_SEGMENTS, type SealedSegments, type Segment } from './segments.ts'

const UNREADABLE: SealedSegments = Object.freeze({ ...NO_SEGMENTS, isReadable: false })

export interface SegmentDocumentRooms extends DocumentRooms {
  readonly leadership: Leadership
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
  /** Called when this broker has loaded or changed the document of a partition that it leads. */
  changed?(state: PartitionState): void
  /** Called if the document that was read puts the partition on hold (PartitionState): it has gone back in time. */
  held?(state: PartitionState): void
}

const KIND: DocumentKind = 'segments'
const HEAD = 'sealed'
const REMOTE = 'remote'
const FORMAT = 1

/** The most documents that are asked for at one time. */
const AT_ONCE = 256

export class SegmentDocuments {
  readonly #rooms: SegmentDocumentRooms
  #isClosed = false

  constructor(rooms: SegmentDocumentRooms) {
    this.#rooms = rooms
  }

  /**
   * Resolves with the stored segments of a partition, also on a broker that does not lead it. Throws what the store
   * throws, or UnreadableDocument.
   */
  async read(stream: StreamId): Promise<SealedSegments> {
    return decode(stream, await this.#rooms.store.load(KIND, stream))
  }

  /**
   * Loads the segments of a partition into its state. Throws what the store throws, but not for an unreadable document.
   */
  async load(state: PartitionState): Promise<void> {
    try {
      state.sealed = await this.read(state.stream)
      this.#rooms.changed?.(state)
    } catch (error) {
      this.#goOnWithout(state, error)
    }
  }

  /**
   * Changes the segments of a partition that this broker leads. Calls `decide` with the stored segments, and again if
   * another writer was faster; it returns null if nothing is to be changed. Resolves with whether the state has the
   * segments as they are stored now. If another broker leads by now, or the document cannot be read, nothing is
   * changed. Throws what the store throws.
   */
  async change(state: PartitionState, decide: (sealed: SealedSegments) => SealedSegments | null): Promise<boolean> {
    const { epoch, stream, topic, index } = state
    const { store, leadership } = this.#rooms
    let isWritten = false
    try {
      const place = { kind: KIND, name: stream, what: `the document of the segments of ${state.name}` }
      const sealed = await changeDocument<SealedSegments | null>(this.#rooms, place, async document => {
        const stored = decode(stream, document)
        // The stream says who leads. A store that lost its tail may have lost the epoch that the document names.
        if ((await store.confirm(stream, epoch)).kind !== 'confirmed') return { answer: null }
        if (state.epoch !== epoch || state.refusal !== null) return { answer: null }
        // The document may have gone back in time.
        const current = withKnown(stored, state.remote)
        state.sealed = current
        const next = decide(current) ?? current
        isWritten = false
        if (next === stored) return { answer: stored }
        const written = { ...next, epoch: Math.max(stored.epoch, epoch) }
        isWritten = true
        // A full store must not stop the changes without which nothing of the topic is offloaded and dropped.
        const mayOverfill = written.remote !== null
        return { answer: written, write: { changes: rowsOf(stored, written), mayOverfill } }
      })
      if (sealed === null) {
        await leadership.stillLeads(topic.id, index)
        return false
      }
      if (state.epoch !== epoch) return false
      state.sealed = sealed
      if (isWritten) this.#rooms.changed?.(state)
      if (state.hold !== null) this.#rooms.held?.(state)
      return true
    } catch (error) {
      this.#goOnWithout(state, error)
      return false
    }
  }

  /** Removes the documents of a topic that is gone. */
  async removed(topic: Topic): Promise<void> {
    await this.#removeAll(streamsOf(topic)).catch((error: unknown) => this.#left(error))
  }

  /** Removes the documents of topics that were removed while their broker was stopping. */
  async sweep(catalogue: CatalogueKeeper): Promise<void> {
    try {
      const listed = await this.#rooms.store.list(KIND)
      if (listed.length === 0) return
      // A topic is in the catalogue before its partitions have segments. So a topic of an earlier list is known now, or
      // it is gone.
      await catalogue.catchUp()
      const topics = mayExist(catalogue.current())
      const names = listed.map(({ name }) => name)
      await this.#removeAll(names.filter(name => !topics.has(name.slice(0, name.lastIndexOf(':')))))
    } catch (error) {
      this.#left(error)
    }
  }

  close(): void {
    this.#isClosed = true
  }

  async #removeAll(streams: readonly StreamId[]): Promise<void> {
    for (let at = 0; at < streams.length; at += AT_ONCE) {
      await Promise.all(streams.slice(at, at + AT_ONCE).map(stream => this.#remove(stream)))
    }
  }

  async #remove(stream: StreamId): Promise<void> {
    if ((await this.#rooms.store.version(KIND, stream)) === 0) return
    const place = { kind: KIND, name: stream, what: `the document of the segments of ${stream}` }
    await changeDocument(this.#rooms, place, now => ({
      answer: null,
      ...(now !== null && { write: { remove: true } }),
    }))
  }

  #left(error: unknown): void {
    if (this.#isClosed) return
    this.#rooms.logger.warn('segments of removed topics could not be removed; the next start retries', { error })
  }

  /** Names an unreadable document and forgets the segments of its partition. Throws every other error. */
  #goOnWithout(state: PartitionState, error: unknown): void {
    if (!(error instanceof UnreadableDocument)) throw error
    state.sealed = UNREADABLE
    const what = `the document of the segments of ${state.name}`
    const result =
      'the partition goes on without segments: nothing of it is rolled or cleaned, and old data is still dropped, until the document is repaired or deleted'
    ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what, why: error, result })
  }
}

/** Returns the rows that change what is stored. */
function rowsOf(stored: SealedSegments, next: SealedSegments): Row[] {
  const before = new Map(stored.segments.map(segment => [segment.base, segment]))
  const after = new Set(next.segments.map(({ base }) => base))
  const { epoch, end } = next
  const rows: Row[] = [{ key: HEAD, value: Buffer.from(JSON.stringify({ format: FORMAT, epoch, end })) }]
  for (const base of before.keys()) if (!after.has(base)) rows.push({ key: String(base), value: null })
  if (next.remote !== stored.remote || next.hasLeftRemote !== stored.hasLeftRemote) {
    rows.push({ key: REMOTE, value: Buffer.from(JSON.stringify(next.remote)) })
  }
  for (const segment of next.segments) {
    if (before.get(segment.base) === segment) continue
    const { base, ...members } = segment
    rows.push({ key: String(base), value: Buffer.from(JSON.stringify(members)) })
  }
  return rows
}

function decode(stream: StreamId, document: Document | null): SealedSegments {
  if (document === null) return NO_SEGMENTS
  try {
    return decodeFields(document.fields)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UnreadableDocument(`The document of the segments of ${stream} cannot be read: ${why}.`, { cause: error })
  }
}

/** Throws an Error that says what is wrong if the fields do not have the form that `rowsOf` writes. */
function decodeFields(fields: ReadonlyMap<string, Uint8Array>): SealedSegments {
  const segments: Segment[] = []
  for (const [key, value] of fields) if (key !== HEAD && key !== REMOTE) segments.push(decodeSegment(key, value))
  segments.sort((one, other) => one.base - other.base)
  const { format, epoch, end } = jsonOf(fields.get(HEAD)) as { format: unknown; epoch: number; end: number }
  if (format !== FORMAT) throw new Error(`its format is ${format}, and this version reads ${FORMAT}`)
  if (!isOffset(epoch) || !isOffset(end)) throw new Error('it has no epoch and end')
  for (const [i, { base, next }] of segments.entries()) {
    const due = segments[i + 1]?.base ?? end
    if (base >= next || next !== due) throw new Error(`its segment at ${base} ends at ${next} and not at ${due}`)
  }
  const remote = decodeRemote(fields.get(REMOTE))
  return { segments, end, epoch, isReadable: true, remote, hasLeftRemote: remote === null && fields.has(REMOTE) }
}

function decodeRemote(value: Uint8Array | undefined): RemoteLog | null {
  if (value === undefined) return null
  const found = JSON.parse(Buffer.from(value).toString()) as RemoteLog | null
  if (found === null) return null
  const { logStart, ranges, lost, epochs, version, readUnder } = found
  const isKnown =
    isOffset(logStart) &&
    isOffset(version) &&
    (readUnder === null || typeof readUnder === 'string') &&
    Array.isArray(epochs) &&
    epochs.every(isEpochStart) &&
    areSpans(ranges) &&
    areSpans(lost)
  if (!isKnown) throw new Error(`its field ${JSON.stringify(REMOTE)} does not describe the part in the remote tier`)
  return { logStart, ranges, lost, epochs, version, readUnder }
}

/** Spans are ascending and disjoint, and none is empty. */
function areSpans(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  let end = -1
  return value.every((span: unknown) => {
    if (!Array.isArray(span) || span.length !== 2 || !span.every(isOffset)) return false
    const [base, next] = span as [number, number]
    const isNext = base >= end && next > base
    end = next
    return isNext
  })
}

function decodeSegment(key: string, value: Uint8Array): Segment {
  const segment = { base: Number(key), ...(jsonOf(value) as Omit<Segment, 'base'>) }
  const { base, next, sealedAtMs, bytes, maxTimestamp, epochs, cleanedAtMs } = segment
  const { plainBytes, batches, records, minTimestamp, firstAppendMs, lastAppendMs } = segment
  const isKnown =
    isOffset(base) &&
    isOffset(next) &&
    [bytes, maxTimestamp].every(Number.isInteger) &&
    [plainBytes, batches, records, minTimestamp].every(isCount) &&
    isTime(sealedAtMs) &&
    [firstAppendMs, lastAppendMs, cleanedAtMs].every(each => each === null || isTime(each)) &&
    Array.isArray(epochs) &&
    epochs.every(isEpochStart)
  if (!isKnown) throw new Error(`its field ${JSON.stringify(key.slice(0, 40))} describes no segment`)
  return segment
}

function jsonOf(value: Uint8Array | undefined): unknown {
  const found: unknown = JSON.parse(Buffer.from(value ?? []).toString())
  if (typeof found !== 'object' || found === null) throw new Error('it is no object')
  return found
}

const isOffset = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isTime = (value: number) => Number.isInteger(value) && Math.abs(value) <= LATEST_DATE_MS
const isCount = (value: number | null) => value === null || Number.isInteger(value)
const isEpochStart = (value: EpochStart | null) =>
  value !== null && isOffset(value.epoch) && isOffset(value.startOffset)
