// The keyed records of a compacted topic in a history, and the audit of a reading after the cleaner has worked: the
// newest record of each key once, at its offset. checker.ts judges the rest of the history.

import type { DecodedRecord, NewRecord } from '../src/protocol/records.ts'
import type { History, Key, Op, Seen } from './history.ts'

/** Gives each value of a history a key, and a few of them no value: tombstones. */
export interface Compaction {
  keyOf(value: number): string
  isTombstone(value: number): boolean
  /** Returns the record of a value. */
  record(value: number): NewRecord
  /** Returns the value of a record. */
  valueOf(record: DecodedRecord): number
}

/** Every value of this many is a tombstone. */
const TOMBSTONES = 13
const HEADER = 'value'

/** Returns the records of a topic with at most this many keys in each partition. Each value ends with the padding. */
export function keyedRecords(keys: number, padding: string): Compaction {
  // Neighbouring values have keys that are far from each other.
  const keyOf = (value: number) => `key-${(value * 7919) % keys}`
  const isTombstone = (value: number) => value % TOMBSTONES === 0
  return {
    keyOf,
    isTombstone,
    record: value => ({
      key: keyOf(value),
      value: isTombstone(value) ? null : `${value} ${padding}`,
      headers: [{ key: HEADER, value: String(value) }],
    }),
    valueOf({ key, value, headers }) {
      const number = Number(headers.find(header => header.key === HEADER)?.value)
      if (String(key) !== keyOf(number) || (value === null) !== isTombstone(number))
        throw new Error(`the record of value ${number} has key ${key} and ${value === null ? 'no ' : 'a '}value`)
      if (value !== null && Number.parseInt(String(value), 10) !== number)
        throw new Error(`the record with key ${key} has the value ${number} in its header and ${value} in itself`)
      return number
    },
  }
}

export interface CompactedReading {
  /** The index of the operation with which the reading begins; it begins at offset 0 of each partition. */
  readonly from: number
  /** By partition: the first dirty offset before the reading began. */
  readonly cleanedTo: ReadonlyMap<Key, number>
  /** Returns whether the store may have lost an acknowledged record, by the begin and the end of its send. */
  mayLack?(begunAt: number, endedAt: number): boolean
}

interface Written {
  readonly value: number
  /** Null if the producer does not know it. */
  readonly offset: number | null
  readonly isFirm: boolean
}

/**
 * Returns a sentence for each record that a reading of everything lacks, or that should not be in it. The newest
 * acknowledged record of a key must be there at its offset, unless a newer one of its key is. A tombstone may be
 * missing, and then everything older of its key is. Below the first dirty offset each key stands once.
 */
export function auditCompacted(
  { ops }: Pick<History, 'ops'>,
  compaction: Compaction,
  { from, cleanedTo, mayLack = () => false }: CompactedReading,
): readonly string[] {
  const problems: string[] = []
  const written = sendsOf(ops, mayLack)
  const read = pollsOf(ops.slice(from))
  for (const [partition, sends] of written) {
    const found = new Map<string, Seen[]>()
    let last = -1
    for (const seen of read.get(partition) ?? []) {
      const [offset, value] = seen
      if (offset <= last) problems.push(`${partition}: offset ${offset} was read after ${last}`)
      last = offset
      const key = compaction.keyOf(value)
      append(found, key, seen)
    }
    const dirtyFrom = cleanedTo.get(partition) ?? 0
    for (const [key, those] of found) {
      const clean = those.filter(([offset]) => offset < dirtyFrom)
      if (clean.length > 1)
        problems.push(`${partition}: ${key} stands at ${clean.map(([offset]) => offset)}, all below ${dirtyFrom}`)
    }
    for (const [key, those] of Map.groupBy(sends, ({ value }) => compaction.keyOf(value))) {
      const problem = lackOf(those, found.get(key) ?? [], compaction)
      if (problem !== null) problems.push(`${partition}: ${key}: ${problem}`)
    }
  }
  return problems
}

/** Returns why the records found of a key are not those that must be there; null if they are. */
function lackOf(sends: readonly Written[], found: readonly Seen[], compaction: Compaction): string | null {
  for (const [offset, value] of found) {
    const send = sends.find(each => each.value === value)
    if (send === undefined) return `value ${value} at ${offset} was never sent`
    if (send.offset !== null && send.offset !== offset)
      return `value ${value} was acknowledged at ${send.offset} and read at ${offset}`
  }
  const firm = sends.filter(({ isFirm, offset }) => isFirm && offset !== null)
  const newest = firm.reduce<Written | null>((one, other) => (one && one.offset! > other.offset! ? one : other), null)
  if (newest === null) return null
  const [offset, value] = found.at(-1) ?? [-1, -1]
  if (offset >= newest.offset!) return null
  const isRemoved =
    compaction.isTombstone(newest.value) ||
    // A tombstone without an answer, or one that the store may have lost, may have removed the key.
    sends.some(send => compaction.isTombstone(send.value) && (send.offset === null || send.offset > newest.offset!))
  if (isRemoved && found.length === 0) return null
  const read =
    found.length === 0 ? 'no record of its key was read' : `the newest that was read is ${value} at ${offset}`
  return `the newest acknowledged value ${newest.value} at ${newest.offset} is missing; ${read}`
}

function append<T>(lists: Map<string, T[]>, key: string, one: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [one])
  else list.push(one)
}

function sendsOf(ops: readonly Op[], mayLack: (begunAt: number, endedAt: number) => boolean): Map<Key, Written[]> {
  const sends = new Map<Key, Written[]>()
  const begun = new Map<number, Op>()
  const add = (op: Op, isOk: boolean, begunAt: number) => {
    for (const micro of op.value) {
      if (micro[0] !== 'send') continue
      const [, key, what] = micro
      const [offset, value] = typeof what === 'number' ? [null, what] : what
      const send = { value, offset, isFirm: isOk && !mayLack(begunAt, op.time) }
      append(sends, key, send)
    }
  }
  for (const op of ops) {
    if (op.f !== 'send') continue
    if (op.type === 'invoke') begun.set(op.process, op)
    else {
      const begunAt = begun.get(op.process)!.time
      begun.delete(op.process)
      if (op.type !== 'fail') add(op, op.type === 'ok', begunAt)
    }
  }
  for (const op of begun.values()) add(op, false, op.time)
  return sends
}

function pollsOf(ops: readonly Op[]): Map<Key, Seen[]> {
  const polls = new Map<Key, Seen[]>()
  for (const op of ops) {
    if (op.type !== 'ok' || op.f !== 'poll') continue
    for (const micro of op.value) {
      if (micro[0] !== 'poll' || micro[1] === undefined) continue
      for (const [key, seen] of Object.entries(micro[1])) for (const each of seen) append(polls, key, each)
    }
  }
  return polls
}
