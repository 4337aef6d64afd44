// Clients of the storage simulation: producers of keyed records and tombstones, and readers that read a whole log again
// and again beside the cleaner. They note what brokers have acknowledged and shown, and judge it: an offset has one
// record, a reader meets rising offsets, and no newest record is hidden from it. No client knows the store.

import * as errors from '../../src/protocol/errors.ts'
import { isRefusal } from '../../src/protocol/errors.ts'
import { encodeBatch, readRecords, viewBatch } from '../../src/protocol/records.ts'
import { ask, type Clients, isUnknown, named, producerId, sleep } from './clients.ts'
import { START_WALL_MS } from './cluster-broker.ts'
import type { Rules } from './ledger.ts'
import type { Complain } from './violations.ts'

export interface KeyedWorld extends Clients {
  readonly complain: Complain
  /** False if the store may lose acknowledged records. */
  readonly keepsAll: boolean
}

interface Sent {
  readonly key: string
  readonly value: string | null
  /** -1 until a broker has acknowledged it. */
  offset: number
}

/** One log, with all that clients know of it. */
export interface KeyedLog {
  readonly topicId: string
  readonly partition: number
  readonly rules: Rules
  readonly sent: Map<number, Sent>
  /** The record that brokers have shown or acknowledged at each offset. */
  readonly at: Map<number, number>
}

const READ_BYTES = 400
const READ_AGAIN_MS = 400
const PRODUCE_TIMEOUT_MS = 300
const KEYS = 6
/** The header that names a record, because a tombstone has no value. */
const ID = 'id'

export const logName = ({ topicId, partition }: KeyedLog) => `${topicId}:${partition}`

const leaderOf = (world: KeyedWorld, { topicId, partition }: KeyedLog) =>
  named(world, rooms => rooms.cluster.leaderOf(topicId, partition))

/** Notes the record at an offset. */
function note({ complain }: KeyedWorld, log: KeyedLog, offset: number, id: number): void {
  const known = log.at.get(offset)
  if (known !== undefined && known !== id) {
    complain('reused', 'offset', `${logName(log)}: offset ${offset} has the records ${known} and ${id}`)
  }
  log.at.set(offset, id)
}

/** Sends batches, one after the other. Resolves when the outcome of each is as certain as possible. */
export async function produceKeyed(
  world: KeyedWorld,
  log: KeyedLog,
  { sends, isIdempotent, pauseMs }: { sends: number; isIdempotent: boolean; pauseMs: number },
): Promise<void> {
  const { scheduler } = world
  let producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
  for (let i = 0; i < sends; i++) {
    await sleep(world, scheduler.within(pauseMs))
    if (isIdempotent && producer.producerId < 0) {
      producer = { producerId: await producerId(world), producerEpoch: 0, baseSequence: 0 }
    }
    const timestamp = Math.floor(START_WALL_MS + scheduler.nowMs)
    const ids: number[] = []
    const records = Array.from({ length: 1 + scheduler.random.below(3) }, () => {
      const id = 1 + log.sent.size
      const key = `key ${scheduler.random.below(KEYS)}`
      const value = scheduler.oneIn(5) ? null : `value ${id}`
      log.sent.set(id, { key, value, offset: -1 })
      ids.push(id)
      return { key, value, timestamp, headers: [{ key: ID, value: String(id) }] }
    })
    scheduler.tell(`a producer sends ${ids.join()} to ${logName(log)}`)
    for (;;) {
      const broker = leaderOf(world, log)
      if (broker === null) {
        await sleep(world, 20)
        continue
      }
      const answer = await ask(world, broker, ({ logs }) => {
        const led = logs.partition(log.topicId, log.partition)
        const batch = viewBatch(encodeBatch(records, producer))
        return led === null ? errors.NOT_LEADER_OR_FOLLOWER : led.append(batch, PRODUCE_TIMEOUT_MS)
      })
      if (answer !== null && !isRefusal(answer)) {
        scheduler.tell(`${ids.join()} of ${logName(log)} has offset ${answer.baseOffset}`)
        for (const [i, id] of ids.entries()) {
          log.sent.get(id)!.offset = answer.baseOffset + i
          note(world, log, answer.baseOffset + i, id)
        }
        if (isIdempotent) producer.baseSequence += ids.length
        break
      }
      const mayRepeat =
        answer === null ? isIdempotent : isIdempotent ? answer.retriable : !isUnknown(answer) && answer.retriable
      if (!mayRepeat) {
        // A producer that does not know the outcome of its batch starts again under a new id.
        producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
        break
      }
      await sleep(world, 20 + scheduler.within(40))
    }
  }
}

/** Reads a log from its start to its end again and again, until `isOver` returns true. */
export async function readAgain(world: KeyedWorld, log: KeyedLog, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await sleep(world, world.scheduler.within(READ_AGAIN_MS))
    await readWhole(world, log, isOver)
  }
}

/**
 * Reads a log once and judges it. Resolves with the offsets of each key in the log; null if retention has passed the
 * reader, or `isOver` returned true.
 */
export async function readWhole(
  world: KeyedWorld,
  log: KeyedLog,
  isOver: () => boolean = () => false,
): Promise<ReadonlyMap<string, readonly number[]> | null> {
  const { scheduler, complain, keepsAll } = world
  const due = [...log.sent.values()].filter(({ offset }) => offset >= 0)
  const dueEnd = keepsAll ? Math.max(0, ...due.map(({ offset }) => offset + 1)) : 0
  const seen = new Map<string, number[]>()
  let position = -1
  let first = -1
  let last = -1
  for (;;) {
    if (isOver()) return null
    const broker = leaderOf(world, log)
    const from = position
    const answer = broker === null ? null : await ask(world, broker, rooms => poll(rooms, log, from))
    if (answer === null || isRefusal(answer)) {
      if (answer?.code === errors.OFFSET_OUT_OF_RANGE.code) {
        if (log.rules.retentionMs === null && keepsAll) {
          complain('hidden', 'range', `${logName(log)}: position ${position} is out of range`)
        }
        return null
      }
      if (answer?.code === errors.CORRUPT_MESSAGE.code) complain('other', 'corrupt', answer.message)
      await sleep(world, 20)
      continue
    }
    const { batches, logStartOffset, highWatermark } = answer
    position = answer.from
    if (first < 0) first = position
    for (const bytes of batches) {
      const { lastOffset } = viewBatch(bytes)
      for (const { offset, key, value, headers } of await readRecords(bytes)) {
        if (offset < position) continue
        if (offset <= last) complain('divergence', 'order', `${logName(log)}: ${offset} comes after ${last}`)
        last = offset
        const id = Number(headers.find(header => header.key === ID)?.value)
        const sent = log.sent.get(id)
        if (sent === undefined || sent.key !== String(key) || sent.value !== (value?.toString() ?? null)) {
          complain('divergence', 'content', `${logName(log)}: ${offset} has key ${key}, value ${value}, id ${id}`)
        }
        note(world, log, offset, id)
        seen.set(String(key), [...(seen.get(String(key)) ?? []), offset])
      }
      position = lastOffset + 1
    }
    if (batches.length > 0) continue
    if (position >= highWatermark && position >= dueEnd) {
      scheduler.tell(`a reader has come from ${first} to ${position} of ${logName(log)}`)
      // A server that fails over may forget that it has dropped something.
      if (keepsAll) judgeSeen(world, log, due, seen, Math.max(first, logStartOffset))
      return seen
    }
    await sleep(world, 20)
  }
}

/** Judges that nothing was hidden from a reader: `due` are the records that it could rely on when it began. */
function judgeSeen(
  { complain }: KeyedWorld,
  log: KeyedLog,
  due: readonly Sent[],
  seen: ReadonlyMap<string, readonly number[]>,
  logStart: number,
): void {
  const { isCompacted } = log.rules
  const sent = [...log.sent.values()]
  for (const { key, offset } of due) {
    if (offset < logStart) continue
    const offsets = seen.get(key) ?? []
    if (isCompacted ? (offsets.at(-1) ?? -1) >= offset : offsets.includes(offset)) continue
    // The ledger judges whether a tombstone was taken away too early.
    const isDeleted = sent.some(
      other => other.key === key && other.value === null && (other.offset < 0 || other.offset >= offset),
    )
    if (isCompacted && isDeleted) continue
    complain('hidden', 'record', `${logName(log)}: a reader has not met ${offset} of ${key} nor a newer record`)
  }
}

type Rooms = Parameters<Parameters<typeof ask>[2]>[0]

async function poll({ logs }: Rooms, { topicId, partition }: KeyedLog, from: number) {
  const led = logs.partition(topicId, partition)
  if (led === null) return errors.NOT_LEADER_OR_FOLLOWER
  const position = from < 0 ? led.logStartOffset : from
  const read = await led.read(position, READ_BYTES, true)
  return isRefusal(read) ? read : { ...read, from: position }
}
