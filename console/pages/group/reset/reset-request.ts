// The choices of an offset reset, and the request that they make.

import type { ResetRequestBody } from '../../../../src/api/groups.ts'
import type { RESET_TARGETS } from '../../../../src/api/words.ts'
import type { ResetTo } from '../../../text/commands.ts'

export type TargetName = (typeof RESET_TARGETS)[number]

export const TARGETS: Readonly<Record<TargetName, { readonly label: string; readonly effect: string }>> = {
  clear: {
    label: 'Clear',
    effect:
      'Deletes the offsets. Each consumer then begins where its own auto.offset.reset says: at the first record, or at the end.',
  },
  earliest: {
    label: 'Earliest',
    effect: 'Sets the offset to the first record that the log still has. Everything in the log is read again.',
  },
  latest: {
    label: 'Latest',
    effect: 'Sets the offset to the end of the log. Records that the group has not read yet are skipped.',
  },
  offset: {
    label: 'Offset',
    effect: 'Sets the same offset in each chosen partition. It must lie between the start and the end of each log.',
  },
  timestamp: {
    label: 'Time',
    effect:
      'Sets the offset to the first record at or after a time. If all records are older, that is the end of the log.',
  },
}

/** Partitions by topic. */
export type Chosen = ReadonlyMap<string, readonly number[]>

/** Returns the partitions of each topic, in the order in which they come. */
export function byTopic(places: readonly { readonly topic: string; readonly partition: number }[]): Chosen {
  const topics = Map.groupBy(places, ({ topic }) => topic)
  return new Map([...topics].map(([topic, own]) => [topic, own.map(({ partition }) => partition)]))
}

export interface Choices {
  readonly scope: 'all' | 'topic' | 'partitions'
  /** The topic of the scope `topic`. */
  readonly topic: string
  /** The partitions of the scope `partitions`. */
  readonly chosen: Chosen
  readonly to: TargetName
  /** The offset as it is typed. */
  readonly offset: string
  /** Milliseconds since 1970; null if there is no time yet. */
  readonly timestamp: number | null
}

/** Returns the choices without topics and partitions that are no longer there to be chosen. */
export function stillOffered(choices: Choices, offered: Chosen): Choices {
  const chosen = [...choices.chosen].flatMap(([topic, own]) => {
    const left = own.filter(partition => offered.get(topic)?.includes(partition) ?? false)
    return left.length === 0 ? [] : [[topic, left] as const]
  })
  return { ...choices, topic: offered.has(choices.topic) ? choices.topic : '', chosen: new Map(chosen) }
}

export type Asked = Pick<ResetRequestBody, 'scope' | 'to' | 'offset' | 'timestamp'>

/** Returns the request; a sentence that says what is missing. */
export function requestOf(choices: Choices): Asked | string {
  const { scope, topic, chosen, to, offset, timestamp } = choices
  const partitions = [...chosen].flatMap(([name, indexes]) => indexes.map(partition => ({ topic: name, partition })))
  if (scope === 'topic' && topic === '') return 'Choose a topic.'
  if (scope === 'partitions' && partitions.length === 0) return 'Choose at least one partition.'
  const asked: Asked = {
    scope: { topics: scope === 'topic' ? [topic] : [], partitions: scope === 'partitions' ? partitions : [] },
    to,
  }
  if (to === 'offset') {
    const value = Number(offset)
    if (!/^[0-9]{1,16}$/.test(offset.trim()) || !Number.isSafeInteger(value)) return 'Type the offset, a number from 0.'
    return { ...asked, offset: value }
  }
  if (to === 'timestamp') return timestamp === null ? 'Type the time.' : { ...asked, timestamp }
  return asked
}

/** Returns the target as the commands write it. */
export function commandTarget({ to, offset, timestamp }: Asked): ResetTo {
  if (offset !== undefined) return { offset }
  if (timestamp !== undefined) return { timestamp }
  return to === 'earliest' || to === 'latest' ? to : 'clear'
}

/** Returns the chosen partitions as Kafka's tools write them: `orders:0,1`. */
export function toolTopics({ scope }: Asked): readonly string[] {
  return [...byTopic(scope?.partitions ?? [])].map(([topic, partitions]) => `${topic}:${partitions.join(',')}`)
}
