// Asks the judges of produced batches. A verdict starts when its batch arrives. The lane consults it when the batch
// would get its offset, and waits while it is missing. All judgings of a broker share a part of each turn of the event
// loop. Failures become refusals here: no batch passes without a verdict.

import type { Clock } from '../base/clock.ts'
import { LoopShare } from '../base/loop-share.ts'
import type { Patience } from '../base/patience.ts'
import {
  because,
  INVALID_RECORD,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { type BatchView, InvalidRecords } from '../protocol/records.ts'
import { isStoreFailure } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { BatchJudge } from './judge.ts'
import type { Unpacking } from './unpacking.ts'

/** How long judgings may hold one turn of the event loop, all together. */
const TURN_MS = 1

const TOO_LATE = because(
  REQUEST_TIMED_OUT,
  'The records of the batch were not checked in time, and the batch was not appended.',
)

/** The verdict about one batch. */
export class Judging {
  /** Null: the batch may be appended. Undefined: it is not decided yet. */
  verdict: Refusal | null | undefined
  /** Called once when it is decided, if it was not decided at once. */
  decided: (() => void) | null = null
  readonly #limit: CallersPatience

  constructor(verdict: Refusal | null | Promise<Refusal | null>, limit: CallersPatience) {
    this.#limit = limit
    if (!(verdict instanceof Promise)) {
      this.verdict = verdict
      return
    }
    this.verdict = undefined
    void verdict.then(found => {
      this.verdict = found
      this.decided?.()
    })
  }

  /** Ends the work on a verdict that is no longer needed, because the caller has its answer. */
  end(): void {
    this.#limit.end()
  }
}

export class Judgings {
  readonly #clock: Clock
  readonly #unpacking: Unpacking
  readonly #logger: Logger
  readonly #share: LoopShare

  constructor(clock: Clock, unpacking: Unpacking, logger: Logger) {
    this.#clock = clock
    this.#unpacking = unpacking
    this.#logger = logger
    this.#share = new LoopShare(clock, TURN_MS)
  }

  /**
   * Starts the verdict about a batch; at the latest after timeoutMs (0: no limit) it is a refusal. Returns null if the
   * batch may be appended and that is known at once. `partition` is for the messages.
   */
  start(judge: BatchJudge, batch: BatchView, partition: string, timeoutMs: number): Judging | null {
    const limit = new CallersPatience(this.#clock, timeoutMs)
    const verdict = this.#judge(judge, batch, partition, limit)
    return verdict === null ? null : new Judging(verdict, limit)
  }

  #judge(judge: BatchJudge, batch: BatchView, partition: string, limit: Patience) {
    const failed = (error: unknown) => this.#refusalOf(error, partition)
    try {
      const looked = this.#unpacking.lookSoon(batch, limit, this.#share, look => judge.look(look))
      if (looked instanceof Promise) {
        return looked.then(ended => (isRefusal(ended) ? TOO_LATE : judge.verdict(limit))).catch(failed)
      }
      if (isRefusal(looked)) return TOO_LATE
      const verdict = judge.verdict(limit)
      return verdict instanceof Promise ? verdict.catch(failed) : verdict
    } catch (error) {
      return failed(error)
    }
  }

  #refusalOf(error: unknown, partition: string): Refusal {
    if (error instanceof InvalidRecords) {
      return because(INVALID_RECORD, `The records of a batch for ${partition} cannot be read: ${error.message}.`)
    }
    if (isStoreFailure(error)) {
      const reason = 'The store does not answer, so the records could not be checked; nothing was written'
      return because(KAFKA_STORAGE_ERROR, `${reason}: ${error.message}.`)
    }
    // A mistake in a judge must not stop the partition, and a batch that it has not judged must not pass.
    this.#logger
      .limited('not-judged', 10_000)
      .error('the records of a batch could not be checked', { partition, error })
    return because(UNKNOWN_SERVER_ERROR, `The records of a batch for ${partition} could not be checked.`)
  }
}

/** Ends at the deadline of the caller, or when the caller has its answer. */
class CallersPatience implements Patience {
  readonly untilMs: number
  readonly #clock: Clock
  #isEnded = false
  #controller: AbortController | null = null

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.untilMs = timeoutMs > 0 ? clock.monotonic() + timeoutMs : Number.POSITIVE_INFINITY
  }

  get isOver(): boolean {
    return this.#isEnded || (this.untilMs < Number.POSITIVE_INFINITY && this.#clock.monotonic() >= this.untilMs)
  }

  /** Made when it is asked for: most verdicts are given at once. */
  get ended(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#isEnded) this.#controller.abort()
    }
    return this.#controller.signal
  }

  end(): void {
    this.#isEnded = true
    this.#controller?.abort()
  }
}
