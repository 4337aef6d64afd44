// Judges every write on the servers of the storage simulation at the moment at which it takes effect: the batches of a
// log before and after it, and the documents of the segments. It sees only the store, so it trusts no broker.
// keyed-clients.ts judges the answers that clients get.

import { decodePlace } from '../../src/log/cleaner/place.ts'
import { payloadOf, RecordWalk, viewBatch } from '../../src/protocol/records.ts'
import type { Batch, Document, StreamId } from '../../src/store/store.ts'
import { type Contents, load, type Stream } from './contents.ts'
import { ReplicatedServer } from './replicated-server.ts'
import type { Complain } from './violations.ts'

/** The rules of a log. */
export interface Rules {
  readonly isCompacted: boolean
  /** Null: nothing is dropped by time. */
  readonly retentionMs: number | null
  readonly deleteRetentionMs: number
}

export interface LedgerOptions {
  readonly complain: Complain
  /** The server of the documents. */
  readonly documents: () => Contents
  /** The logs to judge. */
  readonly logs: ReadonlyMap<StreamId, Rules>
  /** Ms since 1970. */
  readonly trueNow: () => number
  /** True if the clocks of all brokers are right, apart from jumps forward, which brokers notice. */
  readonly areClocksRight: boolean
}

/** Clocks show whole milliseconds. */
const CLOCK_MS = 2

/** The state of one log on its servers. */
interface Before {
  readonly document: Document | null
  readonly stream: Stream | undefined
  readonly batches: readonly Batch[]
  readonly count: number
  readonly start: number
}

function stateOf(contents: Contents, id: StreamId): Before {
  const stream = contents.streams.get(id)
  const { batches = [], start = 0 } = stream ?? {}
  return { document: load(contents, 'segments', id), stream, batches, count: batches.length, start }
}

export class Ledger {
  /** The writes of each kind that were judged. */
  readonly done = { appended: 0, rewrites: 0, dropped: 0, cleaned: 0, tombstones: 0, sealed: 0 }
  readonly #options: LedgerOptions
  /** The true time of each append, by stream and offset. */
  readonly #appendedAtMs = new Map<string, number>()

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** Makes a server that this ledger watches. */
  server(replicas: number, written: () => void): ReplicatedServer {
    return new WatchedServer(replicas, written, this)
  }

  /** Makes a write and judges it. */
  watch<T>(contentsOf: () => Contents, write: () => T): T {
    const { logs } = this.#options
    const before = new Map<StreamId, Before>()
    for (const id of logs.keys()) before.set(id, stateOf(contentsOf(), id))
    const value = write()
    for (const [id, rules] of logs) {
      const known = before.get(id)!
      const now = stateOf(contentsOf(), id)
      if (now.document !== null && now.document !== known.document) this.#judgeSegments(known.document, now.document)
      if (now.stream !== undefined) this.#judgeLog(id, rules, known, now.stream)
    }
    return value
  }

  #judgeLog(id: StreamId, rules: Rules, before: Before, stream: Stream): void {
    if (before.batches === stream.batches) {
      for (const batch of stream.batches.slice(before.count)) this.#judgeAppend(id, batch)
      return
    }
    const { complain, trueNow, areClocksRight } = this.#options
    const kept = new Map(stream.batches.map(batch => [batch.baseOffset, batch]))
    const changed: [Batch, Batch | undefined][] = []
    for (const batch of before.batches) {
      const now = kept.get(batch.baseOffset)
      if (now === batch || (now !== undefined && Buffer.compare(now.bytes, batch.bytes) === 0)) continue
      if (stream.start > before.start && batch.nextOffset <= stream.start) {
        this.done.dropped++
        if (rules.retentionMs === null)
          complain('lost', 'dropped', `${id}: ${batch.baseOffset} of a log that keeps all`)
        else if (areClocksRight && batch.maxTimestamp + rules.retentionMs > trueNow()) {
          complain('early', 'retention', `${id}: ${batch.baseOffset} is dropped before its time`)
        }
      } else changed.push([batch, now])
    }
    const old = new Set(before.batches.map(({ baseOffset }) => baseOffset))
    for (const base of kept.keys()) if (!old.has(base)) complain('revived', 'batch', `${id}: ${base} is back`)
    if (changed.length > 0) this.#judgeCleaning(id, rules, before, changed)
    this.#judgePlace(id, stream)
  }

  #judgeAppend(id: StreamId, batch: Batch): void {
    const { complain, trueNow } = this.#options
    const end = this.#sealedEnd(id)
    if (batch.baseOffset < end) {
      complain('sealed', 'given again', `${id}: offset ${batch.baseOffset} is given again; the segments end at ${end}`)
    }
    for (const { offset } of recordsOf(batch)) {
      this.done.appended++
      this.#appendedAtMs.set(`${id}@${offset}`, trueNow())
    }
  }

  #judgeCleaning(
    id: StreamId,
    rules: Rules,
    before: Before,
    changed: readonly (readonly [Batch, Batch | undefined])[],
  ): void {
    const { complain } = this.#options
    this.done.rewrites++
    if (!rules.isCompacted) complain('touched', 'not compacted', `${id}: ${changed[0]![0].baseOffset} is rewritten`)
    const sealedEnd = this.#sealedEnd(id)
    const newest = new Map<string | null, number>()
    for (const batch of before.batches) for (const { key, offset } of recordsOf(batch)) newest.set(key, offset)
    for (const [batch, now] of changed) {
      if (now === undefined && batch === before.batches[before.count - 1]) {
        complain('touched', 'newest batch', `${id}: the newest batch at ${batch.baseOffset} is gone`)
      }
      if (now !== undefined && headOf(now) !== headOf(batch)) {
        complain('touched', 'head', `${id}: ${headOf(batch)} has become ${headOf(now)}`)
      }
      const rest = new Map((now === undefined ? [] : recordsOf(now)).map(record => [record.offset, record]))
      for (const record of recordsOf(batch)) {
        const left = rest.get(record.offset)
        rest.delete(record.offset)
        if (left !== undefined) {
          if (left.content === record.content) continue
          complain('touched', 'content', `${id}: ${record.offset} was ${record.content} and is ${left.content}`)
          continue
        }
        this.done.cleaned++
        if (record.offset >= sealedEnd) {
          complain('touched', 'active', `${id}: ${record.offset} is cleaned; the segments end at ${sealedEnd}`)
        }
        if ((newest.get(record.key) ?? -1) > record.offset) continue
        if (record.isTombstone) this.#judgeTombstone(id, rules, batch, record.offset)
        else complain('lost', 'newest', `${id}: ${record.offset}, the newest of ${record.key}, is cleaned away`)
      }
      for (const offset of rest.keys()) complain('revived', 'record', `${id}: ${offset} is back`)
    }
  }

  #judgeTombstone(id: StreamId, { deleteRetentionMs }: Rules, batch: Batch, offset: number): void {
    const { complain, trueNow, areClocksRight } = this.#options
    this.done.tombstones++
    const horizonMs = viewBatch(batch.bytes).deleteHorizonMs
    if (horizonMs === null) complain('early', 'tombstone', `${id}: ${offset} goes without a delete horizon`)
    else if (areClocksRight) {
      const leastMs = this.#appendedAtMs.get(`${id}@${offset}`)! + deleteRetentionMs
      if (horizonMs < leastMs - CLOCK_MS || horizonMs > trueNow()) {
        complain('early', 'tombstone', `${id}: ${offset} goes at ${trueNow()}, horizon ${horizonMs}, due ${leastMs}`)
      }
    }
  }

  /** Below the clean end each key stands once. */
  #judgePlace(id: StreamId, stream: Stream): void {
    const { cleanedTo } = decodePlace(stream.rows)
    const newest = new Map<string | null, number>()
    for (const batch of stream.batches) {
      if (batch.baseOffset >= cleanedTo) return
      for (const { key, offset } of recordsOf(batch)) {
        const other = newest.get(key)
        if (offset < cleanedTo && other !== undefined) {
          const place = `${id}: ${key} stands at ${other} and at ${offset}`
          this.#options.complain('revived', 'key', `${place}, and the log is clean to ${cleanedTo}`)
        }
        newest.set(key, offset)
      }
    }
  }

  #judgeSegments(before: Document | null, after: Document): void {
    const { complain, documents } = this.#options
    const one = sealedOf(before)
    const { segments, end } = sealedOf(after)
    const place = after.name
    // The server of the documents may have no streams.
    const stream = documents().streams.get(after.name)
    const cleanedTo = stream === undefined ? Number.POSITIVE_INFINITY : decodePlace(stream.rows).cleanedTo
    if (end < one.end) complain('segments', 'end', `${place}: the end ${one.end} becomes ${end}`)
    for (const [i, [base, next]] of segments.entries()) {
      const due = segments[i + 1]?.[0] ?? end
      if (base >= next || next !== due) complain('segments', 'gap', `${place}: ${base} ends at ${next}, not at ${due}`)
      if (one.segments.some(known => known[0] === base && known[1] === next)) continue
      // Only segments that the cleaner has passed are cut anew.
      if (base < one.end && next > cleanedTo) {
        complain('segments', 'changed', `${place}: ${base} to ${next} was no segment, and is clean to ${cleanedTo}`)
      }
      if (base >= one.end) this.done.sealed++
      const cut = stream?.batches.find(({ baseOffset, nextOffset }) => baseOffset < next && nextOffset > next)
      if (cut !== undefined) complain('segments', 'cut', `${place}: ${next} cuts the batch at ${cut.baseOffset}`)
    }
  }

  /** Returns the end of the last sealed segment of a log. */
  #sealedEnd(id: StreamId): number {
    return sealedOf(load(this.#options.documents(), 'segments', id)).end
  }
}

class WatchedServer extends ReplicatedServer {
  readonly #ledger: Ledger

  constructor(replicas: number, written: () => void, ledger: Ledger) {
    super(replicas, written)
    this.#ledger = ledger
  }

  override write<T>(effect: (contents: Contents) => T, orphan: ((contents: Contents) => unknown) | null = null): T {
    return this.#ledger.watch(
      () => this.contents,
      () => super.write(effect, orphan),
    )
  }
}

interface Held {
  readonly offset: number
  readonly key: string | null
  readonly isTombstone: boolean
  /** All that a client sees of it. */
  readonly content: string
}

const decoded = new WeakMap<Batch, readonly Held[]>()

function recordsOf(batch: Batch): readonly Held[] {
  const known = decoded.get(batch)
  if (known !== undefined) return known
  const view = viewBatch(batch.bytes)
  const found: Held[] = []
  for (const walk = new RecordWalk(view, payloadOf(view)); walk.next(); ) {
    const { offset, timestamp, key, value, headers } = walk.read({ count: 10, bytes: 1_000 })
    const content = JSON.stringify([timestamp, key?.toString(), value?.toString(), headers.map(({ key }) => key)])
    found.push({ offset, key: key === null ? null : key.toString(), isTombstone: value === null, content })
  }
  decoded.set(batch, found)
  return found
}

/** Returns the parts of a batch that a cleaning must not change. */
function headOf({ bytes }: Batch): string {
  const { baseOffset, lastOffset, leaderEpoch, producerId, producerEpoch, baseSequence } = viewBatch(bytes)
  return `batch ${baseOffset} to ${lastOffset} of epoch ${leaderEpoch}, producer ${producerId} ${producerEpoch} ${baseSequence}`
}

interface Sealed {
  /** Ascending. */
  readonly segments: readonly (readonly [base: number, next: number])[]
  /** The end of the last segment that was ever sealed. */
  readonly end: number
}

const decodedDocuments = new WeakMap<Document, Sealed>()

/** Returns the content of the document of the segments of a log. */
export function sealedOf(document: Document | null): Sealed {
  if (document === null) return { segments: [], end: 0 }
  const known = decodedDocuments.get(document)
  if (known !== undefined) return known
  const json = (value: Uint8Array) => JSON.parse(Buffer.from(value).toString())
  const segments: [number, number][] = []
  let end = 0
  for (const [key, value] of document.fields) {
    if (key === 'sealed') end = json(value).end
    else segments.push([Number(key), json(value).next])
  }
  segments.sort(([one], [other]) => one - other)
  const sealed = { segments, end }
  decodedDocuments.set(document, sealed)
  return sealed
}
