// How long a topic keeps its records, in words.

import type { TopicSummary } from '../../../src/api/topics.ts'
import { showDuration, showSize } from '../../text/units.ts'

type Retained = Pick<TopicSummary, 'cleanupPolicy' | 'retentionMs' | 'retentionBytes'> & {
  /** The configs that the topic sets. */
  readonly configs?: Readonly<Record<string, string>>
}

const NO_LIMIT = '-1'
const AS_TOTAL = '-2'

/**
 * Returns `keeps 7 d in the local tier`. `isTiered` is true if sealed segments also go to Iceberg:
 * `keeps 7 d in Iceberg, 1 d of it also in the local tier`.
 */
export function retentionOf(topic: Retained, isTiered: boolean): string {
  const { cleanupPolicy, retentionMs, retentionBytes } = topic
  const tiers = isTiered ? tiersOf(topic) : 'in the local tier'
  const policies = cleanupPolicy.split(',')
  if (!policies.includes('delete')) return `keeps the last record of each key ${tiers}`
  const compacted = policies.includes('compact') ? ', of each key only the last record' : ''
  const time = retentionMs === NO_LIMIT ? null : showDuration(retentionMs)
  const size = retentionBytes === NO_LIMIT ? null : `${showSize(retentionBytes)} of each partition`
  if (time === null && size === null)
    return `keeps ${compacted === '' ? 'all records' : 'the last record of each key'} ${tiers}`
  if (time !== null && size !== null) return `keeps ${time} ${tiers}, and ${size} at most${compacted}`
  return `keeps ${time ?? size} ${tiers}${compacted}`
}

/** Returns the tiers of a topic that has both. Without a local limit, the local tier has all that the other one has. */
function tiersOf({ configs = {} }: Retained): string {
  const limitOf = (name: string, show: (value: string) => string) => {
    const value = configs[name] ?? AS_TOTAL
    return value.startsWith('-') ? [] : [show(value)]
  }
  const local = [
    ...limitOf('local.retention.ms', showDuration),
    ...limitOf('local.retention.bytes', value => `${showSize(value)} of each partition`),
  ]
  return local.length === 0
    ? 'in the local tier and in Iceberg'
    : `in Iceberg, ${local.join(' or ')} of it also in the local tier`
}
