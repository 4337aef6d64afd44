// The state that the clients of one chaos run share: the connection to the broker, the history, and when to stop. It
// has no behaviour of a client.

import { type Clock, sleep, systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { errors } from '../../src/protocol/errors.ts'
import type { Compaction } from '../../testing/compaction.ts'
import type { History, Key } from '../../testing/history.ts'
import type { Wire } from '../../testing/wire.ts'

/** The wait of a client before it connects again to a broker that is away. */
const RECONNECT_MS = 20

/** By default the clients leave time to the brokers: some hundred batches a second, and more for a cleaner. */
const PACE_MS = 25
const COMPACTED_PACE_MS = 10

/** A broker that is away for longer than this is not coming back, and the run has failed. */
const AWAY_LIMIT_MS = 30_000

/** The connection of a client: one, or one to each of several brokers. */
export type Caller = Pick<Wire, 'send' | 'close'>

export interface Run {
  readonly history: History
  readonly topic: string
  readonly partitions: number
  readonly random: Random
  /** The keys of the records, if the topic is compacted. */
  readonly compaction: Compaction | null
  /** The pause of a producer after each acknowledged batch, and of a consumer after each poll. */
  readonly paceMs: number
  /** True while a stored batch is damaged: a fetch that comes to it is answered CORRUPT_MESSAGE. */
  isDamaged: boolean
  readonly clock: Clock
  /** True if no new operation may begin. */
  readonly stopping: boolean
  stop(): void
  /** Ends a failed run: every wait of a client or a fault ends with this error, and the clients end too. */
  abort(reason: Error): void
  readonly aborted: Error | null
  key(partition: number): Key
  /** Connects, and waits for the broker if it is away. */
  connect(): Promise<Caller>
  pause(ms: number): Promise<void>
  /** Counts acknowledged values. */
  acknowledge(values: number): void
  readonly acknowledged: number
  /** Resolves when this many more values are acknowledged. */
  progress(values: number): Promise<void>
}

export interface RunOptions {
  readonly history: History
  /** Rejects if the broker is away. */
  readonly connect: () => Promise<Caller>
  readonly topic: string
  readonly partitions: number
  readonly random: Random
  readonly compaction?: Compaction | null
  readonly paceMs?: number
  /** If that run fails, this one fails too. */
  readonly within?: Run
}

export function openRun(options: RunOptions): Run {
  const { history, topic, partitions, random, compaction = null, within } = options
  const { paceMs = compaction === null ? PACE_MS : COMPACTED_PACE_MS } = options
  const clock = systemClock
  let stopping = false
  let aborted: Error | null = null
  let acknowledged = 0
  let waiting: { at: number; resolve: () => void; reject: (reason: Error) => void }[] = []
  const reasonToEnd = () => aborted ?? within?.aborted ?? null
  const goOn = () => {
    const reason = reasonToEnd()
    if (reason !== null) throw reason
  }
  return {
    history,
    topic,
    partitions,
    random,
    compaction,
    paceMs,
    isDamaged: false,
    clock,
    get stopping() {
      return stopping
    },
    stop() {
      stopping = true
    },
    abort(reason) {
      stopping = true
      aborted = reason
      for (const one of waiting.splice(0)) one.reject(reason)
    },
    get aborted() {
      return reasonToEnd()
    },
    key: partition => `${topic}:${partition}`,
    async connect() {
      const begunAt = clock.monotonic()
      for (;;) {
        goOn()
        try {
          return await options.connect()
        } catch (error) {
          if (clock.monotonic() - begunAt > AWAY_LIMIT_MS) throw error
          await sleep(clock, RECONNECT_MS)
        }
      }
    },
    async pause(ms) {
      goOn()
      await sleep(clock, ms)
      goOn()
    },
    acknowledge(values) {
      acknowledged += values
      const due = waiting.filter(one => one.at <= acknowledged)
      waiting = waiting.filter(one => one.at > acknowledged)
      for (const one of due) one.resolve()
    },
    get acknowledged() {
      return acknowledged
    },
    async progress(values) {
      goOn()
      await new Promise<void>((resolve, reject) => waiting.push({ at: acknowledged + values, resolve, reject }))
    },
  }
}

/** Returns whether a client may retry (`retriable` in Kafka's table). */
export function isPassing(errorCode: number): boolean {
  return errors.some(error => error.code === errorCode && error.retriable)
}

/** Returns whether Produce's error code leaves the outcome of the write unknown. */
export function isUnknownOutcome(errorCode: number): boolean {
  const REQUEST_TIMED_OUT = 7
  const NETWORK_EXCEPTION = 13
  const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
  return [REQUEST_TIMED_OUT, NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND].includes(errorCode)
}
