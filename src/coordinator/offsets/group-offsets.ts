// The committed offsets of one group in memory, and the memory that they take. A change returns the names of the fields
// that it changed, for the decision that it belongs to. The group decides whether a client may commit and whether an
// offset has expired. This file knows no member and no protocol, so that every type of group can use it.

import type { Refusal } from '../../protocol/errors.ts'
import { costOfOffset, TOO_MANY_OFFSETS } from '../kept-bytes.ts'
import {
  type CommittedOffset,
  encodeOffset,
  offsetField,
  parseOffsetField,
  type StoredOffsets,
} from './offset-record.ts'
import { CHANGED, committedBy, type OffsetReplacement } from './offset-replacement.ts'

export interface OffsetToCommit {
  readonly topicId: string
  readonly partition: number
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
  /**
   * Milliseconds from the commit until the offset expires, if the client asked for a time; -1 if the settings decide.
   */
  readonly retentionMs: number
}

export interface TopicPartitions {
  readonly topicId: string
  readonly partitions: readonly number[]
}

/** Null if all offsets are stored; a refusal if no offset is stored; else one answer for each offset, in order. */
export type CommitReply = null | Refusal | readonly (Refusal | null)[]

export class GroupOffsets {
  readonly #topics: Map<string, Map<number, CommittedOffset>>
  #bytes = 0

  /** Takes ownership of the map. */
  constructor(topics: Map<string, Map<number, CommittedOffset>>) {
    this.#topics = topics
    for (const partitions of topics.values())
      for (const committed of partitions.values()) this.#bytes += costOfOffset(committed)
  }

  /** All offsets. The map is not a copy: the next commit changes it. */
  get byTopic(): StoredOffsets {
    return this.#topics
  }

  /** The memory that the offsets take, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  *fields(): Iterable<string> {
    for (const [topicId, partitions] of this.#topics)
      for (const partition of partitions.keys()) yield offsetField(topicId, partition)
  }

  /** Returns the stored form of a field; null if the field is not an offset, or the offset was forgotten. */
  encode(field: string): Uint8Array | null {
    const of = parseOffsetField(field)
    const committed = of === null ? undefined : this.#topics.get(of.topicId)?.get(of.partition)
    return committed === undefined ? null : encodeOffset(committed)
  }

  /**
   * Sets the offsets. `nowMs` is the time of the wall clock. An offset that takes more memory than before is refused
   * with TOO_MANY_OFFSETS if `leftBytes` does not suffice.
   */
  commit(offsets: readonly OffsetToCommit[], leftBytes: number, nowMs: number) {
    let left = leftBytes
    const changes: string[] = []
    const rows = offsets.map(({ topicId, partition, retentionMs, ...rest }) => {
      const before = this.#topics.get(topicId)?.get(partition)
      const growth = costOfOffset(rest) - (before === undefined ? 0 : costOfOffset(before))
      if (growth > 0 && growth > left) return TOO_MANY_OFFSETS
      left -= growth
      const expireAtMs = retentionMs < 0 ? -1 : Math.min(nowMs + retentionMs, Number.MAX_SAFE_INTEGER)
      changes.push(this.#set(topicId, partition, { ...rest, commitTimestampMs: nowMs, expireAtMs }))
      return null
    })
    const reply: CommitReply = changes.length === rows.length ? null : rows
    return { changes, reply }
  }

  /**
   * Sets or forgets all these offsets. `nowMs` is the time of the wall clock. If an offset differs from the expected
   * value, changes nothing and returns CHANGED.
   */
  replace(replacements: readonly OffsetReplacement[], nowMs: number): readonly string[] | typeof CHANGED {
    const isExpected = (each: OffsetReplacement) =>
      each.isExpected(this.#topics.get(each.topicId)?.get(each.partition) ?? null)
    if (!replacements.every(isExpected)) return CHANGED
    return replacements.flatMap(({ topicId, partition, offset }) =>
      offset === null ? this.forget(topicId, [partition]) : [this.#set(topicId, partition, committedBy(offset, nowMs))],
    )
  }

  /** Forgets the offsets of these partitions. Skips partitions without an offset. */
  forget(topicId: string, partitions: Iterable<number>): readonly string[] {
    const own = this.#topics.get(topicId)
    const fields: string[] = []
    for (const partition of own === undefined ? [] : partitions) {
      const before = own!.get(partition)
      if (before === undefined) continue
      own!.delete(partition)
      this.#bytes -= costOfOffset(before)
      fields.push(offsetField(topicId, partition))
    }
    if (own?.size === 0) this.#topics.delete(topicId)
    return fields
  }

  forgetTopics(topicIds: readonly string[]): readonly string[] {
    return topicIds.flatMap(topicId => this.forget(topicId, this.#topics.get(topicId)?.keys() ?? []))
  }

  /** Forgets the expired offsets of topics that are not in use. A topic in use keeps all of its offsets. */
  expire(isInUse: (topicId: string) => boolean, isExpired: (committed: CommittedOffset) => boolean): readonly string[] {
    return [...this.#topics].flatMap(([topicId, partitions]) => {
      if (isInUse(topicId)) return []
      const expired = [...partitions].filter(([, committed]) => isExpired(committed))
      return this.forget(
        topicId,
        expired.map(([partition]) => partition),
      )
    })
  }

  #set(topicId: string, partition: number, committed: CommittedOffset): string {
    const partitions = this.#topics.get(topicId) ?? new Map<number, CommittedOffset>()
    const before = partitions.get(partition)
    this.#bytes += costOfOffset(committed) - (before === undefined ? 0 : costOfOffset(before))
    this.#topics.set(topicId, partitions.set(partition, committed))
    return offsetField(topicId, partition)
  }
}
