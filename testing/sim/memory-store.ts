// The in-memory implementation of the store port, for unit tests and the simulation. It keeps the same promises as
// the embedded store (src/store/conformance.ts tests both), except that a new process finds it empty. Calls take
// effect one after the other, in call order for equal delays. An effect and its answer happen at the same moment.
// Faults occur only when a test requests them.

import { assert } from '../../src/base/assert.ts'
import { type Clock, within } from '../../src/base/clock.ts'
import type { Append, Commit, ReadLimits, Store, StreamId } from '../../src/store/store.ts'
import { checkAppend, checkRewrite, OutcomeUnknown, StoreUnavailable } from '../../src/store/store.ts'
import * as contents from './contents.ts'

export type StoreVerb = Exclude<keyof Store, 'description' | 'breaker' | 'renewed' | 'close'>

/**
 * `unavailable`: the call has no effect and throws StoreUnavailable. `unknown-lost`: the call has no effect and
 * throws OutcomeUnknown. `unknown-done`: the call takes effect and throws OutcomeUnknown.
 */
export type StoreFault = 'unavailable' | 'unknown-lost' | 'unknown-done'

export interface StoreFaults {
  /** Sets the delay of each call in milliseconds, on the store's clock. 0 means within the same turn. */
  delay(verb: StoreVerb | 'all', ms: number): void
  /**
   * The next `times` calls of the verb fail with this fault. Several faults queue up in order. Returns a function that
   * takes back all faults of the verb that are left.
   */
  failNext(verb: StoreVerb, fault: StoreFault, times?: number): () => void
  /** Every call of the verb waits before its effect, until the test calls the returned function. */
  hold(verb: StoreVerb | 'all'): () => void
  /**
   * Ends every hold. Without this a failed test with a hold would never end, because closing waits for the pending
   * calls.
   */
  release(): void
  /** Marks a stream as damaged from this offset on. */
  damage(stream: StreamId, offset: number, message: string): void
  /** Flips one bit of a stored batch, so that its CRC no longer matches. */
  rot(stream: StreamId, baseOffset: number): void
  /** Removes one stream, as a Redis that evicts keys does. */
  lose(stream: StreamId): void
  /** Removes one document in the same way. */
  loseDocument(kind: string, name: string): void
  /** Removes everything, as FLUSHALL does. */
  empty(): void
  /** Reports that these streams must be opened again. */
  renew(streams: readonly StreamId[]): void
}

export interface MemoryStore extends Store {
  readonly faults: StoreFaults
  /** The number of calls of each verb; tests of batching read it. */
  readonly calls: Readonly<Record<StoreVerb, number>>
  /** Returns a new store object with the same contents, as after a restart. The old object then refuses all calls. */
  reopen(): MemoryStore
  /** Returns one more store object with the same contents, as another broker has it, with faults of its own. */
  beside(): MemoryStore
}

const VERBS: readonly StoreVerb[] = [
  'create',
  'remove',
  'streams',
  'space',
  'usage',
  'ping',
  'open',
  'append',
  'confirm',
  'read',
  'trim',
  'rewrite',
  'remake',
  'load',
  'version',
  'list',
  'names',
  'commit',
]

export function createMemoryStore(clock: Clock): MemoryStore {
  return faceOf(clock, contents.emptyContents(), 1)
}

function faceOf(clock: Clock, held: contents.Contents, life: number): MemoryStore {
  let closed = false
  const delays = new Map<StoreVerb, number>()
  const failures = new Map<StoreVerb, StoreFault[]>()
  const holds = new Map<StoreVerb, Set<Promise<void>>>()
  const releases = new Set<() => void>()
  const calls = Object.fromEntries(VERBS.map(verb => [verb, 0])) as Record<StoreVerb, number>
  const verbsOf = (verb: StoreVerb | 'all') => (verb === 'all' ? VERBS : [verb])

  const running = new Set<Promise<unknown>>()
  let renewal = Promise.withResolvers<readonly StreamId[] | null>()

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

  /** There is only one copy, so everything in it satisfies the acknowledgement rule. */
  function cover(id: StreamId): number {
    const stream = contents.existing(held, id)
    stream.highWatermark = stream.end
    return stream.end
  }

  return {
    description: 'in memory, gone with the process',
    breaker: 'disabled',
    calls,
    faults: {
      delay(verb, ms) {
        for (const each of verbsOf(verb)) delays.set(each, ms)
      },
      failNext(verb, fault, times = 1) {
        const queue = failures.get(verb) ?? []
        for (let i = 0; i < times; i++) queue.push(fault)
        failures.set(verb, queue)
        return () => failures.delete(verb)
      },
      hold(verb) {
        const { promise, resolve } = Promise.withResolvers<void>()
        for (const each of verbsOf(verb)) holds.set(each, (holds.get(each) ?? new Set()).add(promise))
        const release = () => {
          for (const each of verbsOf(verb)) holds.get(each)?.delete(promise)
          resolve()
          releases.delete(release)
        }
        releases.add(release)
        return release
      },
      release() {
        for (const release of releases) release()
      },
      damage(id, offset, message) {
        contents.existing(held, id).damage = { offset, message }
      },
      lose: id => contents.remove(held, [id]),
      loseDocument: (kind, name) => contents.loseDocument(held, kind, name),
      empty() {
        held.streams.clear()
        held.documents.clear()
      },
      rot(id, baseOffset) {
        const stream = contents.existing(held, id)
        const at = stream.batches.findIndex(batch => batch.baseOffset === baseOffset)
        const batch = stream.batches[at]
        assert(batch !== undefined, `the memory store has no batch at ${baseOffset} of ${id}`)
        const bytes = Uint8Array.from(batch.bytes)
        bytes[bytes.length - 1]! ^= 1
        stream.batches[at] = { ...batch, bytes }
      },
      renew(streams) {
        renewal.resolve(streams)
        renewal = Promise.withResolvers()
      },
    },
    reopen() {
      closed = true
      return faceOf(clock, held, life + 1)
    },

    beside: () => faceOf(clock, held, life),

    create: streams => call('create', () => contents.create(held, streams)),
    remove: streams => call('remove', () => contents.remove(held, streams)),
    streams: () => call('streams', () => [...held.streams.keys()]),
    usage: streams => call('usage', () => contents.usageOf(held, streams)),
    space: () => call('space', () => ({ place: 'memory', totalBytes: -1, usableBytes: -1 })),

    async ping(withinMs) {
      const startedAtMs = clock.monotonic()
      const asked = call('ping', () => null).catch((error: Error) => error.message)
      const failure = await within(clock, withinMs, asked, () => `no answer within ${withinMs} ms`)
      const durability = { facts: {}, warnings: [] }
      return [{ part: 'store', place: 'memory', failure, tookMs: clock.monotonic() - startedAtMs, durability }]
    },

    open: (id, known, floor) =>
      call('open', () => {
        const outcome = contents.open(held, id, known, floor, 'the only one')
        if (outcome.kind !== 'opened') return outcome
        return { ...outcome, highWatermark: cover(id), incarnation: `life ${life}` }
      }),

    append: (append: Append) => {
      checkAppend(append)
      return call('append', () => {
        const outcome = contents.append(held, append)
        return outcome.kind === 'appended' ? { ...outcome, highWatermark: cover(append.stream) } : outcome
      })
    },

    confirm: (id, epoch) =>
      call('confirm', () => {
        const outcome = contents.confirm(held, id, epoch)
        return outcome.kind === 'confirmed' ? { kind: 'confirmed', highWatermark: cover(id) } : outcome
      }),
    read: (id: StreamId, from: number, limits: ReadLimits) => call('read', () => contents.read(held, id, from, limits)),
    trim: (id, epoch, before, rows) => call('trim', () => contents.trim(held, id, epoch, before, rows)),
    rewrite: asked => {
      checkRewrite(asked)
      // The cleaner releases what it has read, and that may be what it writes.
      const batches = asked.batches.map(batch => ({ ...batch, bytes: Uint8Array.from(batch.bytes) }))
      return call('rewrite', () => contents.rewrite(held, { ...asked, batches }))
    },
    remake: (id, epoch, end) => call('remake', () => contents.remake(held, id, epoch, end)),

    load: (kind, name) => call('load', () => contents.load(held, kind, name)),
    version: (kind, name) => call('version', () => contents.load(held, kind, name)?.version ?? 0),
    list: kind => call('list', () => contents.list(held, kind)),
    names: kind => call('names', () => contents.list(held, kind).map(({ name }) => name)),
    commit: (commit: Commit) => call('commit', () => contents.commit(held, commit, 'the only one')),

    renewed: () => renewal.promise,

    async close() {
      closed = true
      await Promise.all(running)
      renewal.resolve(null)
    },
  }
}
