// How far consumer groups are behind. Lag counts what was not delivered; where that is not known, what was committed stands in,
// and where neither is, the partition's lag is unknown and the total a lower bound.

import { takingTurns } from '../base/clock.ts'
import { measurePositions, type PositionLag, type PositionRooms, TURN_MS } from './group-positions.ts'
import type { GroupLag } from './groups-contract.ts'

/** At most so many are in memory, and asked of another broker, at once. */
const GROUPS_AT_ONCE = 10

/** The lag of each of these groups, in their order. Throws what the store throws. */
export async function* groupLags(rooms: PositionRooms, groupIds: readonly string[]): AsyncGenerator<GroupLag> {
  const turn = takingTurns(rooms.clock, TURN_MS)
  for (let from = 0; from < groupIds.length; from += GROUPS_AT_ONCE) {
    const some = groupIds.slice(from, from + GROUPS_AT_ONCE)
    for (const [groupId, positions] of await measurePositions(rooms, some, turn)) yield lagOf(groupId, positions)
  }
}

export function lagOf(groupId: string, positions: readonly PositionLag[]): GroupLag {
  let totalLag = 0
  let maxLag = 0
  let known = 0
  let lastCommitTimestampMs: number | null = null
  for (const { lag, committed } of positions) {
    if (lag !== null) {
      known++
      totalLag += lag
      if (lag > maxLag) maxLag = lag
    }
    if (committed !== null && committed.commitTimestampMs > (lastCommitTimestampMs ?? -1))
      lastCommitTimestampMs = committed.commitTimestampMs
  }
  const isUnknown = known === 0 && positions.length > 0
  return {
    groupId,
    totalLag: isUnknown ? null : totalLag,
    maxLag: isUnknown ? null : maxLag,
    partitionsWithUnknownLag: positions.length - known,
    partitions: positions.length,
    lastCommitTimestampMs,
  }
}
