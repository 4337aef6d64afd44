// The compacted topics of the chaos runs, the settings of brokers that clean them all the time, and how far they are
// cleaned. The faults and the rounds are elsewhere.

import { adminClient } from '../../../testing/admin-client.ts'
import { type Compaction, keyedRecords } from '../../../testing/compaction.ts'
import { eventually } from '../../../testing/eventually.ts'
import type { Key } from '../../../testing/history.ts'
import type { Run } from '../run.ts'

export interface CompactedTopics {
  readonly partitions: number
  readonly configs: Readonly<Record<string, string>>
  readonly compaction: Compaction
}

const KEYS = 1_500
const PADDING_BYTES = 400
/** The end of each value. */
export const PADDING = 'x'.repeat(PADDING_BYTES)

const DAYS_MS = 7 * 24 * 60 * 60_000

export const COMPACTED: CompactedTopics = {
  partitions: 3,
  configs: {
    'cleanup.policy': 'compact',
    'segment.ms': '300',
    'min.cleanable.dirty.ratio': '0.01',
    // A dirty part that is too small for the ratio is cleaned as well, so that a round can wait for the end.
    'max.compaction.lag.ms': '1000',
    'delete.retention.ms': '2000',
    // The clocks of brokers jump by a day.
    'message.timestamp.after.max.ms': String(DAYS_MS),
  },
  // More keys than the smallest map takes, so that some passes are partial.
  compaction: keyedRecords(KEYS, PADDING),
}

/** Settings with which rounds of the storage worker follow each other quickly. */
export const CLEANING: Readonly<Record<string, string>> = {
  'svc.storage.worker.tick-interval': '150ms',
  'svc.storage.worker.lease-duration': '5s',
  // 921 keys.
  'svc.storage.worker.dedupe-buffer': '24KB',
  'svc.storage.local.embedded.journal-file-bytes': '1MB',
  'svc.admin.security-enabled': 'false',
  'svc.admin.anonymous-prometheus': 'true',
}

const CLEANED_MS = 180_000

interface Cleaned {
  readonly cleanedTo: number
  readonly endOffset: number
  readonly uncleanable: { readonly offset: number; readonly why: string } | null
}

/** Asks a broker how far a partition is cleaned. Resolves with null while the leader does not answer. */
export async function askCleaned(url: string, topic: string, partition: number): Promise<Cleaned | null> {
  const path = `/api/v1/topics/${topic}/partitions/${partition}/segments`
  const { status, body } = await adminClient(url).ask('GET', path)
  return status === 200 && body.cleanedTo !== null ? body : null
}

/** Resolves when every partition is cleaned to its end, except those that cannot be cleaned. */
export async function isCleaned(urlOf: () => string, topic: string, partitions: number): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    const look = async () => {
      const answer = await askCleaned(urlOf(), topic, partition)
      return answer !== null && (answer.uncleanable !== null || answer.cleanedTo >= answer.endOffset)
    }
    await eventually(`${topic}-${partition} is cleaned`, look, CLEANED_MS)
  }
}

/** Resolves with the first dirty offset of each partition. */
export async function cleanedTo(urlOf: () => string, run: Run): Promise<ReadonlyMap<Key, number>> {
  const found = new Map<Key, number>()
  for (let partition = 0; partition < run.partitions; partition++) {
    await eventually(`the leader of ${run.key(partition)} answers`, async () => {
      const answer = await askCleaned(urlOf(), run.topic, partition)
      if (answer !== null) found.set(run.key(partition), answer.cleanedTo)
      return answer !== null
    })
  }
  return found
}
