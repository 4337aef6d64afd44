// Computes the lag of consumer groups. Lag counts the records that were not delivered. If that is unknown, it counts
// the records that were not committed. If both are unknown, the lag of the partition is unknown and the total is a
// lower bound.

import type { CommittedPosition, GroupPosition } from '../contract.ts'
import { shortTurns } from '../short-turns.ts'
import type { GroupLag, GroupReading } from './groups-contract.ts'
import { type PositionRooms, positionLag, visitPositions } from './positions.ts'

/** The largest number of groups in one request to another broker. */
const GROUPS_AT_ONCE = 10

/**
 * Yields the lag of each of these groups, in order, and its lag in the topic with this id. Throws what the store
 * throws.
 */
export async function* groupLags(
  rooms: PositionRooms,
  groupIds: readonly string[],
  topicId: string | null = null,
): AsyncGenerator<GroupReading> {
  const turn = shortTurns(rooms.clock)
  for (let from = 0; from < groupIds.length; from += GROUPS_AT_ONCE) {
    const some = groupIds.slice(from, from + GROUPS_AT_ONCE)
    const sums = new Map(
      some.map(id => [id, { total: new LagSum(), inTopic: new LagSum(), topics: new Set<string>() }]),
    )
    await visitPositions(rooms, some, turn, (groupId, known, ends) => {
      const { total, inTopic, topics } = sums.get(groupId)!
      const lag = positionLag(known, ends)
      total.add(lag, known.committed)
      topics.add(known.topic.name)
      if (known.topic.id === topicId) inTopic.add(lag, known.committed)
    })
    for (const [groupId, { total, inTopic, topics }] of sums) {
      const topicLag = inTopic.of(groupId)
      yield {
        lag: total.of(groupId),
        topics: [...topics].sort(),
        topicLag: topicLag.partitions === 0 ? null : topicLag,
      }
    }
  }
}

export function lagOf(groupId: string, positions: readonly GroupPosition[]): GroupLag {
  const sum = new LagSum()
  for (const { lag, committed } of positions) sum.add(lag, committed)
  return sum.of(groupId)
}

class LagSum {
  #total = 0
  #max = 0
  #known = 0
  #partitions = 0
  #lastCommitTimestampMs: number | null = null

  add(lag: number | null, committed: CommittedPosition | null): void {
    this.#partitions++
    if (lag !== null) {
      this.#known++
      this.#total += lag
      if (lag > this.#max) this.#max = lag
    }
    if (committed !== null && committed.commitTimestampMs > (this.#lastCommitTimestampMs ?? -1))
      this.#lastCommitTimestampMs = committed.commitTimestampMs
  }

  of(groupId: string): GroupLag {
    const isUnknown = this.#known === 0 && this.#partitions > 0
    return {
      groupId,
      totalLag: isUnknown ? null : this.#total,
      maxLag: isUnknown ? null : this.#max,
      partitionsWithUnknownLag: this.#partitions - this.#known,
      partitions: this.#partitions,
      lastCommitTimestampMs: this.#lastCommitTimestampMs,
    }
  }
}
