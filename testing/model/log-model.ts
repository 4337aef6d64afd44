// A partition's log as a plain list of batches: the offsets of the records, the start of the log, and the batches
// whose fate is unknown. It has no index, no cache and no store, so that a reader can check it at once.
//
// start            end
// | certain batches | pending: sent, but the answer was lost or left the outcome open. They keep their order; each is
// |                 | in the log completely or not at all.

import { Difference, expect, expectSame } from './difference.ts'
import { type Origin, Sequences, type Verdict } from './sequences.ts'

export interface ModelRecord {
  readonly key: string | null
  readonly value: Buffer
  /** Milliseconds since 1970; -1 for no timestamp. */
  readonly timestamp: number
}

/** A batch as a producer sends it. */
export interface SentBatch {
  /** Unique in the run; the value of the first record begins with it. */
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
  /** The broker's timestamp if the topic has LogAppendTime, else -1. */
  appendTimeMs: number
  /** Null until the batch was read. */
  leaderEpoch: number | null
}

interface Pending {
  readonly sent: SentBatch
  /** Null if it is unknown whether the batch is in the log. */
  readonly baseOffset: number | null
  readonly appendTimeMs: number
  /** True if the answer said that the batch is not in the log and never will be. */
  readonly isRefused?: boolean
}

/** A rule that retention may have applied, and its end. The current rule has no end. */
export interface RetentionRule {
  readonly ms: number
  readonly bytes: number
  untilMs: number
}

export interface FoundRecord {
  readonly offset: number
  readonly timestamp: number
}

/** The milliseconds for which an old rule may still act, because a round of retention had already begun. */
const RULE_LINGERS_MS = 5_000

export class LogModel {
  readonly name: string
  readonly #rules: readonly RetentionRule[]
  start = 0
  end = 0
  /** All batches that were ever in the log, the oldest first. */
  readonly batches: PlacedBatch[] = []
  readonly pending: Pending[] = []
  /** The possible starts of the log after a DeleteRecords whose answer was lost. */
  readonly lateStarts = new Set<number>()
  readonly producers = new Map<number, Sequences>()
  /** For each producer without a batch in the log: the first batch that failed. The producer begins with it again. */
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

  /** Records that the batch is certainly at the end of the log. */
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

  /** Returns the batch that contains an offset of the log. */
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

  /** The batches with at least one record at or above the log start. */
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

  /** Returns the first record with the largest timestamp; null if no record has a timestamp. */
  largestTimestamp(): FoundRecord | null {
    let best: FoundRecord | null = null
    for (const record of this.records()) {
      if (record.timestamp >= 0 && (best === null || record.timestamp > best.timestamp)) best = record
    }
    return best
  }

  /**
   * Records the log start that the broker returned. The start may be higher than in the model only because of a
   * DeleteRecords whose answer was lost, or because of retention. Retention drops whole batches, none younger than
   * `ms`, and keeps at least `bytes`.
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
   * Resolves the pending batches. The caller has read the log from the model's end up to a batch that was certainly
   * appended after all pending ones. Each batch found must be a pending one, in their order. Each acknowledged batch
   * must be found at its acknowledged offset.
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

  /** After a broker refused the first batch of a producer, it accepts no later batch before this one is repeated. */
  #await({ origin }: SentBatch): void {
    if (origin === null || this.producers.has(origin.producerId) || this.awaited.has(origin.producerId)) return
    this.awaited.set(origin.producerId, origin)
  }

  #lost({ sent, baseOffset }: Pending): string {
    return `${this.name}: batch ${sent.tag} was acknowledged at offset ${baseOffset} and is not in the log`
  }
}
