// How long a topic keeps its records, in words.

import type { TopicSummary } from '../../../src/api/topics.ts'
import { showDuration, showSize } from '../../text/units.ts'

type Retained = Pick<TopicSummary, 'cleanupPolicy' | 'retentionMs' | 'retentionBytes'>

const NO_LIMIT = '-1'

/** Returns `keeps 7 d in the local tier`. `isTiered` is true if sealed segments also go to Iceberg. */
export function retentionOf({ cleanupPolicy, retentionMs, retentionBytes }: Retained, isTiered: boolean): string {
  const tiers = isTiered ? 'in the local tier and in Iceberg' : 'in the local tier'
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
