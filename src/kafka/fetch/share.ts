// The memory that answers to fetches may take, all connections together, from before they are read until the network has
// taken them. It ends well below `broker.global-max-pending-bytes`, so that clients which are slow to take what they asked for wait
// for each other, and for nobody else's requests. It reads nothing and knows no partitions; handlers/fetch.ts does.
//
//   0                                         slow end    common end       end        resume mark           maximum
//   | everybody, the first to wait comes first | newcomers | prompt readers | ... everything else that is pending ... |
//
// A grant is at most a third of what is free, so that those who come next find something too, and what its connection takes in
// a second, as its last answer has shown. Once half of the memory for everybody is taken, that is measured until the client asks
// again: the buffers of the network hide how slowly it reads. Before, a client that merely asks now and then has all that fits. A
// connection that needed longer than a second is granted one answer at a time. One that has not taken any answer yet, or asks
// ahead of its answers, may have several while half of the common part is free. One that took its last answer promptly has the
// last part, for what it asks once that is out. The part before it is for these and for newcomers, which hold nothing and of which
// nothing is known yet: a consumer that starts does not wait until slow ones have drained. Prompt readers may use the other parts too,
// but while somebody who came earlier would find room there without them, they have the last part only. While there is not even room
// for the batch that it must be given whole, a fetch waits its turn. Its turn is remembered when its time is up before. While no other
// connection holds anything, the first to ask is granted all that it needs; beside prompt readers in their own part too.

import type { Clock, Timer } from '../../base/clock.ts'
import type { Peer } from '../handlers/handler.ts'

export interface ShareLimits {
  /** Beyond it only prompt readers are granted anything. */
  readonly commonBytes: number
  readonly endBytes: number
}

/** A connection that asks, and for how much. */
export interface Asking {
  readonly connection: Peer
  /** Aborts when the connection is gone: all that it holds is given back. */
  readonly closed: AbortSignal
  /** When the request came, on the clock of the share. */
  readonly askedAtMs: number
  /** The most that it can use. */
  readonly mostBytes: number
  /** The size that the first batch may have, which goes whole. */
  readonly leastBytes: number
}

export interface Grant {
  /** So much may be read, the first batch aside. */
  readonly bytes: number
  /** It is less than what was asked for. */
  readonly isShort: boolean
  /** So much was found; the rest is given back. */
  trim(bytes: number): void
  /** The answer is made: from here on its client is what it waits for. */
  made(): void
  /** The network has taken the answer, and it tells how fast. Idempotent, as `release`. */
  sent(): void
  /** There will be no answer. */
  release(): void
  /** Another in its place, before those that wait; null where there is no room for that, and this one stays as it is. */
  exchange(asking: Asking): Grant | null
}

export interface FetchShare {
  /** The bytes that are granted. */
  readonly bytes: number
  /** Tells of each request: when it came says how long the client needed for the answer before. */
  asked(connection: Peer, atMs: number): void
  /** Null where it has to wait. */
  take(asking: Asking): Grant | null
  /** Null when its time is up, at the earliest after LEAST_WAIT_MS, when the connection is gone, or `drain` aborts. */
  wait(asking: Asking, maxWaitMs: number, drain: AbortSignal): Promise<Grant | null>
}

/** A client that takes an answer within this time is prompt, until one takes longer. */
const PROMPT_MS = 1000

/** Grants that are smaller than what was asked for are whole multiples, so that what is read ahead is read for the same length. */
const STEP_BYTES = 1 << 20

/** Has one at most of which it is not known yet how fast it takes them, while others hold something. */
const FIRST_BYTES = 4 << 20

/** The part of the common memory that is for those of which it is not known that they are slow. */
const NEWCOMERS = 1 / 8

/**
 * A client that says it does not want to wait has a place in the line for so long: what becomes free goes to those that wait, and
 * one that only looks in now and then would never find any.
 */
const LEAST_WAIT_MS = 100

/** Where there is less room, so many parts of the common memory are one step. */
const STEPS = 8

/** Waits whose time is up in one turn of the event loop: each has an answer to make. */
const ENDED_AT_ONCE = 16

/** The share that the settings of the budget leave for answers to fetches. */
export function shareLimits(maxPendingBytes: number, resumePendingBytes: number): ShareLimits {
  const most = Math.min(maxPendingBytes / 2, resumePendingBytes)
  return { commonBytes: Math.floor((most * 3) / 4), endBytes: Math.floor((most * 7) / 8) }
}

/** A connection that fetches. */
class Reader {
  readonly grants = new Set<Held>()
  bytes = 0
  /** Its place among those that wait; null when it was granted something since. */
  ticket: number | null = null
  isProven = false
  /** When its last answer was out. */
  sentAtMs = Number.NEGATIVE_INFINITY
  /** Its last answer, until it asks again. */
  answered: Answered | null = null
  isSlow = false
  /** The bytes that it takes in a second, as its last answer has shown. */
  bytesPerSecond = Number.POSITIVE_INFINITY

  /** It has not taken an answer yet. */
  get isNew(): boolean {
    return !this.isProven && !this.isSlow
  }

  get isNewcomer(): boolean {
    return this.isNew && this.grants.size === 0
  }

  /** A slow one is granted what it takes in a second: it has to be much quicker than that before it passes for prompt again. */
  get promptMs(): number {
    return this.isSlow ? PROMPT_MS / 4 : PROMPT_MS
  }

  /** The network has taken an answer. */
  sent({ bytes, sinceMs }: Answered, nowMs: number): void {
    const tookMs = nowMs - sinceMs
    this.isProven = tookMs < this.promptMs
    if (!this.isProven) this.#measured(bytes, tookMs)
    this.sentAtMs = nowMs
    this.answered = { bytes, sinceMs }
  }

  /** Its next request has come. The network may have taken the answer before long before the client did. */
  asked(atMs: number): void {
    if (this.answered === null) return
    const { bytes, sinceMs } = this.answered
    this.#measured(bytes, Math.max(atMs, this.sentAtMs) - sinceMs)
    this.answered = null
  }

  /** A prompt one may try a step more: a small answer takes as long as the way there and back, and shows nothing else. */
  #measured(bytes: number, tookMs: number): void {
    this.isSlow = tookMs >= this.promptMs
    this.bytesPerSecond = ((this.isSlow ? bytes : bytes + STEP_BYTES) / tookMs) * 1000
  }

  /**
   * The buffers of the network take the first answers for a client that reads nothing. So that it took them promptly counts for what
   * it asks afterwards, and not for what it had asked ahead.
   */
  isTrusted({ askedAtMs }: Asking): boolean {
    return this.isProven && askedAtMs >= this.sentAtMs
  }

  isPrompt(asking: Asking, nowMs: number): boolean {
    if (!this.isTrusted(asking)) return false
    const [oldest] = this.grants
    return oldest === undefined || nowMs - oldest.sinceMs < PROMPT_MS
  }
}

interface Held {
  bytes: number
  /** When it was granted, then when its answer was made. */
  sinceMs: number
  /** It was granted to a prompt reader. */
  readonly isPrompt: boolean
}

type Answered = Readonly<Pick<Held, 'bytes' | 'sinceMs'>>

interface Waiter {
  readonly asking: Asking
  readonly reader: Reader
  readonly ticket: number
  end(grant: Grant | null): void
}

export function createFetchShare(clock: Clock, { commonBytes, endBytes }: ShareLimits): FetchShare {
  const readers = new WeakMap<Peer, Reader>()
  /** In the order of their tickets. */
  const line: Waiter[] = []
  /** Their time is up. */
  const overdue: Waiter[] = []
  const slowBytes = commonBytes * (1 - NEWCOMERS)
  const promptPartBytes = endBytes - commonBytes
  const stepBytes = Math.min(STEP_BYTES, commonBytes / STEPS)
  let isDrainWatched = false
  let usedBytes = 0
  /** Of these, what prompt readers hold. */
  let promptBytes = 0
  let nextTicket = 0
  let isDue = false

  function readerOf({ connection, closed }: Asking): Reader {
    const known = readers.get(connection)
    if (known !== undefined) return known
    const reader = new Reader()
    readers.set(connection, reader)
    closed.addEventListener('abort', () => {
      for (const held of reader.grants) count(reader, held, 0)
      reader.grants.clear()
      for (const waiter of line.filter(each => each.reader === reader)) waiter.end(null)
    })
    return reader
  }

  function count(reader: Reader, held: Held, bytes: number): void {
    const deltaBytes = bytes - held.bytes
    held.bytes = bytes
    reader.bytes += deltaBytes
    usedBytes += deltaBytes
    if (held.isPrompt) promptBytes += deltaBytes
    if (deltaBytes < 0) serveSoon()
  }

  const othersBytes = () => usedBytes - promptBytes

  /** Of the parts that are not for prompt readers alone. */
  const commonUsedBytes = () => usedBytes - Math.min(promptBytes, promptPartBytes)

  const limitOf = (reader: Reader) => (reader.isNewcomer ? commonBytes : slowBytes)

  function freeFor(reader: Reader, isPrompt: boolean, isConfined: boolean): number {
    if (!isPrompt) return limitOf(reader) - commonUsedBytes()
    return isConfined ? promptPartBytes - promptBytes : endBytes - usedBytes
  }

  /** It waits, and without what prompt readers hold there would be room for it. */
  function isKeptOut({ asking, reader }: Waiter, nowMs: number): boolean {
    if (reader.bytes > 0 || reader.isPrompt(asking, nowMs)) return false
    const needBytes = Math.max(Math.min(stepBytes, asking.mostBytes), asking.leastBytes)
    const limitBytes = limitOf(reader)
    return othersBytes() + Math.min(needBytes, limitBytes) <= limitBytes
  }

  /** How much it would be granted; null where that is more than there is room for. */
  function sizeFor({ mostBytes, leastBytes }: Asking, reader: Reader, isPrompt: boolean, isConfined: boolean) {
    const freeBytes = freeFor(reader, isPrompt, isConfined)
    const spareBytes = slowBytes / 2 - usedBytes
    const firstBytes = spareBytes > 0 ? FIRST_BYTES : stepBytes
    const lentBytes = reader.isProven ? spareBytes : 0
    const trustedBytes = reader.isNew && usedBytes > 0 ? firstBytes : Math.max(reader.bytesPerSecond, lentBytes)
    const likedBytes = Math.min(freeBytes / 3, trustedBytes, mostBytes)
    const isAll = likedBytes === mostBytes
    const wholeBytes = isAll ? mostBytes : Math.max(likedBytes - (likedBytes % STEP_BYTES), stepBytes)
    const needBytes = Math.ceil(Math.max(Math.min(wholeBytes, mostBytes), leastBytes))
    if (reader.bytes > 0 && !mayHoldMore(reader, isPrompt, needBytes)) return null
    // A reader that is alone is granted all that it needs, even a batch that is larger than its part.
    const isAlone = othersBytes() === 0 && promptBytes <= (isPrompt ? 0 : promptPartBytes)
    return isAlone || needBytes <= freeBytes ? needBytes : null
  }

  function mayHoldMore(reader: Reader, isPrompt: boolean, needBytes: number): boolean {
    if (isPrompt) return reader.bytes + needBytes <= endBytes / 2
    return !reader.isSlow && usedBytes + needBytes <= commonBytes / 2
  }

  /** `isConfined`: prompt readers have their own part only. */
  function tryGrant(asking: Asking, reader: Reader, isPrompt: boolean, isConfined: boolean): Grant | null {
    const size = sizeFor(asking, reader, isPrompt, isConfined)
    if (size === null) return null
    reader.ticket = null
    const held: Held = { bytes: 0, sinceMs: clock.monotonic(), isPrompt }
    reader.grants.add(held)
    count(reader, held, size)
    const readable = Math.min(size, asking.mostBytes)
    const release = () => {
      if (!reader.grants.delete(held)) return
      count(reader, held, 0)
    }
    return {
      isShort: size < asking.mostBytes,
      bytes: readable < asking.mostBytes && readable > STEP_BYTES ? readable - (readable % STEP_BYTES) : readable,
      trim(bytes) {
        if (!reader.grants.has(held)) return
        if (bytes === 0) release()
        else count(reader, held, bytes)
      },
      made() {
        held.sinceMs = clock.monotonic()
      },
      sent() {
        if (reader.grants.has(held) && held.bytes > 0) reader.sent(held, clock.monotonic())
        release()
      },
      release,
      exchange(asking) {
        if (!reader.grants.has(held)) return take(asking)
        const { bytes } = held
        release()
        const nowMs = clock.monotonic()
        const isPrompt = reader.isPrompt(asking, nowMs)
        const isConfined = isPrompt && line.some(waiter => isKeptOut(waiter, nowMs))
        const grant = tryGrant(asking, reader, isPrompt, isConfined)
        if (grant !== null) return grant
        reader.grants.add(held)
        count(reader, held, bytes)
        return null
      },
    }
  }

  function take(asking: Asking): Grant | null {
    if (asking.closed.aborted) return null
    const reader = readerOf(asking)
    const nowMs = clock.monotonic()
    const isPrompt = reader.isPrompt(asking, nowMs)
    const ticket = reader.ticket ?? nextTicket
    let isConfined = false
    for (const waiter of line) {
      if (waiter.ticket > ticket) break
      const isTrusted = waiter.reader.isTrusted(waiter.asking)
      if (isPrompt ? isTrusted : !reader.isNewcomer || waiter.reader.isNewcomer || isTrusted) return null
      isConfined ||= isPrompt && isKeptOut(waiter, nowMs)
    }
    return tryGrant(asking, reader, isPrompt, isConfined)
  }

  function serveSoon(): void {
    if (isDue || line.length + overdue.length === 0) return
    isDue = true
    // Between two turns sockets are read: what is released here may have been what all requests waited for.
    clock.soon(() =>
      clock.soon(() => {
        isDue = false
        serve()
      }),
    )
  }

  function serve(): void {
    const nowMs = clock.monotonic()
    let [isSlowTaken, isCommonTaken, isPromptTaken, isConfined] = [false, false, false, false]
    for (const waiter of [...line]) {
      const { asking, reader } = waiter
      const isPrompt = reader.isPrompt(asking, nowMs)
      if (isPrompt ? isPromptTaken : isCommonTaken || (isSlowTaken && !reader.isNewcomer)) continue
      const grant = tryGrant(asking, reader, isPrompt, isConfined)
      if (grant !== null) waiter.end(grant)
      // A reader that waits for its own answers to be taken does not make others wait.
      else if (reader.bytes > 0) continue
      else if (isPrompt) {
        if (!isConfined) break
        isPromptTaken = true
      } else {
        if (reader.isNewcomer) isCommonTaken = true
        else isSlowTaken = true
        isConfined ||= isKeptOut(waiter, nowMs)
      }
    }
    for (const waiter of overdue.splice(0, ENDED_AT_ONCE)) waiter.end(null)
    if (overdue.length > 0) serveSoon()
  }

  function watchDrain(drain: AbortSignal): void {
    if (isDrainWatched) return
    isDrainWatched = true
    drain.addEventListener('abort', () => {
      for (const waiter of [...line]) waiter.end(null)
    })
  }

  return {
    get bytes() {
      return usedBytes
    },
    asked(connection, atMs) {
      readers.get(connection)?.asked(atMs)
    },
    take,
    wait(asking, maxWaitMs, drain) {
      if (asking.closed.aborted || drain.aborted) return Promise.resolve(null)
      const reader = readerOf(asking)
      reader.ticket ??= nextTicket++
      const { ticket } = reader
      return new Promise(resolve => {
        watchDrain(drain)
        let timer: Timer | null = null
        const waiter: Waiter = {
          asking,
          reader,
          ticket,
          end(grant) {
            const at = line.indexOf(waiter)
            if (at === -1) return
            line.splice(at, 1)
            timer?.cancel()
            resolve(grant)
          },
        }
        timer = clock.timer(Math.max(maxWaitMs, LEAST_WAIT_MS), () => {
          overdue.push(waiter)
          serveSoon()
        })
        line.splice(line.findLastIndex(each => each.ticket <= ticket) + 1, 0, waiter)
        serveSoon()
      })
    },
  }
}
