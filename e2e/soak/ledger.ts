// The responses and records of the clients of a soak. The ledger judges them one stretch of offsets at a time
// (testing/checker.ts) and then forgets them, so that an hour needs no more memory than a minute. Every group must
// have read every acknowledged record of its topics, unless retention dropped the record before.

import { checkHistory, describeAnomalies } from '../../testing/checker.ts'
import type { Key, Op, Seen } from '../../testing/history.ts'

export interface Sent {
  readonly offset: number
  readonly value: number
  /**
   * Times of CLOCK_MONOTONIC in ns. If a client does not report them, `begunNs` may be too early and `endedNs` too
   * late.
   */
  readonly begunNs: number
  readonly endedNs: number
  readonly idempotent: boolean
}

export interface Ledger {
  sent(key: Key, send: Sent): void
  /** Adds the records that a group has read, in this order. */
  seen(group: string, key: Key, records: readonly Seen[]): void
  readonly acknowledged: number
  readonly read: number
  /** Records that retention dropped before a group had read them. */
  readonly retainedAway: number
  /**
   * Judges everything below the acknowledged end of the previous call, and forgets it: each group had the time
   * between the calls to read it. `startOf` has the log start offsets, read before the call. Returns sentences about
   * what was wrong.
   */
  judge(startOf: ReadonlyMap<Key, number>): readonly string[]
}

interface Read {
  readonly timeNs: number
  readonly records: readonly Seen[]
}

interface KeyLedger {
  sends: Sent[]
  readonly reads: Map<string, { position: number; polls: Read[] }>
  /** The end of the acknowledged records, and the end at the last judgement. */
  end: number
  due: number
}

/** Returns an empty ledger. `groups` has the keys that each group reads. */
export function openLedger(groups: ReadonlyMap<string, readonly Key[]>): Ledger {
  const keys = new Map<Key, KeyLedger>()
  for (const [group, those] of groups) {
    for (const key of those) {
      const ledger = keys.get(key) ?? { sends: [], reads: new Map(), end: 0, due: 0 }
      keys.set(key, ledger)
      ledger.reads.set(group, { position: 0, polls: [] })
    }
  }
  const ledgerOf = (key: Key): KeyLedger => {
    const ledger = keys.get(key)
    if (ledger === undefined) throw new Error(`no group reads ${key}`)
    return ledger
  }
  let acknowledged = 0
  let read = 0
  let retainedAway = 0

  /**
   * Yields the records that one group must read of one partition, as operations, without those that retention
   * dropped.
   */
  function* operationsOf(group: string, key: Key, start: number): Generator<Omit<Op, 'index'>> {
    const { sends, reads, due } = ledgerOf(key)
    const polls = reads.get(group)!.polls
    const seen = new Set(polls.flatMap(poll => poll.records.map(([offset]) => offset)))
    for (const { offset, value, begunNs, endedNs, idempotent } of sends) {
      if (offset >= due) continue
      if (offset < start && !seen.has(offset)) {
        retainedAway++
        continue
      }
      const op = { process: 0, node: 'n1', f: 'send', idempotent } as const
      yield { ...op, time: begunNs, type: 'invoke', value: [['send', key, value]] }
      yield { ...op, time: endedNs, type: 'ok', value: [['send', key, [offset, value]]] }
    }
    for (const { timeNs, records } of polls) {
      const those = records.filter(([offset]) => offset < due)
      if (those.length === 0) continue
      const op = { process: -1, node: 'n1', f: 'poll', time: timeNs } as const
      yield { ...op, type: 'invoke', value: [['poll']] }
      yield { ...op, type: 'ok', value: [['poll', { [key]: those }]] }
    }
  }

  return {
    sent(key, send) {
      const ledger = ledgerOf(key)
      ledger.sends.push(send)
      ledger.end = Math.max(ledger.end, send.offset + 1)
      acknowledged++
    },
    seen(group, key, records) {
      const reads = ledgerOf(key).reads.get(group)
      if (reads === undefined) throw new Error(`${group} is not to read ${key}`)
      if (records.length === 0) return
      reads.polls.push({ timeNs: Number(process.hrtime.bigint()), records })
      reads.position = records.at(-1)![0] + 1
      read += records.length
    },
    get acknowledged() {
      return acknowledged
    },
    get read() {
      return read
    },
    get retainedAway() {
      return retainedAway
    },
    judge(startOf) {
      const wrong: string[] = []
      for (const [group, those] of groups) {
        for (const key of those) {
          const { due, reads } = ledgerOf(key)
          const { position } = reads.get(group)!
          const start = startOf.get(key) ?? 0
          if (position < due && start < due) wrong.push(`${group} has read ${key} up to ${position} only, of ${due}`)
          const takenBefore = retainedAway
          const ops = number([...operationsOf(group, key, start)])
          // Records that retention dropped leave holes.
          const anomalies = checkHistory(ops, { dense: retainedAway === takenBefore })
          if (anomalies.length > 0) wrong.push(`${group}, ${key}: ${describeAnomalies(anomalies)}`)
        }
      }
      for (const ledger of keys.values()) forget(ledger)
      return wrong
    },
  }
}

/** A send is an operation of a process of its own, because many run at the same time; a group is one process. */
function number(ops: readonly Omit<Op, 'index'>[]): Op[] {
  return ops.map((op, index) => ({ ...op, index, process: op.f === 'send' ? 1 + Math.floor(index / 2) : op.process }))
}

function forget(ledger: KeyLedger): void {
  const { due } = ledger
  ledger.sends = ledger.sends.filter(send => send.offset >= due)
  for (const reads of ledger.reads.values()) {
    reads.polls = reads.polls
      .map(poll => ({ ...poll, records: poll.records.filter(([offset]) => offset >= due) }))
      .filter(poll => poll.records.length > 0)
  }
  ledger.due = ledger.end
}
