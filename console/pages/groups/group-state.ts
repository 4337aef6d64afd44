// The state of a group as people read it: Kafka's word, and more than that if the group has no members.

import type { ListedGroup } from '../../../src/api/groups.ts'
import type { Tone } from '../../parts/badge.tsx'
import { counted } from '../../text/format.ts'

/** The states that a group can have. */
export const GROUP_STATES = ['Stable', 'Empty', 'PreparingRebalance', 'CompletingRebalance'] as const

export interface ShownState {
  readonly tone: Tone
  readonly text: string
  /** The meaning, in a sentence. */
  readonly title: string
}

/** Returns Kafka's word as words: `Preparing rebalance`. */
export function wordsOf(state: string): string {
  return state.replaceAll(/\B[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
}

/** A backlog that no member works on must not look like a group that has finished. */
export function shownState({ state, lag }: Pick<ListedGroup, 'state' | 'lag'>): ShownState {
  if (state === 'Empty') {
    if (lag.totalLag !== null && lag.totalLag > 0) {
      const waiting = counted(lag.totalLag, 'record')
      return { tone: 'danger', text: 'Empty with lag', title: `The group has no members, and ${waiting} wait for it.` }
    }
    return { tone: 'neutral', text: 'No members', title: 'No consumer is in the group. Its offsets are kept.' }
  }
  if (state === 'Stable')
    return { tone: 'ok', text: 'Stable', title: 'The members have agreed on who reads which partition.' }
  return { tone: 'info', text: wordsOf(state), title: 'The members are sharing out the partitions.' }
}

const BETWEEN = ','

/** Returns the states that the address names. A word that is no state is left out. */
export function readStates(text: string): readonly string[] {
  const words = text.split(BETWEEN)
  return GROUP_STATES.filter(state => words.includes(state))
}

/** Returns the states with one of them switched, as the address writes them. */
export function toggleState(text: string, state: string): string {
  const chosen = readStates(text)
  return GROUP_STATES.filter(each => chosen.includes(each) !== (each === state)).join(BETWEEN)
}
