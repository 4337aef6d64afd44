// The segments of one partition, the oldest first, and how far the partition is cleaned.

import type { Answer } from '../../api/contract.ts'
import { useRead } from '../../api/queries.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { count, UNKNOWN } from '../../text/format.ts'
import { Warning } from './warning.tsx'

type Shown = Answer<'list segments of partition'>
type Segment = Shown['segments'][number]

const LIMIT = 100
const UNCOUNTED = 'Not counted: its leader is new, an older version wrote a part of it, or a batch is damaged.'
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
            columns={COLUMNS}
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
  const { leaderId, startOffset, endOffset, cleanedTo, total } = shown
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

function stateOf({ isActive, cleanedAt }: Segment): readonly [state: string, tone: Tone] {
  if (isActive) return ['active', 'info']
  return cleanedAt === null ? ['sealed', 'neutral'] : ['cleaned', 'ok']
}

/** Two times, one above the other. A record may have no timestamp (-1). */
function Span({ from, to }: { readonly from: number | null; readonly to: number | null }) {
  const part = (ms: number | null) => (ms === null ? UNKNOWN : ms < 0 ? 'no time' : <Time ms={ms} />)
  return (
    <>
      <span className="block">{part(from)}</span>
      {to !== from && <span className="block">{part(to)}</span>}
    </>
  )
}

const msOf = (time: string | null) => (time === null ? null : Date.parse(time))

const COLUMNS: readonly Column<Segment>[] = [
  {
    id: 'offsets',
    head: 'Offsets',
    isFixed: true,
    cell: ({ base, next }) => (
      <span className="whitespace-nowrap" title={`Offsets ${base} up to but not with ${next}`}>
        {next === base ? `from ${count(base)}, empty` : `${count(base)} – ${count(next - 1)}`}
      </span>
    ),
  },
  {
    id: 'state',
    head: 'State',
    cell: segment => {
      const [state, tone] = stateOf(segment)
      return <Badge tone={tone}>{state}</Badge>
    },
  },
  { id: 'records', head: 'Records', isNumber: true, cell: ({ records }) => <Count of={records} why={UNCOUNTED} /> },
  {
    id: 'batches',
    head: 'Batches',
    isNumber: true,
    isOnPhone: false,
    cell: ({ batches }) => <Count of={batches} why={UNCOUNTED} />,
  },
  { id: 'bytes', head: 'At rest', isNumber: true, cell: ({ bytes }) => <Bytes of={bytes} why={UNCOUNTED} /> },
  {
    id: 'plain',
    head: 'For clients',
    isNumber: true,
    isOnPhone: false,
    cell: ({ plainBytes }) => <Bytes of={plainBytes} why={UNCOUNTED} />,
  },
  {
    id: 'times',
    head: 'Times of records',
    isOnPhone: false,
    cell: ({ minTimestamp, maxTimestamp }) => <Span from={minTimestamp} to={maxTimestamp} />,
  },
  {
    id: 'appended',
    head: 'Appended, first to last',
    isOnPhone: false,
    cell: ({ firstAppendAt, lastAppendAt }) => <Span from={msOf(firstAppendAt)} to={msOf(lastAppendAt)} />,
  },
  {
    id: 'sealed',
    head: 'Sealed, then cleaned',
    isOnPhone: false,
    cell: ({ isActive, sealedAt, cleanedAt }) =>
      isActive ? 'not yet' : <Span from={msOf(sealedAt)} to={msOf(cleanedAt ?? sealedAt)} />,
  },
]
