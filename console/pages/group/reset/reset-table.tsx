// The partitions of a reset: what is there now, what comes after, what has changed since the preview before, and in the
// end what the server says that it has.

import { useState } from 'react'
import { Count } from '../../../parts/amount.tsx'
import { Badge } from '../../../parts/badge.tsx'
import { type Column, DataTable, Pager } from '../../../parts/data-table.tsx'
import { count, UNKNOWN } from '../../../text/format.ts'
import { type Changes, effectOf, keyOf, lagOf, pendingOf, type Row } from './reset-effects.ts'

const LIMIT = 100

interface ResetTableProps {
  readonly rows: readonly Row[]
  /** How partitions differ from the preview before. */
  readonly marked?: Changes['marked']
  /** The committed offsets as read back after the reset, by partition; null before it. */
  readonly readBack?: ReadonlyMap<string, number | null> | null
}

export function ResetTable({ rows, marked = new Map(), readBack = null }: ResetTableProps) {
  const [offset, setOffset] = useState(0)
  const all: (Column<Row> & { readonly isPreviewed?: true })[] = [
    {
      id: 'topic',
      head: 'Topic',
      cell: row => (
        <div className="min-w-20 sm:min-w-28">
          {row.topic}
          <span className="text-muted sm:hidden"> · {row.partition}</span>
          {marked.has(keyOf(row)) && (
            <div data-changed>
              <Badge tone="warn">{marked.get(keyOf(row))}</Badge>
            </div>
          )}
        </div>
      ),
    },
    { id: 'partition', head: 'Partition', isNumber: true, isOnPhone: false, cell: ({ partition }) => partition },
    {
      id: 'committed',
      head: readBack === null ? 'Committed now' : 'Committed before',
      isNumber: true,
      cell: ({ committedOffset }) => <Count of={committedOffset} why="The group has committed no offset here." />,
    },
    {
      id: 'log',
      head: 'Log',
      unit: 'start – end',
      isNumber: true,
      isOnPhone: false,
      cell: ({ startOffset, endOffset }) => (
        <span title={startOffset === null ? 'The partition does not answer.' : undefined}>
          {startOffset === null || endOffset === null ? UNKNOWN : `${count(startOffset)} – ${count(endOffset)}`}
        </span>
      ),
    },
    {
      id: 'lag',
      isPreviewed: true,
      head: 'Lag',
      isNumber: true,
      isOnPhone: false,
      cell: row => <Count of={lagOf(row)} why="The position or the end of the partition is not known." />,
    },
    {
      id: 'pending',
      isPreviewed: true,
      head: 'Pending',
      unit: 'deliveries',
      isNumber: true,
      isOnPhone: false,
      cell: row => <Count of={pendingOf(row)} why="The broker does not know which records were delivered." />,
    },
    readBack === null
      ? {
          id: 'after',
          head: 'After',
          cell: row => (
            <span
              title={row.newOffset === null ? 'Consumers start where their own auto.offset.reset says.' : undefined}
            >
              <span className="font-medium tabular-nums">{row.newOffset === null ? 'none' : count(row.newOffset)}</span>
              <span className={`text-muted ${row.newOffset === null ? 'max-sm:hidden' : ''}`}>: {effectOf(row)}</span>
            </span>
          ),
        }
      : {
          id: 'read-back',
          head: 'Committed now',
          cell: row => {
            const found = readBack.get(keyOf(row)) ?? null
            return (
              <span className="inline-flex flex-wrap items-center gap-2">
                <span className="font-medium tabular-nums">{found === null ? 'none' : count(found)}</span>
                {found === row.newOffset ? (
                  <Badge tone="ok">as previewed</Badge>
                ) : (
                  <Badge tone="warn" title="The group has committed another offset since the reset.">
                    moved since
                  </Badge>
                )}
              </span>
            )
          },
        },
  ]
  // After the reset, the lag and the deliveries of the preview no longer hold.
  const columns = readBack === null ? all : all.filter(({ isPreviewed }) => isPreviewed !== true)
  return (
    <>
      <DataTable
        name={readBack === null ? 'Preview of the reset' : 'The offsets after the reset'}
        rows={rows.slice(offset, offset + LIMIT)}
        keyOf={keyOf}
        columns={columns}
      />
      <Pager total={rows.length} offset={offset} limit={LIMIT} of="partitions" onPage={setOffset} />
    </>
  )
}
