// A partition's log as a plain list of batches: which records stand where, where the log begins, and what of it is not
// certain. It has no index, no cache and no store, so that it can be read in one go and be believed.
//
//   start            end
//   | certain batches | pending: sent, and the answer is lost or said nothing certain. In their order, each whole or
//   |                 | not at all.

import { Difference, expect, expectSame } from './difference.ts'
import { type Origin, Sequences, type Verdict } from './sequences.ts'

export interface ModelRecord {
  readonly key: string | null
  readonly value: Buffer
  /** Ms since 1970; -1: none. */
  readonly timestamp: number
}

/** A batch as a producer sends it. */
export interface SentBatch {
  /** No other batch of the run has it; the first value begins with it. */
  readonly tag: string
  readonly records: readonly ModelRecord[]
  readonly bytes: Buffer
  readonly isZstd: boolean
  readonly origin: Origin | null
  readonly sentAtMs: number
}

export interface PlacedBatch {
  readonly sent: SentBatch
  readonly baseOffset: number
  readonly nextOffset: number
  /** The broker's stamp where the topic has LogAppendTime, else -1. */
  appendTimeMs: number
  /** Null until it was read. */
  leaderEpoch: number | null
}

interface Pending {
  readonly sent: SentBatch
  /** Null: it is unknown whether it is in the log. */
  readonly baseOffset: number | null
  readonly appendTimeMs: number
  /** The answer said that it is not in the log and never will be. */
  readonly isRefused?: boolean
}

/** A rule that retention may have applied, and until when: the one that holds has no end. */
export interface RetentionRule {
  readonly ms: number
  readonly bytes: number
  untilMs: number
}

export interface FoundRecord {
  readonly offset: number
  readonly timestamp: number
}

/** How long a rule that does not hold any more may act: in a round of retention that has begun. */
const RULE_LINGERS_MS = 5_000

export class LogModel {
  readonly name: string
  readonly #rules: readonly RetentionRule[]
  start = 0
  end = 0
  /** All that ever stood here, oldest first. */
  readonly batches: PlacedBatch[] = []
  readonly pending: Pending[] = []
  /** Where the log may begin once a DeleteRecords has acted whose answer is lost. */
  readonly lateStarts = new Set<number>()
  readonly producers = new Map<number, Sequences>()
  /**
   * The first batch that a producer sent in vain, while it has none in the log: it begins there when it comes again.
   */
  readonly awaited = new Map<number, Origin>()
  #startSeenAtMs = 0

  constructor(name: string, rules: readonly RetentionRule[]) {
    this.name = name
    this.#rules = rules
  }

  verdict({ origin, records }: SentBatch): Verdict {
    if (origin === null) return { kind: 'next' }
    return this.producers.get(origin.producerId)?.verdict(origin, records.length) ?? { kind: 'next' }
  }

  /** The batch certainly stands at the end of the log. */
  place(sent: SentBatch, baseOffset: number, appendTimeMs: number): void {
    expectSame(`${this.name}: the offset of batch ${sent.tag}`, baseOffset, this.end)
    const { origin, records } = sent
    this.end = baseOffset + records.length
    this.batches.push({ sent, baseOffset, nextOffset: this.end, appendTimeMs, leaderEpoch: null })
    if (origin === null) return
    const sequences = this.producers.get(origin.producerId) ?? new Sequences()
    this.producers.set(origin.producerId, sequences)
    this.awaited.delete(origin.producerId)
    sequences.add(origin, records.length, baseOffset)
  }

  /** The batch that holds an offset of the log. */
  batchAt(offset: number): PlacedBatch {
    let low = 0
    let high = this.batches.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.batches[middle]!.nextOffset <= offset) low = middle + 1
      else high = middle
    }
    return this.batches[low]!
  }

  /** The batches that hold anything at or above the log start. */
  get live(): readonly PlacedBatch[] {
    return this.batches.filter(batch => batch.nextOffset > this.start)
  }

  *records(): Generator<FoundRecord> {
    for (const { sent, baseOffset, appendTimeMs } of this.live) {
      for (const [i, { timestamp }] of sent.records.entries()) {
        const offset = baseOffset + i
        if (offset >= this.start) yield { offset, timestamp: appendTimeMs >= 0 ? appendTimeMs : timestamp }
      }
    }
  }

  firstAtOrAfter(timestamp: number): FoundRecord | null {
    for (const record of this.records()) if (record.timestamp >= timestamp) return record
    return null
  }

  /** The first of those with the largest timestamp; null where no record has one. */
  largestTimestamp(): FoundRecord | null {
    let best: FoundRecord | null = null
    for (const record of this.records()) {
      if (record.timestamp >= 0 && (best === null || record.timestamp > best.timestamp)) best = record
    }
    return best
  }

  /**
   * The broker says that the log begins here. It may begin later than the model knew only by a DeleteRecords whose
   * answer is lost, or by what retention allows: it drops whole batches, none that is younger than `ms`, and leaves
   * `bytes`.
   */
  sawStart(start: number, nowMs: number): void {
    const lateBefore = this.#startSeenAtMs - RULE_LINGERS_MS
    this.#startSeenAtMs = nowMs
    if (start === this.start) return
    const why = `${this.name}: the log begins at ${start}, the model says ${this.start} (end ${this.end})`
    expect(start > this.start && start <= this.end, () => why)
    const rules = this.#rules.filter(rule => rule.untilMs >= lateBefore)
    const isAllowed = this.lateStarts.has(start) || rules.some(rule => this.#mayDrop(start, rule, nowMs))
    expect(isAllowed, () => `${why}; neither a DeleteRecords nor retention (${JSON.stringify(rules)}) explains it`)
    this.start = start
  }

  #mayDrop(before: number, rule: RetentionRule, nowMs: number): boolean {
    const isBoundary = before === this.end || this.batchAt(before).baseOffset === before
    if (!isBoundary) return false
    const dropped = this.live.filter(batch => batch.nextOffset <= before)
    const newestMs = (batch: PlacedBatch) => {
      const largest = batch.sent.records.reduce((most, { timestamp }) => Math.max(most, timestamp), -1)
      return largest < 0 || batch.appendTimeMs >= 0 ? batch.sent.sentAtMs : Math.min(largest, batch.sent.sentAtMs)
    }
    if (
      rule.ms >= 0 &&
      dropped.every(batch => newestMs(batch) < Math.min(nowMs, rule.untilMs + RULE_LINGERS_MS) - rule.ms)
    )
      return true
    const kept = this.batches.filter(batch => batch.baseOffset >= before)
    return rule.bytes >= 0 && kept.reduce((sum, { sent }) => sum + sent.bytes.length, 0) >= rule.bytes
  }

  /**
   * The log was read from the model's end on, up to a batch that was certainly appended after everything that is
   * pending: each batch found was pending, in that order; each acknowledged one is found where it was acknowledged.
   */
  resolve(
    found: readonly { readonly tag: string; readonly baseOffset: number; readonly appendTimeMs: number }[],
  ): void {
    let next = 0
    for (const { tag, baseOffset, appendTimeMs } of found) {
      for (;;) {
        const pending = this.pending[next++]
        if (pending === undefined) {
          throw new Difference(
            `${this.name}: batch ${tag} at offset ${baseOffset} was not sent there, or came out of order`,
          )
        }
        if (pending.sent.tag !== tag) {
          expect(pending.baseOffset === null, () => this.#lost(pending))
          continue
        }
        if (pending.baseOffset !== null) {
          expectSame(`${this.name}: where the acknowledged batch ${tag} is read`, baseOffset, pending.baseOffset)
        }
        expect(
          pending.isRefused !== true,
          () => `${this.name}: batch ${tag} was refused and is at offset ${baseOffset}`,
        )
        const verdict = this.verdict(pending.sent)
        expectSame(`${this.name}: whether batch ${tag} follows its producer's last one`, 'next', verdict.kind)
        this.place(pending.sent, baseOffset, appendTimeMs)
        break
      }
    }
    for (const pending of this.pending.slice(next)) expect(pending.baseOffset === null, () => this.#lost(pending))
    for (const { sent } of this.pending) this.#await(sent)
    this.pending.length = 0
  }

  /** A broker that refused the first batch of a producer takes none behind it before that one has come again. */
  #await({ origin }: SentBatch): void {
    if (origin === null || this.producers.has(origin.producerId) || this.awaited.has(origin.producerId)) return
    this.awaited.set(origin.producerId, origin)
  }

  #lost({ sent, baseOffset }: Pending): string {
    return `${this.name}: batch ${sent.tag} was acknowledged at offset ${baseOffset} and is not in the log`
  }
}
