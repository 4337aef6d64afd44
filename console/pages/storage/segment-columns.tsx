// The columns of the segments of a partition.

import type { Answer } from '../../api/contract.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/time.tsx'
import { count, UNKNOWN } from '../../text/format.ts'

export type Segment = Answer<'list segments of partition'>['segments'][number]

const UNCOUNTED =
  'Not counted: its leader is new, an older version wrote a part of it, a batch is damaged, or only the remote tier has it.'

type Meaning = readonly [word: string, tone: Tone, meaning: string]

const TIERS: Readonly<Record<Segment['tier'], Meaning>> = {
  local: ['local', 'neutral', 'The remote tier does not have all of its offsets.'],
  both: ['both', 'ok', 'The remote tier has it, and the local one still does.'],
  remote: ['remote', 'info', 'The local tier has dropped it: readers get it from the table of the topic.'],
}

export function TierBadge({ tier }: { readonly tier: Segment['tier'] }) {
  const [word, tone, meaning] = TIERS[tier] ?? [tier, 'neutral', '']
  return (
    <Badge tone={tone} title={meaning}>
      {word}
    </Badge>
  )
}

/** Returns the state of a segment; null for a range that only the table has. */
export function stateOf({ isActive, sealedAt, cleanedAt }: Segment): readonly [state: string, tone: Tone] | null {
  if (isActive) return ['active', 'info']
  if (sealedAt === null) return null
  return cleanedAt === null ? ['sealed', 'neutral'] : ['cleaned', 'ok']
}

/** Two times, one above the other. A record may have no timestamp (-1). */
export function Span({ from, to }: { readonly from: number | null; readonly to: number | null }) {
  const part = (ms: number | null) => (ms === null ? UNKNOWN : ms < 0 ? 'no time' : <Time ms={ms} />)
  return (
    <>
      <span className="block">{part(from)}</span>
      {to !== from && <span className="block">{part(to)}</span>}
    </>
  )
}

export const msOf = (time: string | null) => (time === null ? null : Date.parse(time))

/** Returns `0 – 999`. */
export function offsetsOf({ base, next }: Pick<Segment, 'base' | 'next'>): string {
  return next === base ? `from ${count(base)}, empty` : `${count(base)} – ${count(next - 1)}`
}

/** Returns the columns; `onOpen` opens a segment. A partition without a remote part has no tiers. */
export function segmentColumns(isTiered: boolean, onOpen: (segment: Segment) => void): readonly Column<Segment>[] {
  return [
    {
      id: 'offsets',
      head: 'Offsets',
      isFixed: true,
      cell: segment => (
        <button
          type="button"
          aria-haspopup="dialog"
          className="min-h-6 whitespace-nowrap text-accent underline-offset-2 hover:underline"
          title={`Offsets ${segment.base} up to but not with ${segment.next}`}
          onClick={() => onOpen(segment)}
        >
          {offsetsOf(segment)}
        </button>
      ),
    },
    ...(isTiered ? [{ id: 'tier', head: 'Tier', cell: ({ tier }: Segment) => <TierBadge tier={tier} /> }] : []),
    {
      id: 'state',
      head: 'State',
      isOnPhone: !isTiered,
      cell: segment => {
        const [state, tone] = stateOf(segment) ?? [UNKNOWN, null]
        return tone === null ? state : <Badge tone={tone}>{state}</Badge>
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
}
