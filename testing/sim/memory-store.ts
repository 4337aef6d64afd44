// The in-memory twin of the store port: what unit tests and the simulation run on. It keeps the same promises as the
// embedded store (src/store/conformance.ts asks both) except that a new process finds it empty. Calls take effect one
// after the other, in call order for equal delays; an effect and its answer happen at the same moment. Faults are
// asked for explicitly: nothing fails or waits by itself.

import { assert } from '../../src/base/assert.ts'
import type { Clock } from '../../src/base/clock.ts'
import type {
  Append,
  Batch,
  Commit,
  Document,
  EpochStart,
  ReadLimits,
  Row,
  Store,
  StreamId,
} from '../../src/store/store.ts'
import { checkAppend, OutcomeUnknown, StoreUnavailable } from '../../src/store/store.ts'

export type StoreVerb = Exclude<keyof Store, 'description' | 'close'>

/**
 * `unavailable`: nothing happens and StoreUnavailable is thrown. `unknown-lost` and `unknown-done`: OutcomeUnknown is
 * thrown, and the call has not, or has, taken effect.
 */
export type StoreFault = 'unavailable' | 'unknown-lost' | 'unknown-done'

export interface StoreFaults {
  /** How long each call takes from now on, on the store's clock. 0 means: within the same turn. */
  delay(verb: StoreVerb | 'all', ms: number): void
  /** The next `times` calls of the verb meet this fault. Several requests queue up in order. */
  failNext(verb: StoreVerb, fault: StoreFault, times?: number): void
  /** Every call of the verb waits, before it takes effect, until the returned function is called. */
  hold(verb: StoreVerb | 'all'): () => void
  /** Marks a stream as damaged from this offset on. */
  damage(stream: StreamId, offset: number, message: string): void
  /** Flips one bit of a stored batch, so that its CRC no longer matches. */
  rot(stream: StreamId, baseOffset: number): void
}

export interface MemoryStore extends Store {
  readonly faults: StoreFaults
  /** How often each verb was called; tests of batching read it. */
  readonly calls: Readonly<Record<StoreVerb, number>>
  /** The same contents behind a new face, as after a restart. The old face refuses from then on. */
  reopen(): MemoryStore
}

interface Stream {
  epoch: number
  start: number
  end: number
  bytes: number
  epochs: EpochStart[]
  batches: Batch[]
  readonly rows: Map<string, Uint8Array>
  lastAttempt: string | null
  damage: { readonly offset: number; readonly message: string } | null
}

interface Contents {
  readonly streams: Map<StreamId, Stream>
  readonly documents: Map<string, Document>
  lastVersion: number
}

const VERBS: readonly StoreVerb[] = [
  'create',
  'remove',
  'streams',
  'space',
  'open',
  'append',
  'read',
  'trim',
  'load',
  'list',
  'commit',
]

export function createMemoryStore(clock: Clock): MemoryStore {
  return faceOf(clock, { streams: new Map(), documents: new Map(), lastVersion: 0 })
}

function faceOf(clock: Clock, contents: Contents): MemoryStore {
  let closed = false
  const delays = new Map<StoreVerb, number>()
  const failures = new Map<StoreVerb, StoreFault[]>()
  const holds = new Map<StoreVerb, Set<Promise<void>>>()
  const calls = Object.fromEntries(VERBS.map(verb => [verb, 0])) as Record<StoreVerb, number>
  const verbsOf = (verb: StoreVerb | 'all') => (verb === 'all' ? VERBS : [verb])

  const running = new Set<Promise<unknown>>()

  async function call<T>(verb: StoreVerb, effect: () => T): Promise<T> {
    calls[verb]++
    if (closed) throw new StoreUnavailable('the memory store is closed')
    const outcome = perform(verb, effect)
    const settled = outcome.catch(() => {}).finally(() => running.delete(settled))
    running.add(settled)
    return outcome
  }

  async function perform<T>(verb: StoreVerb, effect: () => T): Promise<T> {
    const fault = failures.get(verb)?.shift()
    const ms = delays.get(verb) ?? 0
    if (ms > 0) await new Promise<void>(resolve => clock.timer(ms, resolve))
    else await Promise.resolve()
    for (let gates = holds.get(verb); gates !== undefined && gates.size > 0; ) await Promise.all(gates)
    if (fault === 'unavailable') throw new StoreUnavailable(`the memory store was told to refuse ${verb}`)
    if (fault === 'unknown-lost') throw new OutcomeUnknown(`the memory store was told to lose ${verb}`)
    const outcome = effect()
    if (fault === 'unknown-done') throw new OutcomeUnknown(`the memory store was told to lose the answer of ${verb}`)
    return outcome
  }

  function applyRows(rows: Map<string, Uint8Array>, changes: readonly Row[]): void {
    for (const { key, value } of changes) {
      if (value === null) rows.delete(key)
      else rows.set(key, value)
    }
  }

  const existing = (id: StreamId) => {
    const stream = contents.streams.get(id)
    assert(stream !== undefined, `the memory store has no stream ${id}`)
    return stream
  }

  return {
    description: 'in memory, gone with the process',
    calls,
    faults: {
      delay(verb, ms) {
        for (const each of verbsOf(verb)) delays.set(each, ms)
      },
      failNext(verb, fault, times = 1) {
        const queue = failures.get(verb) ?? []
        for (let i = 0; i < times; i++) queue.push(fault)
        failures.set(verb, queue)
      },
      hold(verb) {
        const { promise, resolve } = Promise.withResolvers<void>()
        for (const each of verbsOf(verb)) holds.set(each, (holds.get(each) ?? new Set()).add(promise))
        return () => {
          for (const each of verbsOf(verb)) holds.get(each)?.delete(promise)
          resolve()
        }
      },
      damage(id, offset, message) {
        existing(id).damage = { offset, message }
      },
      rot(id, baseOffset) {
        const stream = existing(id)
        const at = stream.batches.findIndex(batch => batch.baseOffset === baseOffset)
        const batch = stream.batches[at]
        assert(batch !== undefined, `the memory store has no batch at ${baseOffset} of ${id}`)
        const bytes = Uint8Array.from(batch.bytes)
        bytes[bytes.length - 1]! ^= 1
        stream.batches[at] = { ...batch, bytes }
      },
    },
    reopen() {
      closed = true
      return faceOf(clock, contents)
    },

    create: streams =>
      call('create', () => {
        for (const id of streams) {
          if (contents.streams.has(id)) continue
          contents.streams.set(id, {
            epoch: 0,
            start: 0,
            end: 0,
            bytes: 0,
            epochs: [],
            batches: [],
            rows: new Map(),
            lastAttempt: null,
            damage: null,
          })
        }
      }),
    remove: streams =>
      call('remove', () => {
        for (const id of streams) contents.streams.delete(id)
      }),
    streams: () => call('streams', () => [...contents.streams.keys()]),
    space: () => call('space', () => ({ place: 'memory', totalBytes: -1, usableBytes: -1 })),

    open: (id, known, floor) =>
      call('open', () => {
        const stream = contents.streams.get(id)
        if (stream === undefined) return { kind: 'gone' }
        if (known !== 0 && stream.epoch > known) return { kind: 'fenced', epoch: stream.epoch }
        stream.epoch++
        if (stream.damage === null) stream.end = Math.max(stream.end, floor)
        stream.epochs = [...stream.epochs, { epoch: stream.epoch, startOffset: stream.end }]
        dropDeadEpochs(stream)
        return {
          kind: 'opened',
          epoch: stream.epoch,
          start: stream.start,
          end: stream.end,
          highWatermark: stream.end,
          bytes: stream.bytes,
          epochs: [...stream.epochs],
          rows: new Map(stream.rows),
          lastAttempt: stream.lastAttempt,
          damage: stream.damage,
        }
      }),

    append: (append: Append) => {
      checkAppend(append)
      return call('append', () => {
        const stream = contents.streams.get(append.stream)
        if (stream === undefined) return { kind: 'gone' }
        if (append.epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
        if (stream.damage !== null) return { kind: 'damaged', message: stream.damage.message }
        if (append.at !== stream.end) return { kind: 'misplaced', end: stream.end }
        for (const batch of append.batches) {
          stream.batches.push(batch)
          stream.bytes += batch.bytes.length
          stream.end = batch.nextOffset
        }
        applyRows(stream.rows, append.rows)
        stream.lastAttempt = append.attempt
        return { kind: 'appended', end: stream.end, highWatermark: stream.end }
      })
    },

    read: (id: StreamId, from: number, limits: ReadLimits) =>
      call('read', () => {
        const stream = contents.streams.get(id)
        if (stream === undefined) return { kind: 'gone' }
        if (from < stream.start) return { kind: 'trimmed', start: stream.start }
        const readable = stream.damage === null ? Number.POSITIVE_INFINITY : stream.damage.offset
        const until = Math.min(limits.until, readable)
        const batches: Batch[] = []
        let bytes = 0
        for (const batch of stream.batches) {
          if (batch.nextOffset <= from) continue
          if (batch.baseOffset >= until) break
          bytes += batch.bytes.length
          if (batches.length > 0 && bytes > limits.maxBytes) break
          batches.push(batch)
        }
        if (batches.length === 0 && stream.damage !== null && limits.until > readable) {
          return { kind: 'damaged', message: stream.damage.message }
        }
        return { kind: 'read', batches }
      }),

    trim: (id, epoch, before, rows) =>
      call('trim', () => {
        const stream = contents.streams.get(id)
        if (stream === undefined) return { kind: 'gone' }
        if (epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
        const limit = stream.damage === null ? stream.end : Math.min(stream.end, stream.damage.offset)
        stream.start = Math.max(stream.start, Math.min(before, limit))
        stream.batches = stream.batches.filter(batch => batch.nextOffset > stream.start)
        const { bytes } = stream
        stream.bytes = stream.batches.reduce((sum, batch) => sum + batch.bytes.length, 0)
        dropDeadEpochs(stream)
        applyRows(stream.rows, rows)
        return { kind: 'trimmed', start: stream.start, bytes: bytes - stream.bytes }
      }),

    load: (kind, name) => call('load', () => contents.documents.get(documentKey(kind, name)) ?? null),
    list: kind => call('list', () => [...contents.documents.values()].filter(document => document.kind === kind)),
    commit: (commit: Commit) =>
      call('commit', () => {
        const key = documentKey(commit.kind, commit.name)
        const before = contents.documents.get(key)
        if ((before?.version ?? 0) !== commit.expect) return { kind: 'conflict', version: before?.version ?? 0 }
        const version = ++contents.lastVersion
        if (commit.remove === true) {
          contents.documents.delete(key)
        } else {
          const fields = new Map(before?.fields)
          applyRows(fields, commit.changes)
          contents.documents.set(key, { kind: commit.kind, name: commit.name, version, fields })
        }
        return { kind: 'committed', version }
      }),

    async close() {
      closed = true
      await Promise.all(running)
    },
  }
}

function documentKey(kind: string, name: string): string {
  return `${kind}\n${name}`
}

/** Forgets epochs that own no live offset; the newest stays. */
function dropDeadEpochs(stream: Stream): void {
  stream.epochs = stream.epochs.filter((_, i) => {
    const next = stream.epochs[i + 1]
    return next === undefined || (next.startOffset > stream.start && next.startOffset > stream.epochs[i]!.startOffset)
  })
}
