// Waiting for data. A watch is registered at one partition. An append reaches only the watches of its partition and
// marks them as ready in their lists. A woken fetch looks only at the ready watches, so nothing scans all partitions. A
// list lives as long as one fetch, or as long as a fetch session. This file knows no offsets and no limits of a fetch;
// the fetch handler does.
//
//   marked (to be looked at) --rest--> registered at its partition --news--> marked

import type { Clock } from '../base/clock.ts'
import { Fifo } from './fifo.ts'

/**
 * The most waits that end in one turn of the event loop. Otherwise thousands of waits that began together would end
 * together, and a producer would wait for all of them.
 */
const ENDED_AT_ONCE = 16

/** The list that a watch notifies when its partition has news. */
interface Listening {
  notice(watch: Watch, bytes: number, isUrgent: boolean): void
}

/**
 * Watches one partition for one list. The user extends the class with its own data. While a reader waits, marked
 * watches stay registered too, so that the wait counts the bytes that arrive.
 */
export class Watch {
  /** Set by the list that contains it. */
  list: Listening | null = null
  #waits: Waits | null = null
  /** Its index among the watches of its partition. */
  place = -1
  /** Whether its list has marked it as ready for the next look. */
  isMarked = false

  stand(waits: Waits): void {
    if (this.#waits === waits) return
    this.leave()
    this.#waits = waits
    waits.add(this)
  }

  leave(): void {
    this.#waits?.delete(this)
    this.#waits = null
  }
}

/** The watches that are registered at one partition. */
export class Waits {
  readonly #watches: Watch[] = []

  get size(): number {
    return this.#watches.length
  }

  add(watch: Watch): void {
    watch.place = this.#watches.push(watch) - 1
  }

  /** Removes the watch. The last watch gets its index. */
  delete(watch: Watch): void {
    const last = this.#watches.pop()!
    if (last === watch) return
    this.#watches[watch.place] = last
    last.place = watch.place
  }

  /** Reports that this many more bytes can be read. */
  appended(bytes: number): void {
    this.#tell(bytes, false)
  }

  /** Reports that something else about the partition has changed. This alone wakes no reader. */
  changed(): void {
    this.#tell(0, false)
  }

  /** Wakes every waiting reader, whatever it waits for. */
  wake(): void {
    this.#tell(0, true)
  }

  #tell(bytes: number, isUrgent: boolean): void {
    // From the last to the first, because a notified reader may leave.
    for (let at = this.#watches.length - 1; at >= 0; at--) {
      const watch = this.#watches[at]!
      watch.list?.notice(watch, bytes, isUrgent)
    }
  }
}

export interface WaitOptions {
  /** Bytes that must have arrived, together with `alreadyBytes`, before the wait ends early. */
  readonly minBytes: number
  /** The bytes that the caller found before it began to wait. */
  readonly alreadyBytes: number
  readonly maxWaitMs: number
  /** Aborting ends the wait. */
  readonly signal?: AbortSignal
}

/** The watches of one reader. The marked ones are those that it must look at next. It supports one wait at a time. */
export interface Watchlist<W extends Watch> {
  /** Returns the marked watches, in the order in which they were marked. */
  ready(): W[]
  /** Marks the watch for the next look, and adds it if it is new. */
  mark(watch: W): void
  /** Moves a marked watch behind all other marked ones. */
  defer(watch: W): void
  /**
   * Unmarks the watch and registers it; adds it if it is new. The caller must have looked at the partition in this
   * turn, so that it missed no news.
   */
  rest(watch: W, waits: Waits): void
  /** Removes the watch from the list. */
  drop(watch: W): void
  /**
   * Resolves when enough bytes have come or the time is up. An abort, a removal, an interruption or a release ends the
   * wait too.
   */
  wait(options: WaitOptions): Promise<void>
  /** Ends the wait, if there is one. */
  interrupt(): void
}

export interface Waiters {
  watchlist<W extends Watch>(): Watchlist<W>
  /** Ends every wait, and from then on each new one at once: the broker drains. */
  release(): void
}

export function createWaiters(clock: Clock): Waiters {
  const waiting = new Set<() => void>()
  /** Waits whose time was up when the limit of this turn was reached. */
  const overdue = new Fifo<() => void>()
  let endable = ENDED_AT_ONCE
  let released = false

  function expire(end: () => void): void {
    if (endable === ENDED_AT_ONCE) clock.soon(endOverdue)
    if (endable > 0) {
      endable--
      end()
    } else overdue.push(end)
  }

  function endOverdue(): void {
    endable = ENDED_AT_ONCE
    if (overdue.length === 0) return
    clock.soon(endOverdue)
    for (; endable > 0 && overdue.length > 0; endable--) overdue.shift()!()
  }

  function watchlist<W extends Watch>(): Watchlist<W> {
    const ready = new Set<W>()
    let bytes = 0
    let wantedBytes = 0
    let finish: (() => void) | null = null

    const add = (watch: W) => {
      if (watch.isMarked) return
      watch.isMarked = true
      ready.add(watch)
    }

    const remove = (watch: W) => {
      if (!watch.isMarked) return
      watch.isMarked = false
      ready.delete(watch)
    }

    const listening = {
      notice(watch: W, more: number, isUrgent: boolean) {
        add(watch)
        if (finish === null) {
          // The reader looks at this partition before it waits again, so the watch needs no further news.
          watch.leave()
          return
        }
        bytes += more
        if (isUrgent || bytes >= wantedBytes) finish()
      },
    }

    return {
      ready: () => [...ready],
      mark(watch) {
        watch.list = listening
        add(watch)
      },
      defer(watch) {
        if (ready.delete(watch)) ready.add(watch)
      },
      rest(watch, waits) {
        watch.list = listening
        remove(watch)
        watch.stand(waits)
      },
      drop(watch) {
        watch.leave()
        remove(watch)
      },
      wait({ minBytes, alreadyBytes, maxWaitMs, signal }) {
        if (released || alreadyBytes >= minBytes || maxWaitMs <= 0 || signal?.aborted) return Promise.resolve()
        bytes = alreadyBytes
        wantedBytes = minBytes
        return new Promise(resolve => {
          const end = () => {
            // An append may have ended this wait while it was overdue.
            if (!waiting.delete(end)) return
            finish = null
            timer.cancel()
            signal?.removeEventListener('abort', end)
            resolve()
          }
          finish = end
          const timer = clock.timer(maxWaitMs, () => expire(end))
          signal?.addEventListener('abort', end)
          waiting.add(end)
        })
      },
      interrupt: () => finish?.(),
    }
  }

  return {
    watchlist,
    release() {
      released = true
      for (const end of waiting) end()
    },
  }
}
