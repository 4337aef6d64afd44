// The Iceberg tables, one for each topic.

import type { RemoteTable } from '../../../src/api/storage.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { UNKNOWN } from '../../text/format.ts'

const UNREAD = 'The table could not be read.'

interface RemoteTablesProps {
  readonly tables: readonly RemoteTable[]
  /** The filter. */
  readonly q: string
  readonly isOld: boolean
  readonly order: 'asc' | 'desc'
  readonly onOrder: (order: 'asc' | 'desc') => void
}

export function RemoteTables({ tables, q, isOld, order, onOrder }: RemoteTablesProps) {
  return (
    <DataTable
      name="Tables of the remote tier"
      rows={tables}
      keyOf={({ topicId }) => topicId}
      columns={COLUMNS}
      canHide
      isOld={isOld}
      sorting={{ sort: 'topic', order, onSort: (_, to) => onOrder(to) }}
      empty={
        q === '' ? (
          <Empty title="No topic has a table yet.">
            A topic with <code className="font-mono">remote.storage.enable=true</code> gets its table when its first
            sealed segment is offloaded.
          </Empty>
        ) : (
          <Empty title={`No topic with a table contains “${q}”.`} />
        )
      }
    />
  )
}

const COLUMNS: readonly Column<RemoteTable>[] = [
  {
    id: 'topic',
    head: 'Topic',
    sort: 'topic',
    isFixed: true,
    cell: ({ topic, trouble }) => (
      <>
        <PageLink page="topic" params={{ topic }} title={topic}>
          <span className="line-clamp-3">{topic}</span>
        </PageLink>
        {trouble !== null && (
          <span className="block text-dense text-danger">
            <VisibleText text={trouble} />
          </span>
        )}
      </>
    ),
  },
  { id: 'rows', head: 'Rows', isNumber: true, cell: row => <Count of={row.rows} why={UNREAD} /> },
  { id: 'bytes', head: 'Size', isNumber: true, cell: row => <Bytes of={row.bytes} why={UNREAD} /> },
  { id: 'files', head: 'Files', isNumber: true, isOnPhone: false, cell: row => <Count of={row.files} why={UNREAD} /> },
  {
    id: 'snapshots',
    head: 'Snapshots',
    isNumber: true,
    isOnPhone: false,
    cell: row => <Count of={row.snapshots} why={UNREAD} />,
  },
  {
    id: 'version',
    head: 'Version',
    isNumber: true,
    isOnPhone: false,
    cell: row => <Count of={row.version} why={UNREAD} />,
  },
  {
    id: 'location',
    head: 'Location',
    isOnPhone: false,
    cell: ({ topic, location }) =>
      location === null ? (
        <span title={UNREAD}>{UNKNOWN}</span>
      ) : (
        <span className="flex items-center gap-1">
          <code className="min-w-48 font-mono text-dense break-all">{location}</code>
          <CopyButton value={location} of={`location of the table of ${topic}`} />
        </span>
      ),
  },
]
