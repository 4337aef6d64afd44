// Fetches that wait for data. Nothing scans: a wait registers with each of its partitions, an append touches only the
// waits of its partition and marks that partition ready, and a woken fetch is handed what is ready. It knows no offsets,
// sessions or limits of a fetch; those are the handler's.

import type { Clock, Timer } from '../base/clock.ts'

/** What a wait needs of a partition. */
export interface Waitable {
  readonly waits: Waits
  readonly highWatermark: number
  /** Set when nothing will ever come. */
  readonly refusal: unknown
}

export interface WaitOptions {
  /** Bytes that must have arrived, together with `alreadyBytes`, before the wait ends early. */
  readonly minBytes: number
  /** What the caller found before it began to wait. */
  readonly alreadyBytes: number
  readonly maxWaitMs: number
  /** Aborting ends the wait with what is ready. */
  readonly signal?: AbortSignal
  /**
   * The high watermark that the caller saw, for each partition. One that has moved since, or whose partition has ended,
   * ends the wait at once, so that what happened between the read and the wait is not missed. Without it the caller must not await between the two.
   */
  readonly seen?: readonly number[]
}

export interface Waiters {
  /** Resolves with the partitions that became ready, in that order: enough bytes, time up, abort, removal or release. */
  waitFor<P extends Waitable>(partitions: readonly P[], options: WaitOptions): Promise<readonly P[]>
  /** Ends every wait, and from then on each new one at once: the broker drains. */
  release(): void
}

interface Registration {
  readonly wait: Wait
  readonly position: number
  isReady: boolean
}

interface Wait {
  /** `urgent` ends the wait whatever the bytes. */
  notice(registration: Registration, bytes: number, urgent: boolean): void
}

/** The waits of one partition. */
export class Waits {
  readonly #registrations = new Set<Registration>()

  get size(): number {
    return this.#registrations.size
  }

  add(registration: Registration): void {
    this.#registrations.add(registration)
  }

  delete(registration: Registration): void {
    this.#registrations.delete(registration)
  }

  /** So many bytes more may be read. */
  appended(bytes: number): void {
    for (const registration of this.#registrations) registration.wait.notice(registration, bytes, false)
  }

  /** Whoever waits must look again, whatever it waits for. */
  wake(): void {
    for (const registration of this.#registrations) registration.wait.notice(registration, 0, true)
  }
}

export function createWaiters(clock: Clock): Waiters {
  const finishers = new Set<() => void>()
  let released = false

  return {
    waitFor<P extends Waitable>(partitions: readonly P[], options: WaitOptions): Promise<readonly P[]> {
      const { minBytes, alreadyBytes, maxWaitMs, signal, seen } = options
      const moved = partitions.filter(
        ({ highWatermark, refusal }, i) => refusal !== null || (seen !== undefined && highWatermark !== seen[i]),
      )
      if (released || moved.length > 0 || alreadyBytes >= minBytes || maxWaitMs <= 0 || signal?.aborted) {
        return Promise.resolve(moved)
      }
      return new Promise(resolve => {
        let bytes = alreadyBytes
        const ready: P[] = []
        const wait: Wait = {
          notice(registration, more, urgent) {
            if (!registration.isReady) {
              registration.isReady = true
              ready.push(partitions[registration.position]!)
            }
            bytes += more
            if (urgent || bytes >= minBytes) finish()
          },
        }
        const registrations = partitions.map((partition, position) => {
          const registration: Registration = { wait, position, isReady: false }
          partition.waits.add(registration)
          return registration
        })
        const finish = () => {
          finishers.delete(finish)
          timer.cancel()
          signal?.removeEventListener('abort', finish)
          for (const registration of registrations) partitions[registration.position]!.waits.delete(registration)
          resolve(ready)
        }
        const timer: Timer = clock.timer(maxWaitMs, finish)
        signal?.addEventListener('abort', finish)
        finishers.add(finish)
      })
    },
    release() {
      released = true
      for (const finish of finishers) finish()
    },
  }
}
