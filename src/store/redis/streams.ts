// Streams on Redis: implements the port's calls on streams with the Functions of functions.lua, which decides every
// race. This file builds the calls and interprets their answers. For a stream that this process leads it remembers
// the state that the next call needs (epoch, sizes, high watermark). That state belongs to one incarnation of the
// store and is dropped with it.

import { assert } from '../../base/assert.ts'
import { type Clock, sleep, within } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type {
  Append,
  Appended,
  Batch,
  Confirmed,
  Damaged,
  Fenced,
  Gone,
  Kept,
  Misplaced,
  Opened,
  Read,
  ReadLimits,
  Remade,
  Rewrite,
  Rewritten,
  Row,
  StreamId,
  Trimmed,
  Usage,
} from '../store.ts'
import { checkAppend, checkRewrite, OutcomeUnknown, passAfter, ReplicasMissing, StoreUnavailable } from '../store.ts'
import {
  allKeys,
  begun,
  type Cleaned,
  currentKey,
  decodeCleaned,
  formerKey,
  type Part,
  partAt,
  passOf,
  positionBefore,
  removedBytes,
  rewritten,
} from './cleaned.ts'
import { type Argument, followAsk, type Link, type RedisLinks, type Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'
import { decodeEntry, type Entry, encodeHeader, entryId, idAt, UnreadableEntry } from './entry.ts'
import { encodeFields } from './fields.ts'
import { fcall, isMissing, loadFunctions, withFunctions, wordsOf } from './functions.ts'
import type { Keys, StreamKeys } from './keys.ts'
import { decodeMeta, decodeSealed, encodeSealed, type Known, META } from './meta.ts'
import { refuse } from './refusals.ts'
import type { Rounds, Written } from './rounds.ts'
import { countThatFits, decodeSizes, encodeSizes, grown, rewrittenAt } from './sizes.ts'
import { Turns } from './turns.ts'
import { decodeEpochs, decodeVoids, isVoid } from './voids.ts'

export interface StreamsRooms {
  readonly links: RedisLinks
  readonly keys: Keys
  readonly rounds: Rounds
  /** `write.wait-replicas`. */
  readonly replicas: number
  readonly clock: Clock
  readonly random: Random
  /** How many milliseconds `open` waits, under a new incarnation, for a broker that led before. */
  readonly vouchMs: number
  /** Gets sentences for the operator. */
  readonly report: (message: string) => void
  /** Called after a stream has lost its end, with the number of lost offsets that clients had been told. */
  readonly onLostEnd: (offsets: number) => void
}

/** The field that keeps the key of the rows in existence if there are no rows (functions.lua). */
const NO_ROW = '.'

interface Stream {
  readonly id: StreamId
  readonly keys: StreamKeys
  /** The first command of every append. */
  readonly arm: readonly Argument[]
  /** The last command of every append, without the append's own arguments. */
  readonly seal: readonly Argument[]
  readonly turns: Turns
  /**
   * The known state of the stream; null if it must be read again. `isLed` is true if this process leads the stream
   * with that state.
   */
  known: Known | null
  isLed: boolean
  /** True if the stream was rewritten, as far as this process knows: its openings name all keys. */
  isRewritten: boolean
  /** The last epoch that this process led with; 0 if it has not led. */
  ledLast: number
  /** True if the stored stream may differ from the known state. Then it is read before it is changed again. */
  isVague: boolean
  /**
   * The incarnation under which the stream was opened (`replid`), and the one that its link showed then (`believed`),
   * which may be out of date.
   */
  openedUnder: { readonly replid: string; readonly believed: string } | null
  /** Set until the current incarnation knows which offsets clients were told under the earlier one. */
  untold: Untold | null
  /** True while the store may be older than the known state. */
  isStale: boolean
  /** True if another program changed the stream or entries were missing, and no append has succeeded since. */
  isTorn: boolean
  /** The offset at which the last read ended: no entry that begins below it contains this offset. */
  readTo: number
  /** The highest high watermark that this process has returned: clients may know every offset below it. */
  told: number
  /** The incarnation in which the end of the stream was found to be lost. */
  lostIn: string
}

interface Untold {
  readonly incarnation: string
  isReported: boolean
}

/** The names of the words in an answer of `open` after the first one, in order. */
const OPENED = [
  'epoch',
  'start',
  'epochs',
  'sealed',
  'attempt',
  'sizes',
  'replid',
  'formerly',
  'formerEnd',
  'swept',
  'missing',
  'length',
  'leap',
  'emptyFrom',
  'cleaned',
  'currentMissing',
  'currentLength',
  'formerMissing',
  'formerLength',
] as const

/** The most entries that one call of `sweep` deletes. */
const SWEPT_AT_ONCE = 64
/** The replies of these streams come together. Appends wait for them, here and in Redis. */
const MEASURED_AT_ONCE = 16

const VOUCH_POLL_MS = 100

/** The number of incarnations that are remembered. If one is forgotten, an opening waits once more. */
const MOST_INCARNATIONS = 10_000

/** How many milliseconds a closing store waits until Redis has noted that its leads end in order. */
const SETTLE_MS = 2_000

/** The answer of `seal` if the append counts. */
const SEALED = 1

export class Streams {
  readonly #rooms: StreamsRooms
  readonly #streams = new Map<StreamId, Stream>()
  /** A random id that distinguishes this process from other leaders. */
  readonly #process: string
  /** The time of the first opening of a stream in each incarnation. A cluster has one incarnation for each primary. */
  readonly #openingSinceMs = new Map<string, number>()
  /** The incarnations in which the end of a stream was raised by LEAP. */
  readonly #leaptIn = new Set<string>()

  constructor(rooms: StreamsRooms) {
    this.#rooms = rooms
    this.#process = Buffer.from(rooms.random.uuidBytes()).toString('hex')
  }

  async create(ids: readonly StreamId[]): Promise<void> {
    if (ids.length === 0) return
    const { links, keys } = this.#rooms
    // The index is written first: a listed stream that does not exist is swept later, but a stream that is not listed
    // would stay for ever.
    await this.#changeIndex('SADD', ids)
    await Promise.all(
      ids.map(id =>
        this.#of(id).turns.last(async () => {
          const { batches, meta, rows } = keys.stream(id)
          await withFunctions(links, () =>
            this.#write(meta, [fcall('create', [batches, meta, rows], [])], `making ${meta}`),
          )
        }),
      ),
    )
  }

  async remove(ids: readonly StreamId[]): Promise<void> {
    if (ids.length === 0) return
    await Promise.all(
      ids.map(id =>
        this.#of(id).turns.last(async () => {
          const { batches, meta, rows, cleaned } = this.#rooms.keys.stream(id)
          try {
            await this.#write(meta, [['UNLINK', batches, meta, rows]], `removing ${meta}`)
            // These may not exist, so each has a command of its own, which a cluster serves while the slot migrates.
            await Promise.all(cleaned.map(key => this.#write(key, [['UNLINK', key]], `removing ${key}`)))
          } finally {
            this.#forget(this.#of(id))
          }
        }),
      ),
    )
    await this.#changeIndex('SREM', ids)
  }

  async list(): Promise<readonly StreamId[]> {
    const { links, keys } = this.#rooms
    const reply = await links
      .read(keys.streams)
      .send(['SMEMBERS', keys.streams])
      .catch(error => refuse(error, `reading ${keys.streams}`))
    return wordsOf(reply)
  }

  async usage(ids: readonly StreamId[]): Promise<readonly (Usage | null)[]> {
    const all: (Usage | null)[] = []
    for (let from = 0; from < ids.length; from += MEASURED_AT_ONCE)
      all.push(...(await Promise.all(ids.slice(from, from + MEASURED_AT_ONCE).map(id => this.#measure(id)))))
    return all
  }

  async #measure(id: StreamId): Promise<Usage | null> {
    const { links, keys } = this.#rooms
    const places = keys.stream(id)
    const { batches, meta } = places
    try {
      const [, there, stored] = await readInOrder(links.read(meta), [
        // As in #read: while a slot migrates, existing keys may be reported as missing.
        ['EXISTS', batches, meta],
        ['XLEN', batches],
        ['HMGET', meta, 'sealed', 'cleaned'],
      ])
      const [sealed, text] = stored as readonly (Buffer | null)[]
      if (sealed == null) return null
      const cleaned = decodeCleaned(text?.toString())
      const ask = (...command: string[]) => links.read(meta).send(command).then(Number)
      const rewritten =
        cleaned === null
          ? []
          : [
              { key: currentKey(places, cleaned), length: cleaned.current.length },
              { key: formerKey(places, cleaned), length: cleaned.former.length },
            ]
      const [bytes, lengths] = await Promise.all([
        Promise.all(allKeys(places, cleaned !== null).map(key => ask('MEMORY', 'USAGE', key))),
        Promise.all(rewritten.map(async ({ key, length }) => ({ length, there: await ask('XLEN', key) }))),
      ])
      const parts = [{ length: decodeSealed(String(sealed)).length, there: Number(there) }, ...lengths]
      return {
        entries: sumOf(parts.map(({ length }) => length)),
        memoryBytes: sumOf(bytes),
        isEmptied: parts.some(({ length, there }) => length > 0 && there === 0),
      }
    } catch (error) {
      if (error instanceof RedisError && error.code === 'WRONGTYPE')
        return { entries: null, memoryBytes: null, isEmptied: true }
      return refuse(error, `measuring ${meta}`)
    }
  }

  open(id: StreamId, known: number, floor: number): Promise<Opened | Fenced | Gone> {
    const stream = this.#of(id)
    return stream.turns.last(() => this.#open(stream, known, floor))
  }

  append(append: Append): Promise<Appended | Misplaced | Fenced | Gone | Damaged> {
    checkAppend(append)
    const stream = this.#of(append.stream)
    return stream.turns.append(() => this.#append(stream, append))
  }

  read(id: StreamId, from: number, limits: ReadLimits): Promise<Read | Trimmed | Gone | Damaged> {
    const stream = this.#of(id)
    const isBelow = stream.isLed && limits.until <= (stream.known?.highWatermark ?? -1)
    return stream.turns.read(isBelow, () => this.#read(stream, from, limits))
  }

  trim(
    id: StreamId,
    epoch: number,
    before: number,
    rows: readonly Row[],
  ): Promise<{ readonly kind: 'trimmed'; readonly start: number; readonly bytes: number } | Fenced | Gone> {
    const stream = this.#of(id)
    return stream.turns.last(() => this.#trim(stream, epoch, before, rows))
  }

  rewrite(rewrite: Rewrite): Promise<Rewritten | Fenced | Gone | Damaged> {
    checkRewrite(rewrite)
    const stream = this.#of(rewrite.stream)
    return stream.turns.last(() => this.#rewrite(stream, rewrite))
  }

  async remake(id: StreamId, epoch: number, end: number): Promise<Remade | Kept> {
    const stream = this.#of(id)
    return await stream.turns.last(async () => {
      const { meta } = stream.keys
      // Even without meta, no key may stay behind.
      const call = fcall('remake', allKeys(stream.keys, true), [epoch, Math.max(end, stream.told)])
      // A stream that is not in the index would stay for ever.
      await this.#changeIndex('SADD', [id])
      const [kind, start] = wordsOf(
        await withFunctions(this.#rooms.links, () => this.#write(meta, [call], `making ${meta} anew`)),
      )
      if (kind === 'kept') return { kind }
      this.#forget(stream)
      return { kind: 'remade', start: Number(start) }
    })
  }

  confirm(id: StreamId, epoch: number): Promise<Confirmed | Fenced | Gone> {
    const stream = this.#of(id)
    return stream.turns.append(() => this.#confirm(stream, epoch))
  }

  /**
   * Looks for streams whose primary was replaced or restarted since they were opened: it may have lost data. Returns
   * the streams that must be opened again; until then calls on them are refused. Offsets that clients know are not
   * used again, even if another broker becomes the leader.
   */
  async renew(): Promise<readonly StreamId[]> {
    const told: { readonly stream: Stream; readonly untold: Untold }[] = []
    const stale: StreamId[] = []
    for (const stream of this.#streams.values()) {
      const incarnation = this.#elsewhere(stream)
      if (incarnation !== null) {
        stream.openedUnder = { replid: incarnation, believed: incarnation }
        stream.untold = { incarnation, isReported: false }
        if (stream.isLed) {
          stream.isStale = true
          stale.push(stream.id)
        }
      }
      if (stream.untold !== null) told.push({ stream, untold: stream.untold })
    }
    await Promise.all(told.map(({ stream, untold }) => this.#raise(stream, untold)))
    return stale
  }

  /**
   * Resolves when no call is in progress and Redis has noted, if it is reachable, that every lead has ended in order.
   */
  async close(): Promise<void> {
    const { clock, links } = this.#rooms
    const streams = [...this.#streams.values()]
    await Promise.all(streams.map(({ turns }) => turns.idle()))
    const settling = streams.map(async ({ isLed, isStale, known, keys: { meta } }) => {
      if (!isLed || isStale || known === null) return
      // Without this note, the next leader skips offsets if Redis has another history by then.
      await links
        .write(meta)
        .send(fcall('settle', [meta], [known.epoch]))
        .catch(() => {})
    })
    await within(clock, SETTLE_MS, Promise.all(settling), () => [])
  }

  #of(id: StreamId): Stream {
    let stream = this.#streams.get(id)
    if (stream === undefined) {
      const keys = this.#rooms.keys.stream(id)
      stream = {
        id,
        keys,
        arm: fcall('arm', [keys.batches], []),
        seal: fcall('seal', [keys.batches, keys.meta, keys.rows], []),
        turns: new Turns(),
        known: null,
        isLed: false,
        isRewritten: false,
        ledLast: 0,
        isVague: false,
        openedUnder: null,
        untold: null,
        isStale: false,
        isTorn: false,
        readTo: -1,
        told: 0,
        lostIn: '',
      }
      this.#streams.set(id, stream)
    }
    return stream
  }

  /**
   * Drops the state of a stream that does not exist, once no call on it is in progress. Otherwise memory would grow,
   * because topics come and go for as long as the broker runs.
   */
  #forget(stream: Stream): void {
    void stream.turns.idle().then(() => {
      const isGone = stream.known === null && stream.turns.isIdle
      if (isGone && this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id)
    })
    stream.known = null
    stream.isLed = false
    stream.isRewritten = false
    stream.ledLast = 0
    stream.isVague = false
    stream.openedUnder = null
    stream.untold = null
    stream.isStale = false
    stream.isTorn = false
    stream.readTo = -1
    stream.told = 0
  }

  /** Sends commands that are safe to repeat, directly one after the other. Resolves to the reply of the last one. */
  async #write(key: string, commands: readonly (readonly Argument[])[], what: string): Promise<Reply> {
    const { rounds, links, replicas } = this.#rooms
    let done = 0
    let written: Written
    try {
      written = await followAsk(links, key, links.write(key), async link => {
        const sent = await rounds.writeEach(link, commands)
        done = 0
        for (const reply of sent.replies) {
          if (reply instanceof RedisError) throw reply
          done++
        }
        return sent
      })
    } catch (error) {
      if (isMissing(error)) throw error
      if (error instanceof RedisError && done > 0)
        throw new OutcomeUnknown(`${what}: begun, and then refused: ${error.message}`, { cause: error })
      refuse(error, what)
    }
    if (!written.isSettled)
      throw new OutcomeUnknown(`${what}: done, but ${replicas} replicas have not confirmed it in time`)
    return written.replies.at(-1) as Reply
  }

  async #changeIndex(command: 'SADD' | 'SREM', ids: readonly StreamId[]): Promise<void> {
    const { streams } = this.#rooms.keys
    await this.#write(streams, [[command, streams, ...ids]], `changing ${streams}`)
  }

  async #open(stream: Stream, knownEpoch: number, floor: number): Promise<Opened | Fenced | Gone> {
    const { clock, links, rounds, replicas, report } = this.#rooms
    const { batches, meta, rows } = stream.keys
    const call = (waits: boolean) =>
      fcall('open', allKeys(stream.keys, stream.isRewritten), [
        knownEpoch,
        Math.max(floor, stream.told),
        replicas === 0 ? 1 : 0,
        this.#process,
        stream.ledLast,
        waits ? 1 : 0,
        this.#syncsEachWrite() ? 1 : 0,
      ])
    const what = `opening ${meta}`
    let link = links.write(meta)
    let sweptVoids = 0
    const { words, fields, isConfirmed } = await withFunctions(links, async () => {
      link = links.write(meta)
      return await followAsk(links, meta, link, async on => {
        for (;;) {
          const written = await rounds.writeEach(on, [call(this.#awaitsWord(on)), ['HGETALL', rows]])
          const [verdict, stored] = written.replies as readonly [Reply | RedisError, Reply | RedisError]
          if (verdict instanceof RedisError) throw verdict
          if (stored instanceof RedisError) throw stored
          const words = wordsOf(verdict)
          if (words[0] === 'cleaned') stream.isRewritten = true
          else if (words[0] === 'unswept') sweptVoids += await sweepVoids(on, stream.keys, words[1]!)
          else if (words[0] === 'unvouched') await sleep(clock, VOUCH_POLL_MS)
          else return { words, fields: stored as readonly Buffer[], isConfirmed: written.isConfirmed }
        }
      })
    }).catch(error => refuse(error, what))
    if (words[0] === 'gone') {
      this.#forget(stream)
      return { kind: 'gone' }
    }
    if (words[0] === 'fenced') return { kind: 'fenced', epoch: Number(words[1]) }

    const [, ...details] = words
    const told = Object.fromEntries(OPENED.map((name, i) => [name, details[i]!])) as Record<
      (typeof OPENED)[number],
      string
    >
    const { attempt, formerEnd, formerly, replid } = told
    const swept = Number(told.swept) + sweptVoids
    const { end, visible } = decodeSealed(told.sealed)
    const start = Number(told.start)
    const cleaned = decodeCleaned(told.cleaned || undefined)
    stream.isRewritten = cleaned !== null
    // The streams of the log in offset order.
    const parts = [{ key: batches, from: start, missing: Number(told.missing), length: Number(told.length) }]
    if (cleaned !== null) {
      parts[0]!.from = Math.max(start, cleaned.former.to)
      const current = { missing: Number(told.currentMissing), length: Number(told.currentLength) }
      const former = { missing: Number(told.formerMissing), length: Number(told.formerLength) }
      parts.unshift(
        { key: currentKey(stream.keys, cleaned), from: start, ...current },
        { key: formerKey(stream.keys, cleaned), from: Math.max(start, cleaned.current.to), ...former },
      )
    }
    let damage: Opened['damage'] = null
    for (const { key, from, missing, length } of parts) {
      const message = damageOf(key, missing, length)
      if (message !== null) damage ??= { offset: from, message }
      if (message !== null || missing > 0) report(message ?? lossOf(key, missing, length))
    }
    const known: Known = {
      epoch: Number(told.epoch),
      epochs: decodeEpochs(told.epochs),
      voids: decodeVoids(told.epochs),
      start,
      end,
      // `open` itself is a write after all others: a replica that has it has the earlier writes too. If this process
      // led before, it may know a later high watermark than the stored one.
      highWatermark: isConfirmed ? end : Math.max(visible, Math.min(stream.told, end)),
      sizes: decodeSizes(told.sizes),
      length: Number(told.length),
      cleaned,
      sealed: told.sealed,
      damage,
    }
    if (swept > 0) report(`${swept} entries of ${batches} that were never acknowledged are swept`)
    if (formerly !== '' && formerly !== replid && Number(formerEnd) < floor) {
      this.#lostEnd(stream, formerEnd, floor, replid)
    }
    if (told.leap !== '0') this.#leapt(stream, told.leap, end, replid)
    stream.known = known
    stream.isLed = true
    stream.ledLast = known.epoch
    stream.isVague = false
    stream.isStale = false
    stream.openedUnder = { replid, believed: link.incarnation }
    stream.untold = null
    stream.readTo = -1
    stream.told = Math.max(stream.told, known.highWatermark)
    return {
      kind: 'opened',
      epoch: known.epoch,
      start: known.start,
      end: known.end,
      highWatermark: known.highWatermark,
      emptyFrom: Math.max(Number(told.emptyFrom), known.start),
      bytes: bytesOf(known),
      epochs: known.epochs,
      rows: decodeRows(fields),
      lastAttempt: attempt === '' ? null : attempt,
      pass: passOf(cleaned),
      incarnation: replid,
      damage: known.damage,
    }
  }

  /** Returns the incarnation of the stream's primary if it differs from the one at the opening; else null. */
  #elsewhere({ keys, openedUnder }: Stream): string | null {
    if (openedUnder === null) return null
    const { incarnation } = this.#rooms.links.write(keys.meta)
    const isKnown = incarnation === '' || incarnation === openedUnder.replid || incarnation === openedUnder.believed
    return isKnown ? null : incarnation
  }

  /**
   * Throws if the stream must be opened before any other write. `open` writes everything again that a torn
   * transaction may have changed.
   */
  #checkSameStore(stream: Stream): void {
    if (!stream.isStale && this.#elsewhere(stream) === null) return
    throw new OutcomeUnknown(`the store was replaced after ${stream.id} was opened; it must be opened again`)
  }

  #checkReplicas({ lacksReplicas, address }: Link): void {
    if (lacksReplicas) throw new ReplicasMissing(`Redis at ${address} has fewer replicas than an append must reach`)
  }

  /** Stores in Redis which offsets clients were told. If it fails, the next call of renew() tries again. */
  async #raise(stream: Stream, untold: Untold): Promise<void> {
    const { links, report } = this.#rooms
    const { meta } = stream.keys
    const call = fcall('raise', [meta], [stream.told, this.#process, stream.ledLast])
    try {
      const [kind, end] = wordsOf(
        await withFunctions(links, () => followAsk(links, meta, links.write(meta), link => link.send(call))),
      )
      if (stream.untold === untold) stream.untold = null
      if (kind === 'raised' && Number(end) < stream.told) this.#lostEnd(stream, end!, stream.told, untold.incarnation)
    } catch (error) {
      if (untold.isReported) return
      untold.isReported = true
      // The next opening passes the floor again, unless another broker that knows less opens the stream.
      report(`the end of ${stream.id} could not be raised to ${stream.told}: ${(error as Error).message}`)
    }
  }

  /** Reports the loss of a stream's end once: when the end is raised or when the stream is opened. */
  #lostEnd(stream: Stream, end: string, told: number, incarnation: string): void {
    if (stream.lostIn === incarnation) return
    stream.lostIn = incarnation
    const { report, onLostEnd } = this.#rooms
    report(`the store lost the end of ${stream.id}: it came back at ${end}, offsets up to ${told} had been used`)
    onLostEnd(told - Number(end))
  }

  /**
   * Returns true while a broker that led before may still connect to this incarnation and tell which offsets clients
   * know.
   */
  #awaitsWord({ incarnation }: Link): boolean {
    const { clock, vouchMs } = this.#rooms
    const nowMs = clock.monotonic()
    const sinceMs = this.#openingSinceMs.get(incarnation) ?? nowMs
    if (!this.#openingSinceMs.has(incarnation)) {
      if (this.#openingSinceMs.size === MOST_INCARNATIONS) this.#openingSinceMs.clear()
      this.#openingSinceMs.set(incarnation, nowMs)
    }
    return nowMs - sinceMs < vouchMs
  }

  /**
   * Returns true if each Redis syncs a write to its disk before it replies, by its settings when they were last read.
   */
  #syncsEachWrite(): boolean {
    const all = this.#rooms.links.durability()
    return all.length > 0 && all.every(({ appendonly, appendfsync }) => appendonly && appendfsync === 'always')
  }

  /** Reports the first leap of an incarnation only: thousands of streams may leap. */
  #leapt({ id }: Stream, offsets: string, end: number, replid: string): void {
    if (this.#leaptIn.has(replid)) return
    this.#leaptIn.add(replid)
    this.#rooms.report(
      `Redis has another history, and no broker that led ${id} can tell which offsets clients know: its end leaps by ${offsets} offsets, to ${end}; other such partitions do the same and are not named`,
    )
  }

  async #confirm(stream: Stream, epoch: number): Promise<Confirmed | Fenced | Gone> {
    const { links, rounds } = this.#rooms
    const { meta } = stream.keys
    const { reply, isConfirmed } = await withFunctions(links, () =>
      followAsk(links, meta, links.write(meta), link => rounds.writeOne(link, fcall('confirm', [meta], [epoch]))),
    ).catch(error => refuse(error, `confirming ${meta}`))
    const [kind, detail] = wordsOf(reply)
    if (kind === 'gone') {
      this.#forget(stream)
      return { kind }
    }
    if (kind === 'fenced') return { kind, epoch: Number(detail) }
    const { known } = stream
    const highWatermark = isConfirmed ? Number(detail) : (known?.highWatermark ?? 0)
    if (known?.epoch === epoch) stream.known = { ...known, highWatermark }
    stream.told = Math.max(stream.told, highWatermark)
    return { kind: 'confirmed', highWatermark }
  }

  async #append(stream: Stream, append: Append): Promise<Appended | Misplaced | Fenced | Gone | Damaged> {
    const { links, rounds } = this.#rooms
    const { batches, meta } = stream.keys
    this.#checkSameStore(stream)
    let known = this.#led(stream, append.epoch)
    if (known?.end !== append.at) known = await this.#look(stream)
    if (known === null) return { kind: 'gone' }
    if (known.epoch !== append.epoch) return { kind: 'fenced', epoch: known.epoch }
    if (known.damage !== null) return { kind: 'damaged', message: known.damage.message }
    if (known.end !== append.at) return { kind: 'misplaced', end: known.end }
    if (this.#rooms.replicas > 0) this.#checkReplicas(links.write(meta))

    let { sizes } = known
    const ids: string[] = []
    let joinedIds = ''
    const commands = [stream.arm]
    for (const batch of append.batches) {
      const id = entryId(append.epoch, batch.baseOffset)
      ids.push(id)
      joinedIds = joinedIds === '' ? id : `${joinedIds} ${id}`
      commands.push(['XADD', batches, 'NOMKSTREAM', id, 'h', encodeHeader(batch, sizes.end), 'b', batch.bytes])
      sizes = grown(sizes, batch.baseOffset, batch.bytes.length)
    }
    const end = append.batches.at(-1)!.nextOffset
    const length = known.length + ids.length
    const visible = this.#rooms.replicas === 0 ? end : known.highWatermark
    const sealed = encodeSealed({ end, visible, length }, ids.at(-1)!)
    const sealing = [
      ...stream.seal,
      String(append.epoch),
      known.sealed,
      append.attempt,
      sealed,
      encodeSizes(sizes),
      String(known.length),
      String(ids.length),
      joinedIds,
      ...encodeFields(append.rows),
    ]
    commands.push(sealing)
    let written: Written
    try {
      written = await links.borrow(meta, link => followAsk(links, meta, link, on => rounds.write(on, commands)))
    } catch (error) {
      refuse(error, `appending to ${batches}`)
    }
    const { replies, isConfirmed } = written
    const verdict = replies.at(-1) as Reply | RedisError
    if (verdict instanceof RedisError) {
      // The entries exist and do not count. The caller must open the stream again, which sweeps them.
      if (isMissing(verdict)) await loadFunctions(links)
      else refuse(verdict, `appending to ${batches}`)
      throw new OutcomeUnknown(`appending to ${batches}: the server had lost the functions`, { cause: verdict })
    }
    if (verdict !== SEALED) {
      const [kind, detail] = wordsOf(verdict)
      switch (kind) {
        case 'gone':
          this.#forget(stream)
          return { kind }
        case 'fenced':
          stream.isLed = false
          return { kind, epoch: Number(detail) }
        case 'misplaced':
          stream.isVague = true
          return { kind, end: Number(detail) }
        case 'short':
          // The next opening reports the loss.
          return this.#torn(stream, lossOf(batches, known.length - Number(detail), Number(detail)))
        default:
          assert(kind === 'torn', `seal answers what is known, not ${kind}`)
          return this.#torn(stream, `another program wrote to ${batches}: ${detail}`, this.#rooms.report)
      }
    }
    const missing = ids.findIndex((id, at) => String(replies[at + 1]) !== id)
    if (missing !== -1) assert(false, `${batches} was sealed without ${ids[missing]}`)
    const highWatermark = isConfirmed ? end : known.highWatermark
    stream.isTorn = false
    stream.told = Math.max(stream.told, highWatermark)
    stream.known = { ...known, end, highWatermark, sizes, length, sealed }
    return { kind: 'appended', end, highWatermark }
  }

  /**
   * Throws OutcomeUnknown the first time, so that the caller opens the stream again, which repairs it. Returns
   * Damaged if it happens again before an append has succeeded, because the cause is then unknown.
   */
  #torn(stream: Stream, message: string, report: StreamsRooms['report'] = () => {}): Damaged {
    if (stream.isTorn) return { kind: 'damaged', message: `${message}, again` }
    stream.isTorn = true
    report(message)
    throw new OutcomeUnknown(`${message}; nothing was appended`)
  }

  async #read(stream: Stream, from: number, { maxBytes, until }: ReadLimits): Promise<Read | Trimmed | Gone | Damaged> {
    const { links } = this.#rooms
    const { meta } = stream.keys
    const found: Batch[] = []
    let bytes = 0
    let next = from
    /** If false, the entry that contains `next` may begin before it. */
    let isCovered = stream.isLed && stream.readTo === from
    let looksBelow = false
    /** The id after which to continue, behind entries that do not count. */
    let passed: string | null = null
    let known = stream.isLed ? stream.known : await this.#lookToRead(stream)
    for (;;) {
      if (known === null) return { kind: 'gone' }
      if (next < known.start)
        return found.length > 0 ? { kind: 'read', batches: found } : { kind: 'trimmed', start: known.start }
      const { damage } = known
      if (damage !== null && next >= damage.offset && until > damage.offset)
        return found.length > 0 ? { kind: 'read', batches: found } : { kind: 'damaged', message: damage.message }
      const end = Math.min(until, known.highWatermark, damage?.offset ?? until)
      const average = found.length > 0 ? bytes / found.length : averageOf(known)
      const count = countThatFits(known.sizes, average, maxBytes - bytes)
      const part: Part = partAt(stream.keys, known, next)
      const { key } = part
      const bound = Math.min(end, part.to)
      const at = passed ?? idAt(part.epochs, next)
      const stop = `(${idAt(part.epochs, bound)}`
      // While the slot migrates, a cluster treats keys that have not arrived as if they did not exist. It does not do
      // so for a command with two keys.
      const guard = [['EXISTS', key, meta]]
      const commands: Argument[][] = [...guard]
      if (next < bound) {
        if (looksBelow) commands.push(['XREVRANGE', key, `(${at}`, '-', 'COUNT', '1'])
        commands.push(['XRANGE', key, at, stop, 'COUNT', String(count)])
      }
      // This is the last command, so that it shows the trims and rewrites that ran before the entries were read.
      commands.push(['HMGET', meta, ...META])
      const replies = await readInOrder(links.read(key), commands).catch(error => refuse(error, `reading ${key}`))
      const ranges = replies.slice(1, -1)
      const stored = replies.at(-1)
      const current = decodeMeta(stored!)
      if (current === null || current.epoch !== known.epoch) {
        // Another broker has the lead: its epochs tell the ids of the entries.
        known = current
        stream.isLed = false
        passed = null
        continue
      }
      // An append never removes a key, and a cluster whose slot migrates replies TRYAGAIN.
      if (Number(replies[0]) < 2)
        return { kind: 'damaged', message: `${key} is gone, and its batches with it: ${CULPRITS}` }
      if (next < current.start) {
        known = { ...known, start: current.start }
        continue
      }
      const hasMoved = (state: Known) => {
        const now = partAt(stream.keys, state, next)
        return now.key !== part.key || now.generation !== part.generation || now.to < bound
      }
      if (hasMoved(current)) {
        // A rewrite has replaced entries that were read just now. Those before them must not be joined with new ones.
        if (found.length > 0) return { kind: 'read', batches: found }
        known = { ...current, highWatermark: known.highWatermark, damage: known.damage }
        isCovered = false
        looksBelow = false
        passed = null
        continue
      }
      const asked = ranges.at(-1) as readonly Reply[] | undefined
      if (!isCovered && !looksBelow && asked !== undefined && !beginsWith(asked, at)) {
        const below = [...guard, belowOf(key, at), ['HMGET', meta, ...META]]
        const seen = await readInOrder(links.read(key), below).catch(error => refuse(error, `reading ${key}`))
        const later = decodeMeta(seen.at(-1)!)
        // The entry that contains `next` may have been there, and be deleted since.
        if (later === null || next < later.start || hasMoved(later)) continue
        looksBelow = isAny(seen.at(-2)!)
        if (looksBelow) continue
      }
      const { voids } = partAt(stream.keys, current, next)
      const counts = (entry: Reply) => voids.length === 0 || !isVoid(voids, ...idOf(entry))
      passed = null
      if (asked !== undefined && asked.length === count && !asked.some(counts)) {
        passed = `(${idOf(asked.at(-1)!).join('-')}`
        looksBelow = false
      }
      for (const entry of (ranges as readonly (readonly Reply[])[]).flat()) {
        if (!counts(entry)) continue
        const batch = decodeBatch(entry)
        if (typeof batch === 'string') {
          return found.length > 0 ? { kind: 'read', batches: found } : { kind: 'damaged', message: `${key}: ${batch}` }
        }
        if (batch.nextOffset <= next) continue
        bytes += batch.bytes.length
        if (found.length > 0 && bytes > maxBytes) return { kind: 'read', batches: found }
        found.push(batch)
        next = batch.nextOffset
      }
      isCovered = true
      const isFull = maxBytes - bytes < bytes / Math.max(1, found.length)
      const isAtEnd = asked === undefined || asked.length < count
      if (isAtEnd && !isFull && bound < end) {
        // No entry begins in one part and ends in the next.
        next = part.to
        looksBelow = false
        passed = null
      } else if (isAtEnd || isFull) {
        const isSame = stream.known?.cleaned?.text === known.cleaned?.text
        if (stream.isLed && isSame && found.length > 0) stream.readTo = next
        return { kind: 'read', batches: found }
      }
    }
  }

  async #trim(
    stream: Stream,
    epoch: number,
    before: number,
    changes: readonly Row[],
  ): Promise<{ readonly kind: 'trimmed'; readonly start: number; readonly bytes: number } | Fenced | Gone> {
    const { links } = this.#rooms
    const { batches, meta } = stream.keys
    this.#checkSameStore(stream)
    const known = this.#led(stream, epoch) ?? (await this.#look(stream))
    if (known === null) return { kind: 'gone' }
    if (known.epoch !== epoch) return { kind: 'fenced', epoch: known.epoch }
    const limit = Math.min(before, known.damage?.offset ?? before, known.highWatermark)
    const start = Math.max(known.start, limit)
    stream.isVague = true
    const calls: Argument[][] = []
    if (start > known.start) {
      const { id, position, offset } = await this.#firstToKeep(stream, known, start)
      calls.push(fcall('intend', [meta], [epoch, start, known.highWatermark, id, position, offset]))
    }
    const keys = allKeys(stream.keys, known.cleaned !== null)
    calls.push(fcall('trim', keys, [epoch, start, known.highWatermark, ...encodeFields(changes)]))
    const what = `trimming ${batches}`
    const [kind, detail, epochs, sealed, stored, former, cleanedText, formerText] = wordsOf(
      await withFunctions(links, () => this.#write(meta, calls, what)),
    )
    if (kind === 'refused') refuse(new RedisError(detail!), what)
    if (kind === 'gone') {
      this.#forget(stream)
      return { kind }
    }
    if (kind === 'fenced') {
      stream.isLed = false
      return { kind, epoch: Number(detail) }
    }
    const sizes = decodeSizes(stored!)
    const cleaned = decodeCleaned(cleanedText || undefined)
    const formerly = { sizes: decodeSizes(former!), cleaned: decodeCleaned(formerText || undefined) }
    const bytes = bytesOf(formerly) - bytesOf({ sizes, cleaned })
    stream.known = {
      ...known,
      start: Number(detail),
      epochs: decodeEpochs(epochs!),
      sizes,
      length: decodeSealed(sealed!).length,
      cleaned,
      sealed: sealed!,
    }
    stream.isVague = false
    return { kind: 'trimmed', start: Number(detail), bytes }
  }

  async #rewrite(stream: Stream, rewrite: Rewrite): Promise<Rewritten | Fenced | Gone | Damaged> {
    const { epoch, from, to } = rewrite
    const { meta } = stream.keys
    this.#checkSameStore(stream)
    const known = this.#led(stream, epoch) ?? (await this.#look(stream))
    if (known === null) return { kind: 'gone' }
    if (known.epoch !== epoch) return { kind: 'fenced', epoch: known.epoch }
    if (known.damage !== null && known.damage.offset <= to) return { kind: 'damaged', message: known.damage.message }
    const pass = passOf(known.cleaned)
    passAfter(rewrite, known.start, pass, known.highWatermark)
    if (this.#rooms.replicas > 0) this.#checkReplicas(this.#rooms.links.write(meta))
    stream.isVague = true
    let { cleaned } = known
    if (cleaned === null || (from === known.start && pass.to >= pass.until)) {
      const next = begun(cleaned, known.start, known.sizes.start)
      const call = fcall('begin', allKeys(stream.keys, true), [epoch, cleaned?.text ?? '', next.text])
      const words = wordsOf(
        await withFunctions(this.#rooms.links, () => this.#write(meta, [call], `beginning a pass of ${meta}`)),
      )
      if (words[0] !== 'begun') return this.#notRewritten(stream, words)
      cleaned = next
    }
    return await this.#rewritePiece(stream, { ...known, cleaned }, cleaned, rewrite)
  }

  async #rewritePiece(
    stream: Stream,
    known: Known,
    cleaned: Cleaned,
    { epoch, from, to, batches, rows }: Rewrite,
  ): Promise<Rewritten | Fenced | Gone | Damaged> {
    const { links, rounds, replicas, report } = this.#rooms
    const { meta } = stream.keys
    const key = currentKey(stream.keys, cleaned)
    const what = `rewriting ${key}`
    let { sizes } = known
    let bytes = 0
    const ids: string[] = []
    const commands: (readonly Argument[])[] = [fcall('arm', [key], [])]
    for (const batch of batches) {
      const id = entryId(epoch, batch.baseOffset)
      ids.push(id)
      const header = encodeHeader(batch, cleaned.current.left + bytes)
      commands.push(['XADD', key, 'NOMKSTREAM', id, 'h', header, 'b', batch.bytes])
      sizes = rewrittenAt(sizes, batch.baseOffset, batch.bytes.length)
      bytes += batch.bytes.length
    }
    const right = await this.#positionAt(stream, known, to)
    const after = rewritten(cleaned, { epoch, from, to, ids, bytes, right })
    const texts = [cleaned.text, after.text, encodeSizes(sizes)]
    const args = [epoch, ...texts, ids.length, ids.join(' '), known.end, ...encodeFields(rows)]
    commands.push(fcall('rewrite', [key, meta, stream.keys.rows], args))
    const shear = fcall('shear', allKeys(stream.keys, true), [epoch])
    let written: Written
    let sheared: Written | Error
    try {
      ;[written, sheared] = await links.borrow(meta, link =>
        followAsk(links, meta, link, async on => {
          const rewriting = rounds.write(on, commands)
          // It is sent directly behind. Without the rewrite it changes nothing.
          const shearing = rounds.writeEach(on, [shear]).catch((error: Error) => error)
          return [await rewriting, await shearing] as const
        }),
      )
    } catch (error) {
      refuse(error, what)
    }
    const verdict = written.replies.at(-1) as Reply | RedisError
    if (verdict instanceof RedisError) {
      // As after an append, the next opening sweeps the entries.
      if (isMissing(verdict)) await loadFunctions(links)
      else refuse(verdict, what)
      throw new OutcomeUnknown(`${what}: the server had lost the functions`, { cause: verdict })
    }
    const words = wordsOf(verdict)
    if (words[0] !== 'rewritten') return this.#notRewritten(stream, words, key, cleaned.current.length)
    const answer = sheared instanceof Error ? sheared : (sheared.replies[0] as Reply | RedisError)
    if (answer instanceof Error)
      throw new OutcomeUnknown(`${what}: done, but the old entries may remain: ${answer.message}`, { cause: answer })
    if (!written.isSettled)
      throw new OutcomeUnknown(`${what}: done, but ${replicas} replicas have not confirmed it in time`)
    const [, text, sealed, refusal] = wordsOf(answer)
    if (refusal !== '') report(`${what}: the old entries could not be deleted: ${refusal}`)
    const now = decodeCleaned(text)!
    assert(now.current.to === to, `${key} ends at ${now.current.to} after a rewrite up to ${to}`)
    stream.known = { ...known, sizes, cleaned: now, sealed: sealed!, length: decodeSealed(sealed!).length }
    stream.isVague = false
    stream.readTo = -1
    return { kind: 'rewritten', ...passOf(now), bytes: bytesOf(stream.known) }
  }

  /** Handles the answer of a Function that has not rewritten anything. */
  #notRewritten(stream: Stream, [kind, detail]: readonly string[], key = '', length = 0): Fenced | Gone | Damaged {
    switch (kind) {
      case 'gone':
        this.#forget(stream)
        return { kind }
      case 'fenced':
        stream.isLed = false
        return { kind, epoch: Number(detail) }
      case 'changed':
        throw new StoreUnavailable(
          `another call has rewritten ${stream.id} since this process looked at it, or Redis has lost a part of it`,
        )
      case 'short':
        return this.#torn(stream, lossOf(key, length - Number(detail), Number(detail)))
      default:
        assert(kind === 'torn', `rewrite answers what is known, not ${kind}`)
        return this.#torn(stream, `another program wrote to ${key}: ${detail}`, this.#rooms.report)
    }
  }

  /** Returns the position of the first entry at or above this offset, in the part of the log with this offset. */
  async #positionAt({ keys }: Stream, known: Known, offset: number): Promise<number> {
    const { links } = this.#rooms
    const { key, epochs, generation } = partAt(keys, known, offset)
    const command = ['XRANGE', key, idAt(epochs, offset), '+', 'COUNT', '1']
    const reply = await followAsk(links, key, links.write(key), link => link.send(command)).catch(error =>
      refuse(error, `reading ${key}`),
    )
    const first = decodeFirst(key, reply)
    if (first !== null) return first.position
    return generation > 0 && known.cleaned !== null ? known.cleaned.former.left : known.sizes.end
  }

  /**
   * Returns the first entry that a trim to `start` keeps. An entry that contains the new log start may have an id
   * below it.
   */
  async #firstToKeep(stream: Stream, known: Known, start: number) {
    const { key, epochs } = partAt(stream.keys, known, start)
    const id = idAt(epochs, start)
    const below = await this.#lastBelow(key, id)
    if (below === null) return { id, position: positionBefore(known.cleaned, start, known.sizes.start), offset: 0 }
    const { batch, epoch, position } = below
    if (batch.nextOffset <= start) return { id, position: position + batch.bytes.length, offset: start }
    return { id: entryId(epoch, batch.baseOffset), position, offset: batch.baseOffset }
  }

  async #lastBelow(key: string, id: string): Promise<Entry | null> {
    const { links } = this.#rooms
    const reply = await followAsk(links, key, links.write(key), async link => {
      return isAny(await link.send(belowOf(key, id)))
        ? await link.send(['XREVRANGE', key, `(${id}`, '-', 'COUNT', '1'])
        : []
    }).catch(error => refuse(error, `reading ${key}`))
    return decodeFirst(key, reply)
  }

  /** Returns the known state of the stream if this process leads the stream with this epoch; else null. */
  #led({ isLed, isVague, known }: Stream, epoch: number): Known | null {
    return isLed && !isVague && known?.epoch === epoch ? known : null
  }

  /**
   * Reads the state of a stream for a read by a broker that does not lead it. The leader stores the high watermark
   * only with its next append, so the stored one may be too low. If the replicas confirm a new write, they have
   * everything that was written before it.
   */
  async #lookToRead(stream: Stream): Promise<Known | null> {
    const known = await this.#look(stream)
    if (known === null || known.highWatermark >= known.end) return known
    const outcome = await this.#confirm(stream, known.epoch)
    if (outcome.kind === 'gone') return null
    return outcome.kind === 'confirmed' ? { ...known, highWatermark: outcome.highWatermark } : known
  }

  async #look(stream: Stream): Promise<Known | null> {
    const { meta } = stream.keys
    const { links } = this.#rooms
    const asks = ['HMGET', meta, ...META]
    const reply = await followAsk(links, meta, links.write(meta), link => link.send(asks)).catch(error =>
      refuse(error, `reading ${meta}`),
    )
    const stored = decodeMeta(reply)
    const { known, isLed, told } = stream
    stream.isVague = false
    if (isLed && stored !== null && stored.epoch === known?.epoch) {
      // The leader itself knows a later high watermark than the stored one, and only the leader knows the damage.
      const highWatermark = Math.max(stored.highWatermark, Math.min(told, stored.end))
      stream.known = { ...stored, highWatermark, damage: known.damage }
    } else {
      stream.known = stored
      stream.isLed = false
    }
    return stream.known
  }
}

/**
 * Sends the commands as one transaction. A full Redis refuses every transaction: then sends them one after the other.
 * Each waits for the one before, because a cluster may send them to different servers.
 */
async function readInOrder(link: Link, commands: readonly Argument[][]): Promise<readonly Reply[]> {
  try {
    return (await link.transaction(commands)).map(reply => {
      if (reply instanceof RedisError) throw reply
      return reply
    })
  } catch (error) {
    if (!(error instanceof RedisError && error.code === 'OOM')) throw error
  }
  const replies: Reply[] = []
  for (const command of commands) replies.push(await link.send(command))
  return replies
}

/**
 * Returns the command that shows if an entry lies below the id. It is sent before each XREVRANGE: if no entry lies
 * below its end, Redis walks through the whole stream from the newest entry down (streamIteratorStart of
 * redis/src/t_stream.c), and serves no other client meanwhile.
 */
function belowOf(key: string, id: string): Argument[] {
  return ['XRANGE', key, '-', `(${id}`, 'COUNT', '1']
}

function isAny(entries: Reply): boolean {
  return (entries as readonly Reply[]).length > 0
}

/**
 * Deletes the entries in the voids of a stream, at most SWEPT_AT_ONCE with each call. `cleaned` is the text of that
 * field, or empty. Returns the number of deleted entries.
 */
async function sweepVoids(link: Link, keys: StreamKeys, text: string): Promise<number> {
  const cleaned = decodeCleaned(text || undefined)
  // The last one notes that all are swept.
  const streams = [['batches', keys.batches]]
  if (cleaned !== null) streams.unshift(['current', currentKey(keys, cleaned)], ['former', formerKey(keys, cleaned)])
  let swept = 0
  for (const [which, key] of streams as [string, string][]) {
    for (let from = 1; from > 0; ) {
      const words = wordsOf(await link.send(fcall('sweep', [key, keys.meta], [from, SWEPT_AT_ONCE, which])))
      from = Number(words[0])
      swept += Number(words[1])
    }
  }
  return swept
}

/** The possible causes of a missing key. Redis evicts only whole keys. */
const CULPRITS = 'Redis evicted the key, or another client deleted it'

/** Returns a sentence about how many entries are missing, and why. `left` is the number of remaining entries. */
function lossOf(batches: string, missing: number, left: number): string {
  if (left === 0) return `the ${missing} entries of ${batches} are gone: ${CULPRITS}`
  return `${missing} entries of ${batches} are missing: another client deleted them`
}

/**
 * Returns a sentence about damage that cannot be repaired: all entries are missing, or there are too many. Returns
 * null if there is no such damage.
 */
function damageOf(batches: string, missing: number, length: number): string | null {
  if (missing > 0 && length === 0)
    return `${lossOf(batches, missing, length)}; bring the key back, or delete all records of the partition (DeleteRecords to -1), and it begins anew`
  if (missing < 0)
    return `${batches} holds ${-missing} more entries than were ever acknowledged, and Redis does not tell them apart; delete the topic, or bring the key back`
  return null
}

/** Returns the epoch and the sequence of an entry's id. */
function idOf(entry: Reply): readonly [number, number] {
  const [epoch, sequence] = String((entry as readonly Reply[])[0]).split('-')
  return [Number(epoch), Number(sequence)]
}

/** Returns true if the first of the entries has this id. */
function beginsWith(entries: readonly Reply[], id: string): boolean {
  const [first] = entries
  return first !== undefined && String((first as readonly Reply[])[0]) === id
}

/** Decodes the first entry of a reply, or null. Throws StoreUnavailable if Ketch did not write the entry. */
function decodeFirst(key: string, reply: Reply): Entry | null {
  const [entry] = reply as readonly Reply[]
  if (entry === undefined) return null
  try {
    return decodeEntry(entry)
  } catch (error) {
    if (!(error instanceof UnreadableEntry)) throw error
    throw new StoreUnavailable(`${key}: ${error.message}`, { cause: error })
  }
}

/** Returns the batch, or a sentence if Ketch did not write the entry. */
function decodeBatch(entry: Reply): Batch | string {
  try {
    return decodeEntry(entry).batch
  } catch (error) {
    if (error instanceof UnreadableEntry) return error.message
    throw error
  }
}

/** Returns the size in bytes of all live batches. */
function bytesOf({ sizes, cleaned }: Pick<Known, 'sizes' | 'cleaned'>): number {
  return sizes.end - sizes.start - removedBytes(cleaned)
}

function averageOf(known: Known): number {
  const { cleaned, length } = known
  const entries = cleaned === null ? length : length + cleaned.current.length + cleaned.former.length
  return entries > 0 ? bytesOf(known) / entries : 0
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}

function decodeRows(fields: readonly Buffer[]): ReadonlyMap<string, Uint8Array> {
  const rows = new Map<string, Uint8Array>()
  for (let at = 0; at < fields.length; at += 2) {
    const key = fields[at]!.toString()
    if (key !== NO_ROW) rows.set(key, fields[at + 1]!)
  }
  return rows
}
