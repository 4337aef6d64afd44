// Limits the memory of the answers to fetches, for all connections together. Memory is granted before the records are
// read, and released when the network has taken the answer. The limit is well below
// `broker.global-max-pending-bytes`, so that clients which take their answers slowly wait only for each other, and
// never block the requests of other clients. It reads nothing and knows no partitions; handlers/fetch.ts does.
//
//   0                                         slow end    common end       end        resume mark           maximum
//   | all readers, in the order of their waits | newcomers | prompt readers | ... everything else that is pending ... |
//
// A grant is at most a third of the free memory, so that the next readers find free memory too. It is also at most
// the number of bytes that its connection takes in a second, measured with its last answer. The time of an answer
// ends when the client's next request arrives, because the buffers of the network hide how slowly a client reads. A
// prompt reader may get more while less than half of the common memory is taken.
//
// A slow reader needed longer than a second for its last answer. It gets memory for one answer at a time. A reader
// that has not taken an answer yet, or that sends requests ahead of its answers, may have several grants while half
// of the common part is free.
//
// A prompt reader took its last answer within a second. Only prompt readers may use the last part, for a request that
// arrived after the network had taken that answer. They may use the other parts too, unless an earlier reader waits
// that would find room there without them. A newcomer has no grant, and its speed is not known yet. Its part lets a
// consumer start before slow readers have taken their answers.
//
// A fetch waits its turn while there is no room for its first batch, which must be read whole. If its time is up
// before, its connection keeps the turn. If no other connection has memory, or if prompt readers use only their own
// part, the first request gets all the memory that it needs.

import type { Clock, Timer } from '../../base/clock.ts'

export interface ShareLimits {
  /** Above this only prompt readers get memory. */
  readonly commonBytes: number
  readonly endBytes: number
}

/** A connection; only its object identity is used. */
type Key = object

/** A connection that asks for memory, and the amount. */
export interface Asking {
  readonly connection: Key
  /** Aborts when the connection is closed; then all its memory is released. */
  readonly closed: AbortSignal
  /** When the request arrived, on the clock of the share. */
  readonly askedAtMs: number
  /** The most bytes that the request can use. */
  readonly mostBytes: number
  /** The largest possible size of the first batch, which is read whole. */
  readonly leastBytes: number
}

export interface Grant {
  /** The bytes that may be read, not counting the first batch. */
  readonly bytes: number
  /** True if the grant is less than the request asked for. */
  readonly isShort: boolean
  /** Keeps this number of bytes for the records that were found, and releases the rest. */
  trim(bytes: number): void
  /** Called when the answer is built: from then on it waits only for its client. */
  made(): void
  /**
   * Called when the network has taken the answer. Measures the speed of the client and releases the memory.
   * Idempotent, like `release`.
   */
  sent(): void
  /** Releases the memory, because there is no answer that needs it. */
  release(): void
  /**
   * Replaces this grant by a new one, ahead of the waiting requests. Returns null if there is no room for it; then
   * this grant stays.
   */
  exchange(asking: Asking): Grant | null
}

export interface FetchShare {
  /** The sum of all grants in bytes. */
  readonly bytes: number
  /** Must be called for each request: its arrival shows how long the client needed for the previous answer. */
  asked(connection: Key, atMs: number): void
  /** Returns null if the request must wait. */
  take(asking: Asking): Grant | null
  /**
   * Resolves to a grant when there is room. Resolves to null when its time is up (at the earliest after
   * LEAST_WAIT_MS), when the connection closes, or when `drain` aborts.
   */
  wait(asking: Asking, maxWaitMs: number, drain: AbortSignal): Promise<Grant | null>
}

/** A client that took its last answer within this time is prompt. */
const PROMPT_MS = 1000

/** A grant that is smaller than requested is a whole multiple of this, so that read-ahead reads the same length. */
const STEP_BYTES = 1 << 20

/** The largest grant of a client whose speed is unknown, while other memory is in use. */
const FIRST_BYTES = 4 << 20

/** The fraction of the common memory that is reserved for newcomers. */
const NEWCOMERS = 1 / 8

/**
 * The shortest time for which a request keeps its place in the line, even if its client does not want to wait. Free
 * memory goes to waiting requests, so a client that never waits would get none.
 */
const LEAST_WAIT_MS = 100

/** If the common memory is small, a step is the common memory divided by this. */
const STEPS = 8

/** The most waits that time out in one turn of the event loop, because each needs an answer. */
const ENDED_AT_ONCE = 16

/** Returns the limits that follow from the settings of the budget. */
export function shareLimits(maxPendingBytes: number, resumePendingBytes: number): ShareLimits {
  const most = Math.min(maxPendingBytes / 2, resumePendingBytes)
  return { commonBytes: Math.floor((most * 3) / 4), endBytes: Math.floor((most * 7) / 8) }
}

/** A connection that fetches. */
class Reader {
  readonly grants = new Set<Held>()
  bytes = 0
  /** Its position among the waiting connections; null after a grant. */
  ticket: number | null = null
  isProven = false
  /** When the network had taken its last answer. */
  sentAtMs = Number.NEGATIVE_INFINITY
  /** Its last answer, until it asks again. */
  answered: Answered | null = null
  isSlow = false
  /** The bytes that it takes in a second, by its last answer. */
  bytesPerSecond = Number.POSITIVE_INFINITY

  /** True if it has not taken an answer yet. */
  get isNew(): boolean {
    return !this.isProven && !this.isSlow
  }

  get isNewcomer(): boolean {
    return this.isNew && this.grants.size === 0
  }

  /**
   * The time within which it must take an answer to be prompt. A slow client gets the bytes that it takes in a
   * second. So it must be much quicker than a second to be prompt again.
   */
  get promptMs(): number {
    return this.isSlow ? PROMPT_MS / 4 : PROMPT_MS
  }

  /** Notes that the network has taken an answer. */
  sent({ bytes, sinceMs }: Answered, nowMs: number): void {
    const tookMs = nowMs - sinceMs
    this.isProven = tookMs < this.promptMs
    if (!this.isProven) this.#measured(bytes, tookMs)
    this.sentAtMs = nowMs
    this.answered = { bytes, sinceMs }
  }

  /**
   * Measures the last answer when the next request arrives. The network may have taken the answer long before the
   * client did.
   */
  asked(atMs: number): void {
    if (this.answered === null) return
    const { bytes, sinceMs } = this.answered
    this.#measured(bytes, Math.max(atMs, this.sentAtMs) - sinceMs)
    this.answered = null
  }

  /**
   * Computes the speed. A prompt client may try one step more, because a small answer takes only the round trip and
   * does not show the client's speed.
   */
  #measured(bytes: number, tookMs: number): void {
    this.isSlow = tookMs >= this.promptMs
    this.bytesPerSecond = ((this.isSlow ? bytes : bytes + STEP_BYTES) / tookMs) * 1000
  }

  /**
   * Returns true if the last answer was prompt and the request arrived after it. The buffers of the network take the
   * first answers even if the client reads nothing. So a prompt answer does not count for requests that were sent
   * ahead of it.
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
  /** When it was granted; later, when its answer was built. */
  sinceMs: number
  /** True if it was granted to a prompt reader. */
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
  const readers = new WeakMap<Key, Reader>()
  /** In the order of their tickets. */
  const line: Waiter[] = []
  /** Waiting requests whose time is up. */
  const overdue: Waiter[] = []
  const slowBytes = commonBytes * (1 - NEWCOMERS)
  const promptPartBytes = endBytes - commonBytes
  const stepBytes = Math.min(STEP_BYTES, commonBytes / STEPS)
  let isDrainWatched = false
  let usedBytes = 0
  /** The part of `usedBytes` that prompt readers have. */
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

  /** Returns the used bytes outside of the part for prompt readers. */
  const commonUsedBytes = () => usedBytes - Math.min(promptBytes, promptPartBytes)

  const limitOf = (reader: Reader) => (reader.isNewcomer ? commonBytes : slowBytes)

  function freeFor(reader: Reader, isPrompt: boolean, isConfined: boolean): number {
    if (!isPrompt) return limitOf(reader) - commonUsedBytes()
    return isConfined ? promptPartBytes - promptBytes : endBytes - usedBytes
  }

  /** Returns true if this waiting request would fit if prompt readers had no memory. */
  function isKeptOut({ asking, reader }: Waiter, nowMs: number): boolean {
    if (reader.bytes > 0 || reader.isPrompt(asking, nowMs)) return false
    const needBytes = Math.max(Math.min(stepBytes, asking.mostBytes), asking.leastBytes)
    const limitBytes = limitOf(reader)
    return othersBytes() + Math.min(needBytes, limitBytes) <= limitBytes
  }

  /** Returns the size of a grant; null if there is no room for it. */
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
    // A reader that is alone gets all that it needs, even a batch that is larger than its part.
    const isAlone = othersBytes() === 0 && promptBytes <= (isPrompt ? 0 : promptPartBytes)
    return isAlone || needBytes <= freeBytes ? needBytes : null
  }

  function mayHoldMore(reader: Reader, isPrompt: boolean, needBytes: number): boolean {
    if (isPrompt) return reader.bytes + needBytes <= endBytes / 2
    return !reader.isSlow && usedBytes + needBytes <= commonBytes / 2
  }

  /** Returns null if there is no room. `isConfined` is true if prompt readers may use only their own part. */
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
    // Sockets are read between two turns. So a request that could not be read for lack of this memory joins the line
    // before the line is served.
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
      // A reader that still has grants of its own does not make others wait.
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
