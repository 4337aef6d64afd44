// The numbers of the remote tier: the breaker and the probe of this broker, the backlog and the speed of the worker,
// and the reads of this broker.

import type { RemoteStorage, StorageStats } from '../../../src/api/storage.ts'
import { useRead } from '../../api/queries.ts'
import { Bytes, Count, Rate } from '../../parts/amount.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { bytes, count } from '../../text/format.ts'
import { backlogNote, NOT_REPORTED } from './job-words.ts'

const PROBES: Readonly<Record<RemoteStorage['createOnly'], readonly [tone: Tone, word: string, meaning: string]>> = {
  kept: ['ok', 'kept', 'The place creates an object only once.'],
  unknown: ['neutral', 'not asked', 'The worker asks before its first commit.'],
  broken: ['danger', 'broken', 'No commit is made.'],
}

export function RemoteFacts({ remote }: { readonly remote: RemoteStorage }) {
  const stats = useRead('read storage stats', {})
  return (
    <Loaded read={stats} of="The backlog" rows={6}>
      {answer => <Numbers remote={remote} stats={answer} />}
    </Loaded>
  )
}

function Numbers({ remote, stats }: { readonly remote: RemoteStorage; readonly stats: StorageStats }) {
  const { breaker, breakerChangedAt, createOnly, reads } = remote
  const [tone, word, meaning] = PROBES[createOnly] ?? PROBES.unknown
  const isOpen = breaker === 'open'
  const isFull = reads.waiting >= reads.queueCapacity
  return (
    <Stats>
      <Stat
        label="Circuit breaker"
        value={<Badge tone={isOpen ? 'danger' : 'ok'}>{breaker}</Badge>}
        note={
          <>
            {isOpen ? 'A probe asks again in each round,' : 'The place answers,'} since{' '}
            <Time ms={Date.parse(breakerChangedAt)} />
          </>
        }
      />
      <Stat label="Create-only probe" value={<Badge tone={tone}>{word}</Badge>} note={meaning} />
      <Stat
        label="Segments that wait"
        value={<Count of={stats.backlogSegments} why={NOT_REPORTED} />}
        note={backlogNote(stats)}
      />
      <Stat
        label="Offloaded"
        value={<Rate of={stats.segmentsPerMin} />}
        unit="segments/min"
        note={`${bytes(stats.bytesPerMin)}/min`}
      />
      <Stat
        label="Reads that wait"
        value={<Count of={reads.waiting} />}
        note={
          <span className={isFull ? 'text-danger' : ''}>
            of {count(reads.queueCapacity)} at most, for {count(reads.threads)} threads
          </span>
        }
      />
      <Stat
        label="Cache of reads"
        value={<Bytes of={reads.cacheBytes} />}
        note={`of ${bytes(reads.cacheCapacityBytes)}`}
      />
    </Stats>
  )
}
