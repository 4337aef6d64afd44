// The segments of one partition, the oldest first, with their tiers, and how far the partition is cleaned.

import type { Answer } from '../../api/contract.ts'
import { useRead } from '../../api/queries.ts'
import { Count } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { DataTable, Pager } from '../../parts/data-table.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { count, counted } from '../../text/format.ts'
import { type Segment, segmentColumns } from './segment-columns.tsx'
import { SegmentDialog } from './segment-dialog.tsx'
import { Warning } from './warning.tsx'

type Shown = Answer<'list segments of partition'>

const LIMIT = 100
const AWAY = 'The leader of the partition does not answer.'

interface PartitionSegmentsProps {
  readonly topic: string
  readonly partition: number
  readonly isCompacted: boolean
}

export function PartitionSegments({ topic, partition, isCompacted }: PartitionSegmentsProps) {
  const { search, set } = useHere('storage')
  const offset = search.offset ?? 0
  const read = useRead('list segments of partition', { params: { topic, partition }, query: { offset, limit: LIMIT } })
  const isTiered = (read.data?.remote ?? null) !== null
  const open = (segment: Segment) => set({ segment: segment.base }, { isStep: true })
  return (
    <Loaded read={read} of="The segments" rows={8}>
      {shown => (
        <>
          <Troubles shown={shown} />
          <Facts shown={shown} isCompacted={isCompacted} />
          <DataTable
            name={`Segments of ${topic} ${partition}`}
            rows={shown.segments}
            keyOf={({ base }) => String(base)}
            columns={segmentColumns(isTiered, open)}
            canHide
            isOld={read.isOld}
            empty={<Empty title={shown.total > 0 ? 'There are no more segments.' : 'No segment is known.'} />}
          />
          <Pager
            total={shown.total}
            offset={offset}
            limit={LIMIT}
            of="segments"
            onPage={to => set({ offset: to }, { isStep: true })}
          />
          {search.segment !== null && (
            <SegmentDialog
              topic={topic}
              partition={partition}
              base={search.segment}
              onClose={() => set({ segment: null })}
            />
          )}
        </>
      )}
    </Loaded>
  )
}

function Troubles({ shown: { topic, partition, trouble, uncleanable } }: { readonly shown: Shown }) {
  return (
    <div role="status">
      {trouble !== null && (
        <Warning>
          <VisibleText text={trouble} />
        </Warning>
      )}
      {uncleanable !== null && (
        <p className="mb-3 rounded-card bg-danger-soft p-3 text-danger">
          <VisibleText text={uncleanable.why} /> Reading and retention go on.{' '}
          <PageLink
            page="messages"
            params={{ topic }}
            search={{ partition, from: 'offset', offset: uncleanable.offset }}
          >
            Records from offset {count(uncleanable.offset)}
          </PageLink>
        </p>
      )}
    </div>
  )
}

function Facts({ shown, isCompacted }: { readonly shown: Shown; readonly isCompacted: boolean }) {
  const { leaderId, startOffset, localStartOffset, endOffset, cleanedTo, total, remote } = shown
  const isCleaned = cleanedTo !== null && startOffset !== null && cleanedTo > startOffset
  return (
    <Stats>
      <Stat
        label="Leader"
        value={
          leaderId === null ? (
            <Badge tone="danger">none</Badge>
          ) : (
            <PageLink page="broker" params={{ broker: String(leaderId) }}>
              broker {leaderId}
            </PageLink>
          )
        }
      />
      <Stat label="Segments" value={<Count of={total} />} />
      <Stat label="First offset" value={<Count of={startOffset} why={AWAY} />} />
      {remote !== null && (
        <>
          <Stat label="Local tier from" value={<Count of={localStartOffset} why={AWAY} />} />
          <Stat label="In the table" value={<Count of={sumOf(remote.ranges)} />} note={rangesNote(remote)} />
        </>
      )}
      <Stat label="End offset" value={<Count of={endOffset} why={AWAY} />} />
      {(isCompacted || isCleaned) && (
        <Stat
          label="Cleaned up to"
          value={<Count of={cleanedTo} why={AWAY} />}
          note={
            cleanedTo !== null && !isCleaned ? 'nothing is cleaned yet' : 'the offset of the first uncleaned record'
          }
        />
      )}
    </Stats>
  )
}

type Remote = NonNullable<Shown['remote']>

/** Returns the number of offsets. */
const sumOf = (ranges: Remote['ranges']) => ranges.reduce((sum, { base, next }) => sum + next - base, 0)

const MOST_RANGES = 3

/** Returns `offsets 0 – 999, 2,000 – 2,999; version 7`. A segment that was not offloaded is a gap. */
function rangesNote({ ranges, version }: Remote): string {
  if (version === 0) return 'no table yet'
  const shown = ranges.slice(0, MOST_RANGES).map(({ base, next }) => `${count(base)} – ${count(next - 1)}`)
  const more = ranges.length - shown.length
  const all = [...shown, ...(more > 0 ? [counted(more, 'further range')] : [])]
  return all.length === 0 ? `version ${count(version)}` : `offsets ${all.join(', ')}; version ${count(version)}`
}
