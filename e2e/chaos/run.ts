// Shared by the clients of one chaos run: where the broker is, what is recorded, when to stop. It holds no behaviour of
// a client.

import { type Clock, sleep, systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { errors } from '../../src/protocol/errors.ts'
import type { History, Key } from '../../testing/history.ts'
import type { Wire } from '../../testing/wire.ts'

/** How long a client waits before it knocks again at a broker that is away. */
const RECONNECT_MS = 20

/** A broker that is away for longer than this is not coming back, and the run has failed. */
const AWAY_LIMIT_MS = 30_000

/** A client sends by it: one connection, or one to each of several brokers. */
export type Caller = Pick<Wire, 'send' | 'close'>

export interface Run {
  readonly history: History
  readonly topic: string
  readonly partitions: number
  readonly random: Random
  readonly clock: Clock
  /** True once no new operation is to begin. */
  readonly stopping: boolean
  stop(): void
  /** The run has failed: every wait of a client or a fault ends with this error, and so do they. */
  abort(reason: Error): void
  readonly aborted: Error | null
  key(partition: number): Key
  /** Connects, waiting for the broker to be there. */
  connect(): Promise<Caller>
  pause(ms: number): Promise<void>
  /** Counts acknowledged values. */
  acknowledge(values: number): void
  readonly acknowledged: number
  /** Resolves when this many more values have been acknowledged than now. */
  progress(values: number): Promise<void>
}

export interface RunOptions {
  readonly history: History
  /** Fails where the broker is away. */
  readonly connect: () => Promise<Caller>
  readonly topic: string
  readonly partitions: number
  readonly random: Random
  /** This one fails with it. */
  readonly within?: Run
}

export function openRun(options: RunOptions): Run {
  const { history, topic, partitions, random, within } = options
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

/** Whether a client is to try again (`retriable` of Kafka's table). */
export function isPassing(errorCode: number): boolean {
  return errors.some(error => error.code === errorCode && error.retriable)
}

/** The outcome of the write by Produce's error code. */
export function isUnknownOutcome(errorCode: number): boolean {
  const REQUEST_TIMED_OUT = 7
  const NETWORK_EXCEPTION = 13
  const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
  return [REQUEST_TIMED_OUT, NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND].includes(errorCode)
}
