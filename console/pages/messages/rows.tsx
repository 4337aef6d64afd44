// The table of records, of a page and of a live tail. A phone shows two lines for each record.

import { memo, useMemo } from 'react'
import type { ShownRecord, ShownValue } from '../../../src/api/messages.ts'
import { Bytes } from '../../parts/amount.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { DecodeBadge, PayloadPreview } from '../../parts/payload.tsx'
import { Time, useZone } from '../../parts/time.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count } from '../../text/format.ts'
import { zoneLabel } from '../../text/zone.ts'
import { type MessageSearch, placeText } from './selection.ts'

interface RowsProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly records: readonly ShownRecord[]
  readonly isCompacted: boolean
  readonly isOld?: boolean
  readonly onOpen: (record: ShownRecord) => void
}

export function Rows({ topic, search, records, isCompacted, isOld = false, onOpen }: RowsProps) {
  const zone = useZone()
  const columns = useMemo<readonly Column<ShownRecord>[]>(() => {
    const link = (record: ShownRecord, text: string) => (
      <PageLink page="messages" params={{ topic }} search={{ ...search, at: placeText(record) }}>
        {text}
      </PageLink>
    )
    return [
      {
        id: 'partition',
        head: 'Partition',
        isFixed: true,
        cell: record => (
          <>
            <span className="max-sm:hidden">{record.partition}</span>
            <span className="block py-1 sm:hidden">
              <span className="flex flex-wrap items-center gap-x-2 text-dense text-muted">
                {link(record, `p${record.partition} · ${record.offset}`)}
                <Time ms={record.timestamp} isShort />
              </span>
              <ValueCell value={record.value} isCompacted={isCompacted} />
            </span>
          </>
        ),
      },
      {
        id: 'offset',
        head: 'Offset',
        isNumber: true,
        isFixed: true,
        isOnPhone: false,
        cell: record => link(record, String(record.offset)),
      },
      {
        id: 'time',
        head: 'Time',
        unit: zoneLabel(zone, Date.now()),
        isOnPhone: false,
        cell: ({ timestamp }) => <MemoTime ms={timestamp} />,
      },
      { id: 'key', head: 'Key', isOnPhone: false, cell: ({ key }) => <KeyCell value={key} /> },
      {
        id: 'value',
        head: 'Value',
        isOnPhone: false,
        cell: ({ value }) => <ValueCell value={value} isCompacted={isCompacted} />,
      },
      {
        id: 'headers',
        head: 'Headers',
        isNumber: true,
        isOnPhone: false,
        cell: ({ headerCount }) => count(headerCount),
      },
      {
        id: 'size',
        head: 'Size',
        isNumber: true,
        isOnPhone: false,
        cell: ({ key, value }) => <Bytes of={(key?.bytes ?? 0) + (value?.bytes ?? 0)} />,
      },
    ]
  }, [topic, search, zone, isCompacted])
  return (
    <DataTable
      name="Records"
      rows={records}
      keyOf={placeText}
      columns={columns}
      onOpen={onOpen}
      openKey={search.at}
      canHide
      isOld={isOld}
    />
  )
}

// A live tail shows hundreds of rows four times a second: a cell is made once for its record.
const MemoTime = memo(Time)

const KeyCell = memo(function KeyCell({ value }: { readonly value: ShownValue | null }) {
  return (
    <span className="flex min-w-24 items-center gap-2">
      <span className="line-clamp-1 max-w-48 break-all">
        <PayloadPreview value={value} />
      </span>
      {value !== null && <DecodeBadge {...value} />}
    </span>
  )
})

interface ValueCellProps {
  readonly value: ShownValue | null
  readonly isCompacted: boolean
}

const ValueCell = memo(function ValueCell({ value, isCompacted }: ValueCellProps) {
  return (
    <span className="flex items-center justify-between gap-2">
      <span className="line-clamp-1 break-all">
        <PayloadPreview value={value} isCompacted={isCompacted} />
      </span>
      {value !== null && <DecodeBadge {...value} />}
    </span>
  )
})
