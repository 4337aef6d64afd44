// The state of a group in one sentence: who reads what, how far behind they are, and where that goes.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { count, counted } from '../../text/format.ts'
import type { Trend } from '../groups/trend.ts'

type Described = Pick<DescribedGroup, 'state' | 'members' | 'lag' | 'positions'>

/** Returns `3 members share 12 partitions of 2 topics; 4,210 records behind, falling`. */
export function groupSentence(group: Described, trend: Trend | null): string {
  return `${whoReads(group)}; ${howFarBehind(group, trend)}`
}

function whoReads({ state, members, positions }: Described): string {
  const inTopics = (places: readonly { readonly topic: string }[]) => {
    const topics = new Set(places.map(({ topic }) => topic)).size
    return `${counted(places.length, 'partition')} of ${counted(topics, 'topic')}`
  }
  if (members.length === 0) {
    const kept = positions.filter(({ committedOffset }) => committedOffset !== null)
    return kept.length === 0
      ? 'No members, and no committed offset'
      : `No members; offsets are kept for ${inTopics(kept)}`
  }
  const who = counted(members.length, 'member')
  if (state !== 'Stable') return `${who} ${members.length === 1 ? 'waits' : 'wait'} for the partitions to be shared out`
  const owned = members.flatMap(({ assignment }) =>
    assignment.flatMap(({ topic, partitions }) => partitions.map(() => ({ topic }))),
  )
  if (owned.length === 0) return `${who} ${members.length === 1 ? 'reads' : 'read'} no partition`
  return `${who} ${members.length === 1 ? 'reads' : 'share'} ${inTopics(owned)}`
}

function howFarBehind({ lag }: Described, trend: Trend | null): string {
  if (lag.partitions === 0) return 'nothing is read yet'
  if (lag.totalLag === null) return 'the lag is not known'
  const isAtLeast = lag.partitionsWithUnknownLag > 0
  if (lag.totalLag === 0 && !isAtLeast) return 'nothing is behind'
  const behind = `${isAtLeast ? 'at least ' : ''}${count(lag.totalLag)} ${lag.totalLag === 1 ? 'record' : 'records'} behind`
  return trend === null ? behind : `${behind}, ${trend}`
}
