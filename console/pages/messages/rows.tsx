// The table of records, of a page and of a live tail. A narrow screen shows two lines for each record.

import { memo, type ReactNode, useMemo, useRef, useSyncExternalStore } from 'react'
import type { ShownRecord, ShownValue } from '../../../src/api/messages.ts'
import { Bytes } from '../../parts/amount.tsx'
import { type Column, ColumnChoice, DataTable } from '../../parts/data-table.tsx'
import { DecodeBadge, PayloadPreview } from '../../parts/payload-preview.tsx'
import { Time, useZone } from '../../parts/time.tsx'
import { hrefOf, isPlainPress } from '../../shell/address.tsx'
import { nowMs } from '../../shell/clock.ts'
import { count } from '../../text/format.ts'
import { zoneLabel } from '../../text/zone.ts'
import { type MessageSearch, placeText } from './selection.ts'

const NAME = 'Records'

export type RecordColumns = readonly Column<ShownRecord>[]

/** Returns the columns of the records of a topic; where these have no room one, with two lines for each record. */
export function useRecordColumns(
  topic: string,
  search: MessageSearch,
  isCompacted: boolean,
  isCompact: boolean,
  onOpen: (record: ShownRecord) => void,
): RecordColumns {
  const zone = useZone()
  const isNarrow = useIsNarrow() || isCompact
  // A live tail shows thousands of rows a second, so a link of a row is no more than its text and its address.
  const address = hrefOf({ page: 'messages', params: { topic }, search: { ...search, at: '' } })
  const open = useRef(onOpen)
  open.current = onOpen
  return useMemo<RecordColumns>(() => {
    const before = `${address}${address.includes('?') ? '&' : '?'}at=`
    const link = (record: ShownRecord, text: string) => (
      <a
        href={before + placeText(record)}
        onClick={event => {
          if (!isPlainPress(event)) return
          event.preventDefault()
          open.current(record)
        }}
        className="text-accent underline-offset-2 hover:underline"
      >
        {text}
      </a>
    )
    return isNarrow ? narrowColumns(link, isCompacted) : wideColumns(link, isCompacted, zone)
  }, [address, zone, isNarrow, isCompacted])
}

type LinkTo = (record: ShownRecord, text: string) => ReactNode

function narrowColumns(link: LinkTo, isCompacted: boolean): RecordColumns {
  return [
    {
      id: 'record',
      head: 'Record',
      isFixed: true,
      cell: record => (
        <span className="block py-1">
          <span className="flex flex-wrap items-center gap-x-2 text-dense text-muted">
            {link(record, `p${record.partition} · ${record.offset}`)}
            <MemoTime ms={record.timestamp} isShort />
          </span>
          <ValueCell value={record.value} isCompacted={isCompacted} />
        </span>
      ),
    },
  ]
}

function wideColumns(link: LinkTo, isCompacted: boolean, zone: string): RecordColumns {
  return [
    { id: 'partition', head: 'Partition', isFixed: true, cell: ({ partition }) => partition },
    {
      id: 'offset',
      head: 'Offset',
      isNumber: true,
      isFixed: true,
      cell: record => link(record, String(record.offset)),
    },
    {
      id: 'time',
      head: 'Time',
      unit: zoneLabel(zone, nowMs()),
      cell: ({ timestamp }) => <MemoTime ms={timestamp} />,
    },
    { id: 'key', head: 'Key', cell: ({ key }) => <KeyCell value={key} /> },
    { id: 'value', head: 'Value', cell: ({ value }) => <ValueCell value={value} isCompacted={isCompacted} /> },
    { id: 'headers', head: 'Headers', isNumber: true, cell: ({ headerCount }) => count(headerCount) },
    {
      id: 'size',
      head: 'Size',
      isNumber: true,
      cell: ({ key, value }) => <Bytes of={(key?.bytes ?? 0) + (value?.bytes ?? 0)} />,
    },
  ]
}

/** The breakpoint below which an open record takes the whole page: all columns need more room. */
const NARROW = matchMedia('(width < 64rem)')

function useIsNarrow(): boolean {
  return useSyncExternalStore(
    listener => {
      NARROW.addEventListener('change', listener)
      return () => NARROW.removeEventListener('change', listener)
    },
    () => NARROW.matches,
  )
}

/** The choice of the shown columns, for the line above the table; nothing where two lines hold all. */
export function RecordColumnChoice({ columns }: { readonly columns: RecordColumns }) {
  return columns.length === 1 ? null : <ColumnChoice name={NAME} columns={columns} />
}

interface RowsProps {
  readonly columns: RecordColumns
  readonly records: readonly ShownRecord[]
  /** The place of the open record. */
  readonly at: string
  readonly isOld?: boolean
  readonly onOpen: (record: ShownRecord) => void
}

export function Rows({ columns, records, at, isOld = false, onOpen }: RowsProps) {
  return (
    <DataTable
      name={NAME}
      rows={records}
      keyOf={placeText}
      columns={columns}
      onOpen={onOpen}
      openKey={at}
      isOld={isOld}
    />
  )
}

// A live tail shows hundreds of rows four times a second: a cell is made once for its record.
const MemoTime = memo(Time)

const KeyCell = memo(function KeyCell({ value }: { readonly value: ShownValue | null }) {
  return (
    <span className="flex items-center gap-2">
      <span className="max-w-32 shrink-0 truncate">
        <PayloadPreview value={value} />
      </span>
      {value !== null && <DecodeBadge {...value} isBrief />}
    </span>
  )
})

interface ValueCellProps {
  readonly value: ShownValue | null
  readonly isCompacted: boolean
}

const ValueCell = memo(function ValueCell({ value, isCompacted }: ValueCellProps) {
  return (
    <span className="flex min-w-40 items-center justify-between gap-2">
      <span className="line-clamp-1 break-all">
        <PayloadPreview value={value} isCompacted={isCompacted} />
      </span>
      {value !== null && <DecodeBadge {...value} isBrief />}
    </span>
  )
})
