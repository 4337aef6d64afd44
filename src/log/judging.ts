// Asks the judges of produced batches. A verdict starts when its batch arrives. The lane consults it when the batch
// would get its offset, and waits while it is missing. All judgings of a broker share a part of each turn of the event
// loop. Failures become refusals here: no batch passes without a verdict.

import type { Clock } from '../base/clock.ts'
import { LoopShare } from '../base/loop-share.ts'
import type { Patience } from '../base/patience.ts'
import { Semaphore } from '../base/semaphore.ts'
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
import { AGAIN, type BatchJudge, type Verdict } from './judge.ts'
import { type Looker, Unpacking } from './unpacking.ts'

/** How long judgings may hold one turn of the event loop, all together. */
const TURN_MS = 1
/**
 * The most batches of one partition that are unpacked and judged at one time, without small ones. A producer of bombs
 * then cannot take all the memory for unpacking from the other partitions: each of them waits for at most a few bombs.
 * A batch keeps its place until it is decided. The lane needs the verdicts in order, so a second look must not wait for
 * the first looks of the batches behind it.
 */
const PLACES_OF_PARTITION = 2

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

/** The partition of a batch, as the judgings know it. */
export interface JudgedPlace {
  /** For the messages. */
  readonly name: string
  /** The id of its topic. */
  readonly topic: string
  readonly places: Semaphore
}

/** The looks into one batch. */
interface BatchLooker extends Looker {
  /** True once the batch turned out to be too large for a look at once. */
  isLarge: boolean
  /** True from then on, if it has a place of its partition. */
  hasPlace: boolean
}

export class Judgings {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #share: LoopShare
  /** Of their own: viewers who read hostile batches must not make producers wait. */
  readonly #unpacking: Unpacking

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
    this.#share = new LoopShare(clock, TURN_MS)
    this.#unpacking = new Unpacking(clock, true)
  }

  place(name: string, topic: string): JudgedPlace {
    return { name, topic, places: new Semaphore(this.#clock, PLACES_OF_PARTITION) }
  }

  /**
   * Starts the verdict about a batch; at the latest after timeoutMs (0: no limit) it is a refusal. Returns null if the
   * batch may be appended and that is known at once.
   */
  start(judge: BatchJudge, batch: BatchView, place: JudgedPlace, timeoutMs: number): Judging | null {
    const limit = new CallersPatience(this.#clock, timeoutMs)
    const verdict = this.#judge(judge, batch, place, limit)
    return verdict === null ? null : new Judging(verdict, limit)
  }

  #judge(judge: BatchJudge, batch: BatchView, place: JudgedPlace, limit: Patience) {
    let verdict: Refusal | null | Promise<Refusal | null> | undefined
    const failed = (error: unknown) => this.#refusalOf(error, place.name)
    const { topic, places } = place
    const looker: BatchLooker = { patience: limit, turn: this.#share.turn, topic, isLarge: false, hasPlace: false }
    const end = () => {
      judge.end?.()
      if (looker.hasPlace) places.give(1)
    }
    try {
      const looked = this.#look(judge, batch, place, looker)
      if (looked instanceof Promise) {
        verdict = looked.then(ended => (isRefusal(ended) ? TOO_LATE : this.#verdict(judge, batch, place, looker)))
      } else verdict = isRefusal(looked) ? TOO_LATE : this.#verdict(judge, batch, place, looker)
    } catch (error) {
      verdict = failed(error)
    }
    if (verdict instanceof Promise) return verdict.catch(failed).finally(end)
    end()
    return verdict
  }

  /** Asks for the verdict behind a look. Returns no promise if it is there at once. */
  #verdict(judge: BatchJudge, batch: BatchView, place: JudgedPlace, looker: BatchLooker) {
    const found = judge.verdict(looker.patience)
    const isThere = !(found instanceof Promise) && found !== AGAIN
    return isThere ? found : this.#lookAgain(found, judge, batch, place, looker)
  }

  async #lookAgain(
    first: Verdict | Promise<Verdict>,
    judge: BatchJudge,
    batch: BatchView,
    place: JudgedPlace,
    looker: BatchLooker,
  ): Promise<Refusal | null> {
    let verdict = await first
    while (verdict === AGAIN) {
      if (isRefusal(await this.#lookInTurn(judge, batch, place, looker))) return TOO_LATE
      verdict = await judge.verdict(looker.patience)
    }
    // A judge may have stopped before it saw all, and the deadline of the lane is a little later than this one.
    return verdict === null && looker.patience.isOver ? TOO_LATE : verdict
  }

  /** Looks at once if the share has time left in this turn of the loop, else in one of the next turns. */
  #look(judge: BatchJudge, batch: BatchView, place: JudgedPlace, looker: BatchLooker) {
    if (!this.#share.begin()) return this.#lookInTurn(judge, batch, place, looker)
    try {
      const soon = this.#unpacking.lookSoon(batch, looker, look => judge.look(look))
      return soon === null ? this.#lookLater(judge, batch, place, looker) : soon
    } finally {
      this.#share.end()
    }
  }

  async #lookInTurn(judge: BatchJudge, batch: BatchView, place: JudgedPlace, looker: BatchLooker) {
    const others = looker.turn()
    if (others !== undefined) await others
    const soon = looker.isLarge ? null : this.#unpacking.lookSoon(batch, looker, look => judge.look(look))
    return await (soon === null ? this.#lookLater(judge, batch, place, looker) : soon)
  }

  /** Looks into a batch that is too large to be unpacked at once. */
  async #lookLater(judge: BatchJudge, batch: BatchView, { places }: JudgedPlace, looker: BatchLooker) {
    looker.isLarge = true
    if (!looker.hasPlace) looker.hasPlace = await places.take(1, looker.patience)
    if (!looker.hasPlace) return TOO_LATE
    return await this.#unpacking.look(batch, looker, async look => {
      // The records may have come back from the thread pool, in the time of others.
      const others = look.turn()
      if (others !== undefined) await others
      await judge.look(look)
    })
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

/** A reason of its own: without one, each abort makes an exception with its stack, which shows in the rate of JSON. */
const ANSWERED = 'the caller has its answer'

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
      if (this.#isEnded) this.#controller.abort(ANSWERED)
    }
    return this.#controller.signal
  }

  end(): void {
    this.#isEnded = true
    this.#controller?.abort(ANSWERED)
  }
}
