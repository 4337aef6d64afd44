// The two producers of a chaos run, on the raw wire, so that they control every retry themselves: a plain one that
// never retries, and an idempotent one that retries forever.

import { errors } from '../../src/protocol/errors.ts'
import { initProducerId } from '../../src/protocol/messages/init-producer-id.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch, type NewRecord } from '../../src/protocol/records.ts'
import type { Begun, Micro } from '../../testing/history.ts'
import { type Caller, isPassing, isUnknownOutcome, type Run } from './run.ts'

const PRODUCE_VERSION = 12
const REQUEST_TIMEOUT_MS = 10_000
const MOST_VALUES = 20

/** Kafka's limit of batches in flight on one connection for an idempotent producer. */
const IN_FLIGHT = 5

const DUPLICATE_SEQUENCE_NUMBER = 46

/** Consecutive retriable refusals after which an idempotent producer fails the run. */
const PATIENCE = 2000
const REFUSED_PAUSE_MS = 20
/** The wait of a client that has lost its connection. The proxy of a broker that is away takes the next one, too. */
const RECONNECT_MS = 20

interface Answer {
  readonly errorCode: number
  readonly errorMessage: string | null
  readonly baseOffset: number
}

async function sendBatch(wire: Caller, run: Run, partition: number, records: Uint8Array): Promise<Answer> {
  const answer = await wire.send(produce, PRODUCE_VERSION, {
    acks: -1,
    timeoutMs: REQUEST_TIMEOUT_MS,
    topicData: [{ name: run.topic, partitionData: [{ index: partition, records }] }],
  })
  return answer.responses[0]!.partitionResponses[0]!
}

function nameOf(errorCode: number): string {
  return errors.find(error => error.code === errorCode)?.name ?? `error ${errorCode}`
}

function makeValues(run: Run): number[] {
  return Array.from({ length: 1 + run.random.below(MOST_VALUES) }, () => run.history.value())
}

function toRecords(run: Run, values: readonly number[]): NewRecord[] {
  const timestamp = run.clock.now()
  if (run.compaction !== null) return values.map(value => ({ ...run.compaction!.record(value), timestamp }))
  return values.map(value => ({ value: String(value), timestamp }))
}

function stored(run: Run, partition: number, values: readonly number[], baseOffset: number | null): Micro[] {
  return values.map((value, i) => ['send', run.key(partition), [baseOffset === null ? null : baseOffset + i, value]])
}

/**
 * Sends one batch at a time and never retries. A batch without a response has an unknown outcome. If a batch is
 * stored twice, the broker has duplicated it.
 */
export async function runPlainProducer(run: Run): Promise<void> {
  while (!run.stopping) {
    const wire = await run.connect()
    const process = run.history.process()
    try {
      while (!run.stopping) {
        const partition = run.random.below(run.partitions)
        const values = makeValues(run)
        const begun = run.history.begin(
          process,
          'send',
          values.map(value => ['send', run.key(partition), value]),
        )
        const answer = await sendBatch(wire, run, partition, encodeBatch(toRecords(run, values))).catch(error => {
          begun.info(String(error))
          throw error
        })
        if (answer.errorCode === 0) {
          begun.ok(stored(run, partition, values, answer.baseOffset))
          run.acknowledge(values.length)
          await run.pause(run.paceMs)
          continue
        }
        if (isUnknownOutcome(answer.errorCode)) {
          begun.info(nameOf(answer.errorCode))
          break
        }
        begun.fail(nameOf(answer.errorCode))
        await run.pause(REFUSED_PAUSE_MS)
      }
    } catch (error) {
      await reconnectLater(run, error)
    } finally {
      await wire.close()
    }
  }
}

/**
 * Returns whether the error is a broken connection. Those are expected in these runs; any other error fails the run.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // If Node knows already that the broker has ended the connection, a write fails without a call of the system.
  const isEnded = 'code' in error && error.code === 'EPIPE'
  return isEnded || 'syscall' in error || error.message === 'the connection was closed'
}

/** Waits a moment after a broken connection. Throws every other error. */
export async function reconnectLater(run: Run, error: unknown): Promise<void> {
  if (!isConnectionLoss(error)) throw error
  await run.pause(RECONNECT_MS)
}

interface Pending {
  readonly partition: number
  readonly values: readonly number[]
  readonly records: Uint8Array
  readonly begun: Begun
  readonly slot: number
}

/**
 * Keeps five batches in flight. After any loss it sends all unanswered batches again, in order, with the same
 * sequences.
 */
export async function runIdempotentProducer(run: Run): Promise<void> {
  const processes = Array.from({ length: IN_FLIGHT }, () => run.history.process())
  const nextSequence = Array.from({ length: run.partitions }, () => 0)
  let identity: { producerId: number; producerEpoch: number } | null = null
  let pending: Pending[] = []
  let refusals = 0

  const makePending = (slot: number): Pending => {
    const partition = run.random.below(run.partitions)
    const values = makeValues(run)
    const begun = run.history.begin(
      processes[slot]!,
      'send',
      values.map(value => ['send', run.key(partition), value]),
      { idempotent: true },
    )
    const records = encodeBatch(toRecords(run, values), { ...identity!, baseSequence: nextSequence[partition]! })
    nextSequence[partition]! += values.length
    return { partition, values, records, begun, slot }
  }

  while (!run.stopping || pending.length > 0) {
    const wire = await run.connect()
    try {
      if (identity === null) {
        const answer = await wire.send(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 60_000 })
        if (isPassing(answer.errorCode)) {
          await run.pause(REFUSED_PAUSE_MS)
          continue
        }
        if (answer.errorCode !== 0) throw new Error(`InitProducerId returned ${nameOf(answer.errorCode)}`)
        identity = { producerId: answer.producerId, producerEpoch: answer.producerEpoch }
      }
      const answers = new Map<Pending, Promise<Answer>>()
      const send = (one: Pending) => {
        const answer = sendBatch(wire, run, one.partition, one.records)
        answer.catch(() => undefined)
        answers.set(one, answer)
      }
      for (const one of pending) send(one)
      for (;;) {
        const busy = new Set(pending.map(one => one.slot))
        for (let slot = 0; slot < IN_FLIGHT && !run.stopping; slot++) {
          if (busy.has(slot)) continue
          const one = makePending(slot)
          pending.push(one)
          send(one)
        }
        const [first] = pending
        if (first === undefined) break
        const { errorCode, errorMessage, baseOffset } = await answers.get(first)!
        if (errorCode !== 0 && errorCode !== DUPLICATE_SEQUENCE_NUMBER) {
          if (!isPassing(errorCode) || ++refusals > PATIENCE) {
            first.begun.info(nameOf(errorCode))
            throw new Error(`the idempotent producer was refused for good: ${nameOf(errorCode)}: ${errorMessage}`)
          }
          await run.pause(REFUSED_PAUSE_MS)
          break
        }
        refusals = 0
        first.begun.ok(stored(run, first.partition, first.values, errorCode === 0 ? baseOffset : null))
        run.acknowledge(first.values.length)
        pending = pending.slice(1)
        await run.pause(run.paceMs)
      }
    } catch (error) {
      await reconnectLater(run, error)
    } finally {
      await wire.close()
    }
  }
}
