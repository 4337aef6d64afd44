// One broker's connection to the replicated server: the store port with the rules of the Redis adapter. An append
// names its offset and its epoch. A result is shown only once enough replicas have the data. If the connection
// breaks, the outcome of pending calls is unknown, and some of them arrive later. A new incarnation of the server
// invalidates the opens under the old one, and the broker raises every stream to the highest offset that it has seen.
// Each safeguard can be switched off, to prove that the oracles notice it.

import { isDeepStrictEqual } from 'node:util'
import { viewBatch } from '../../src/protocol/records.ts'
import {
  type Append,
  type Batch,
  type Commit,
  checkAppend,
  checkRewrite,
  type Fenced,
  type Gone,
  OutcomeUnknown,
  type Pass,
  type Store,
  StoreUnavailable,
  type StreamId,
} from '../../src/store/store.ts'
import * as contents from './contents.ts'
import type { ReplicatedServer } from './replicated-server.ts'

/** The safeguards that keep the promises of the store port over a server that fails over. */
export interface Safeguards {
  /** A write is acknowledged once enough replicas have it. */
  readonly wait: boolean
  /**
   * Data is shown only once enough replicas have it: no tail to readers, and no end to a broker that takes the lead.
   */
  readonly visibility: boolean
  /** An append with an unknown outcome is recognised by its attempt id. */
  readonly attempt: boolean
  /** An append is also recognised at its intended offset: the log reads one batch there (Lane.#hasLanded). */
  readonly place: boolean
  /** An append must name exactly the end and the epoch of the stream; without this safeguard ids must only increase. */
  readonly compare: boolean
  /** A rewrite must name the epoch of the stream. */
  readonly rewriteEpoch: boolean
  /** A stream that was opened under another incarnation of the server must be opened again. */
  readonly incarnation: boolean
  /** Offsets that were once reported are not used again, even if the server has lost them. */
  readonly floor: boolean
  /** An open raises the end to the floor that the broker names, such as the end of the last sealed segment. */
  readonly namedFloor: boolean
  /** Readers skip entries that a torn append left between two epochs, and a broker that takes the lead deletes them. */
  readonly sweep: boolean
}

export const ALL_SAFEGUARDS: Safeguards = Object.freeze({
  wait: true,
  visibility: true,
  attempt: true,
  place: true,
  compare: true,
  rewriteEpoch: true,
  incarnation: true,
  floor: true,
  namedFloor: true,
  sweep: true,
})

/**
 * `refused`: the request was never sent. `lost` and `late`: the connection breaks before the request arrives; `lost`
 * requests never arrive, `late` requests arrive later.
 */
export type Fate = 'answered' | 'answer lost' | 'lost' | 'late' | 'refused'

/** How messages travel between one broker and the server. */
export interface Wire {
  fate(verb: keyof Store): Fate
  /** toServer and toBroker keep the order of their messages. */
  toServer(arrived: () => void): void
  toBroker(arrived: () => void): void
  /** Calls `due` after this time, even if the broker is paused. Returns a function that cancels the call. */
  later(ms: number, due: () => void): () => void
  /** Returns the delay of a late request in milliseconds. */
  delayMs(): number
}

export interface ReplicatedStoreOptions {
  readonly server: ReplicatedServer
  readonly wire: Wire
  readonly safeguards?: Safeguards
  /** The number of replicas that must have the acknowledged data. */
  readonly waitReplicas: number
  readonly waitTimeoutMs: number
  /** The interval in milliseconds at which an idle connection checks the incarnation; 0 for never. */
  readonly lookEveryMs?: number
}

interface Link {
  /** The incarnation of the server, as this broker knows it. */
  incarnation: string
  isBroken: boolean
  readonly underWay: Set<(cause: Error) => void>
}

/** The result of a call on the server. */
interface Done<T> {
  readonly value: T
  /** True if enough replicas have this effect and all earlier ones. */
  readonly isCovered: boolean
}

export function connectReplicatedStore(options: ReplicatedStoreOptions): Store {
  const { server, wire, safeguards = ALL_SAFEGUARDS, waitReplicas, waitTimeoutMs, lookEveryMs = 0 } = options
  /** The highest offset that this broker has seen as covered, and may have reported to others. */
  const told = new Map<StreamId, number>()
  const openedUnder = new Map<StreamId, string>()
  /** The passes of rewrites, as this broker knows them; a trim that passes one moves it, as in Redis. */
  const passes = new Map<StreamId, Pass>()
  const running = new Set<Promise<unknown>>()
  let renewal = Promise.withResolvers<readonly StreamId[] | null>()
  let link: Link | null = null
  let connecting: Promise<Link> | null = null
  let closed = false

  function connect(): Promise<Link> {
    connecting ??= new Promise<Link>((resolve, reject) => {
      wire.toServer(() => {
        if (server.isDown) {
          wire.toBroker(() => reject(new StoreUnavailable('the simulated server is down')))
          return
        }
        const made: Link = { incarnation: server.incarnation, isBroken: false, underWay: new Set() }
        speak()
        server.onBreak(() => breakOff(made))
        wire.toBroker(() => {
          link = made
          renew(made.incarnation)
          resolve(made)
        })
      })
    }).finally(() => {
      connecting = null
    })
    return connecting
  }

  /** Raises the ends of the streams, before anything else under a new incarnation. */
  function speak(): void {
    if (!safeguards.floor) return
    for (const [id, floor] of told) {
      const end = server.contents.streams.get(id)?.end
      if (end === undefined || end >= floor) continue
      server.write(all => {
        const stream = all.streams.get(id)
        if (stream !== undefined) stream.end = Math.max(stream.end, floor)
      })
    }
  }

  /** Reports the streams that were opened under another incarnation, so that they are opened again. */
  function renew(incarnation: string): void {
    const stale = [...openedUnder].filter(([, under]) => under !== incarnation).map(([id]) => id)
    if (stale.length === 0 || !safeguards.incarnation) return
    renewal.resolve(stale)
    renewal = Promise.withResolvers()
  }

  function look(): void {
    wire.later(lookEveryMs, () =>
      wire.toBroker(() => {
        if (closed) return
        look()
        const looking = link
        if (looking === null || looking.isBroken) return
        wire.toServer(() => {
          if (looking.isBroken || looking.incarnation === server.incarnation) return
          const { incarnation } = server
          speak()
          wire.toBroker(() => {
            looking.incarnation = incarnation
            renew(incarnation)
          })
        })
      }),
    )
  }
  if (lookEveryMs > 0) look()

  /** Breaks the connection. The broker learns of it when the message arrives; until then its requests are lost. */
  function breakOff(broken: Link): void {
    broken.isBroken = true
    wire.toBroker(() => {
      if (link === broken) link = null
      for (const fail of broken.underWay) fail(new OutcomeUnknown('the connection to the simulated server broke'))
      broken.underWay.clear()
    })
  }

  function call<T>(verb: keyof Store, effect: (at: Link) => T, waits: boolean | ((value: T) => boolean)) {
    if (closed) return Promise.reject(new StoreUnavailable('the connection to the simulated server is closed'))
    const sent = link === null ? connect().then(at => send(at, verb, effect, waits)) : send(link, verb, effect, waits)
    const settled: Promise<boolean> = sent.then(
      () => running.delete(settled),
      () => running.delete(settled),
    )
    running.add(settled)
    return sent
  }

  function send<T>(
    at: Link,
    verb: keyof Store,
    effect: (at: Link) => T,
    waits: boolean | ((value: T) => boolean),
  ): Promise<Done<T>> {
    const fate = wire.fate(verb)
    if (fate === 'refused')
      return Promise.reject(new StoreUnavailable(`the simulated store was told to refuse ${verb}`))
    return new Promise((resolve, reject) => {
      at.underWay.add(reject)
      const answer = (done: Done<T>) =>
        wire.toBroker(() => {
          if (at.underWay.delete(reject)) resolve(done)
        })
      const act = () => {
        const value = effect(at)
        if (fate !== 'answered') {
          breakOff(at)
          return
        }
        const mustWait = typeof waits === 'function' ? waits(value) : waits
        if (!mustWait) {
          answer({ value, isCovered: true })
          return
        }
        let isOver = false
        const end = (isCovered: boolean) => {
          if (isOver) return
          isOver = true
          giveUp()
          answer({ value, isCovered })
        }
        const giveUp = wire.later(waitTimeoutMs, () => end(false))
        server.wait(server.position, waitReplicas, () => end(true))
      }
      const actLate = () => {
        if (!server.isDown) effect(at)
      }
      wire.toServer(() => {
        if (fate === 'late') wire.later(wire.delayMs(), actLate)
        if (fate === 'late' || fate === 'lost') breakOff(at)
        else if (!at.isBroken) act()
      })
    })
  }

  const write = <T>(
    verb: keyof Store,
    effect: (all: contents.Contents) => T,
    waits: boolean | ((value: T) => boolean),
  ) => call(verb, () => server.write(effect), waits)
  const see = <T>(verb: keyof Store, read: (all: contents.Contents) => T, waits: boolean) =>
    call(verb, () => read(server.contents), waits)

  function tell(id: StreamId, highWatermark: number): number {
    told.set(id, Math.max(told.get(id) ?? 0, highWatermark))
    return highWatermark
  }

  /** Returns true if the stream was opened under another incarnation than the one that the connection knows. */
  function isElsewhere(id: StreamId, { incarnation }: Link): boolean {
    return safeguards.incarnation && (openedUnder.get(id) ?? incarnation) !== incarnation
  }

  function fenced(id: StreamId): Fenced | Gone {
    const stream = server.contents.streams.get(id)
    return stream === undefined ? { kind: 'gone' } : { kind: 'fenced', epoch: stream.epoch }
  }

  /** Throws OutcomeUnknown for a write that could still be lost. */
  function certain<T>({ value, isCovered }: Done<T>): T {
    if (!isCovered) throw new OutcomeUnknown('it is written, but not on enough replicas')
    return value
  }

  function shown<T>({ value, isCovered }: Done<T>): T {
    if (!isCovered) throw new StoreUnavailable('the last write is not on enough replicas yet')
    return value
  }

  /** Copies the bytes, so that the request has their content at the time of the call. */
  const copy = (batch: Batch): Batch => ({ ...batch, bytes: Buffer.from(batch.bytes) })

  return {
    description: 'a simulated server with replicas',
    breaker: 'disabled',

    create: async ids => certain(await write('create', all => contents.create(all, ids), safeguards.wait)),
    async remove(ids) {
      certain(await write('remove', all => contents.remove(all, ids), safeguards.wait))
      for (const id of ids) told.delete(id)
    },
    streams: async () => shown(await see('streams', all => [...all.streams.keys()], safeguards.visibility)),
    usage: async ids => shown(await see('usage', all => contents.usageOf(all, ids), false)),
    space: async () =>
      shown(await see('space', () => ({ place: 'simulated', totalBytes: -1, usableBytes: -1 }), false)),

    async ping() {
      const asked = see('ping', () => null, false)
      const failure = await asked.then(
        () => null,
        (error: Error) => error.message,
      )
      return [{ part: 'store', place: 'simulated', failure, tookMs: 0, durability: { facts: {}, warnings: [] } }]
    },

    async open(id, known, floor) {
      const asked = safeguards.floor ? Math.max(safeguards.namedFloor ? floor : 0, told.get(id) ?? 0) : 0
      const done = await call(
        'open',
        () => {
          const { incarnation } = server
          const under = safeguards.incarnation ? incarnation : 'any'
          const outcome = server.write(all => {
            if (safeguards.sweep) contents.sweep(all, id)
            return contents.open(all, id, known, asked, under)
          })
          return { outcome, incarnation }
        },
        ({ outcome }) => safeguards.visibility && outcome.kind === 'opened',
      )
      const { outcome, incarnation } = done.value
      if (outcome.kind !== 'opened') return outcome
      openedUnder.set(id, incarnation)
      passes.set(id, passFrom(outcome.start, outcome.pass))
      const lastAttempt = safeguards.attempt ? outcome.lastAttempt : null
      // The open is the last write, so a replica that has it has all earlier writes too.
      const highWatermark = done.isCovered ? outcome.end : outcome.highWatermark
      return { ...outcome, lastAttempt, highWatermark: tell(id, highWatermark) }
    },

    async append(append: Append) {
      checkAppend(append)
      const asked = { ...append, batches: append.batches.map(copy) }
      const id = append.stream
      const known = told.get(id) ?? 0
      const done = await call(
        'append',
        at => {
          if (isElsewhere(id, at)) return fenced(id)
          return server.write(
            all => {
              const outcome = safeguards.compare ? contents.append(all, asked) : appendById(all, asked)
              const written = all.streams.get(id)
              if (written !== undefined) written.highWatermark = Math.max(written.highWatermark, known)
              return outcome
            },
            all => contents.putOrphan(all, asked),
          )
        },
        outcome => safeguards.wait && outcome.kind === 'appended',
      )
      if (done.value.kind !== 'appended') return done.value
      const { end } = done.value
      return { kind: 'appended', end, highWatermark: tell(id, done.isCovered ? end : known) }
    },

    async confirm(id, epoch) {
      const done = await write('confirm', all => contents.confirm(all, id, epoch), true)
      if (done.value.kind !== 'confirmed') return done.value
      return { kind: 'confirmed', highWatermark: tell(id, done.isCovered ? done.value.end : (told.get(id) ?? 0)) }
    },

    async read(id, from, limits) {
      const found = shown(await see('read', all => contents.read(all, id, from, limits, safeguards.sweep), false))
      const isLook = limits.maxBytes === 1
      return isLook && !safeguards.place && found.kind === 'read' ? { ...found, batches: [] } : found
    },

    async trim(id, epoch, before, rows) {
      const known = told.get(id) ?? 0
      const done = await write(
        'trim',
        all => {
          const stream = all.streams.get(id)
          if (stream !== undefined) stream.highWatermark = Math.max(stream.highWatermark, known)
          return contents.trim(all, id, epoch, before, rows)
        },
        false,
      )
      const { value } = done
      const pass = passes.get(id)
      if (value.kind === 'trimmed' && pass !== undefined) passes.set(id, passFrom(value.start, pass))
      return value
    },

    async rewrite(rewrite) {
      checkRewrite(rewrite)
      const asked = { ...rewrite, batches: rewrite.batches.map(copy) }
      const { stream: id } = rewrite
      const known = told.get(id) ?? 0
      const pass = passes.get(id)
      const done = await call<ReturnType<typeof contents.rewrite> | { readonly kind: 'changed' }>(
        'rewrite',
        at => {
          if (isElsewhere(id, at)) return fenced(id)
          const now = server.contents.streams.get(id)
          const isSame = now === undefined || isDeepStrictEqual(passFrom(now.start, now.pass), pass)
          if (openedUnder.get(id) !== server.incarnation && !isSame) return { kind: 'changed' }
          // A Redis compares the end that the leader knows.
          if (now !== undefined && now.end < known) return { kind: 'changed' }
          return server.write(all => {
            const stream = all.streams.get(id)
            if (stream !== undefined) stream.highWatermark = Math.max(stream.highWatermark, known)
            return contents.rewrite(all, safeguards.rewriteEpoch ? asked : { ...asked, epoch: stream?.epoch ?? 0 })
          })
        },
        outcome => safeguards.wait && outcome.kind === 'rewritten',
      )
      const { value } = done
      // A Redis compares the pass at each rewrite. Here the epoch alone must stand between two leaders.
      if (value.kind === 'changed') throw new StoreUnavailable(`the server has lost rewrites or appends of ${id}`)
      if (value.kind !== 'rewritten') return value
      certain(done)
      passes.set(id, { to: value.to, until: value.until })
      return value
    },

    async remake(id, epoch, end) {
      const done = await write('remake', all => contents.remake(all, id, epoch, end), false)
      return done.value
    },

    load: async (kind, name) => shown(await see('load', all => contents.load(all, kind, name), safeguards.visibility)),
    version: async (kind, name) =>
      shown(await see('version', all => contents.load(all, kind, name)?.version ?? 0, safeguards.visibility)),
    list: async kind => shown(await see('list', all => contents.list(all, kind), safeguards.visibility)),
    names: async kind => {
      const listed = await see('names', all => contents.list(all, kind), safeguards.visibility)
      return shown(listed).map(({ name }) => name)
    },
    commit: async (commit: Commit) => {
      const done = await call(
        'commit',
        () => {
          const { incarnation } = server
          return server.write(all => contents.commit(all, commit, safeguards.incarnation ? incarnation : 'any'))
        },
        safeguards.wait,
      )
      return certain(done)
    },

    renewed: () => renewal.promise,

    async close() {
      closed = true
      await Promise.all(running)
      renewal.resolve(null)
    },
  }
}

/**
 * Appends like a plain XADD: it accepts every id above the newest, without the other checks. `open` sets the newest
 * id.
 */
function appendById(all: contents.Contents, asked: Append): ReturnType<typeof contents.append> {
  const stream = all.streams.get(asked.stream)
  if (stream === undefined) return { kind: 'gone' }
  if (asked.epoch < stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
  const newest = stream.batches.at(-1)
  const isOfThisEpoch = newest !== undefined && viewBatch(newest.bytes).leaderEpoch === asked.epoch
  if (isOfThisEpoch && asked.batches[0]!.baseOffset <= newest.baseOffset) return { kind: 'misplaced', end: stream.end }
  return { kind: 'appended', end: contents.put(stream, asked) }
}

/** Returns the pass in a log that begins here. */
function passFrom(start: number, { to, until }: Pass): Pass {
  return { to: Math.max(start, to), until: Math.max(start, until) }
}
