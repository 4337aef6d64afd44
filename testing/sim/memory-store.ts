// The in-memory twin of the store port: what unit tests and the simulation run on. It keeps the same promises as the
// embedded store (src/store/conformance.ts asks both) except that a new process finds it empty. Calls take effect one
// after the other, in call order for equal delays; an effect and its answer happen at the same moment. Faults are
// asked for explicitly: nothing fails or waits by itself.

import { assert } from '../../src/base/assert.ts'
import { type Clock, within } from '../../src/base/clock.ts'
import type { Append, Commit, ReadLimits, Store, StreamId } from '../../src/store/store.ts'
import { checkAppend, OutcomeUnknown, StoreUnavailable } from '../../src/store/store.ts'
import * as contents from './contents.ts'

export type StoreVerb = Exclude<keyof Store, 'description' | 'renewed' | 'close'>

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
  /**
   * Ends every hold. A test that failed with one would never end: what it leaves is closed, and waits for the calls
   * under way.
   */
  release(): void
  /** Marks a stream as damaged from this offset on. */
  damage(stream: StreamId, offset: number, message: string): void
  /** Flips one bit of a stored batch, so that its CRC no longer matches. */
  rot(stream: StreamId, baseOffset: number): void
  /** Drops one stream, as a Redis does that evicts keys. */
  lose(stream: StreamId): void
  /** The same for a document. */
  loseDocument(kind: string, name: string): void
  /** Drops everything, as FLUSHALL does. */
  empty(): void
  /** Says that these streams must be opened again. */
  renew(streams: readonly StreamId[]): void
}

export interface MemoryStore extends Store {
  readonly faults: StoreFaults
  /** How often each verb was called; tests of batching read it. */
  readonly calls: Readonly<Record<StoreVerb, number>>
  /** The same contents behind a new face, as after a restart. The old face refuses from then on. */
  reopen(): MemoryStore
  /** The same contents behind one more face, as another broker has it, with faults of its own. */
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
  'remake',
  'load',
  'version',
  'list',
  'commit',
]

export function createMemoryStore(clock: Clock): MemoryStore {
  return faceOf(clock, contents.emptyContents())
}

function faceOf(clock: Clock, held: contents.Contents): MemoryStore {
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

  /** There is one copy: what is in it is where it has to be. */
  function cover(id: StreamId): number {
    const stream = contents.existing(held, id)
    stream.highWatermark = stream.end
    return stream.end
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
      return faceOf(clock, held)
    },

    beside: () => faceOf(clock, held),

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
        return outcome.kind === 'opened' ? { ...outcome, highWatermark: cover(id) } : outcome
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
    remake: (id, epoch, end) => call('remake', () => contents.remake(held, id, epoch, end)),

    load: (kind, name) => call('load', () => contents.load(held, kind, name)),
    version: (kind, name) => call('version', () => contents.load(held, kind, name)?.version ?? 0),
    list: kind => call('list', () => contents.list(held, kind)),
    commit: (commit: Commit) => call('commit', () => contents.commit(held, commit, 'the only one')),

    renewed: () => renewal.promise,

    async close() {
      closed = true
      await Promise.all(running)
      renewal.resolve(null)
    },
  }
}
