// The partitions of a topic: who leads them, where they begin and end, and what is wrong with them.

import type { SearchOf } from '../../../src/api/pages.ts'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { UNKNOWN } from '../../text/format.ts'

type Partition = TopicDescription['leaders'][number]
type Sort = SearchOf<'topic'>['sort']

const SILENT = 'The leader of the partition does not answer.'
const SKIPPED = 'Offsets from start to end. Some of them may have been skipped.'

function recordsOf({ start, end }: Partition): number | null {
  return start === null || end === null ? null : end - start
}

const RANKS: Readonly<Record<Sort, (row: Partition) => number>> = {
  partition: ({ partition }) => partition,
  leader: ({ leader }) => leader ?? -1,
  records: row => recordsOf(row) ?? -1,
  sizeBytes: ({ sizeBytes }) => sizeBytes ?? -1,
}

export function TopicPartitions({ topic: { name, leaders } }: { readonly topic: TopicDescription }) {
  const { search, set } = useHere('topic')
  const { sort, order } = search
  const rank = RANKS[sort]
  const sign = order === 'asc' ? 1 : -1
  const rows = leaders.toSorted((a, b) => sign * (rank(a) - rank(b)) || a.partition - b.partition)
  const troubled = leaders.filter(({ error }) => error !== null)
  return (
    <>
      <div role="status">
        {troubled.length > 0 && (
          <ul className="mb-3 rounded-card bg-danger-soft p-3 text-danger">
            {troubled.map(({ partition, error }) => (
              <li key={partition}>
                Partition {partition}: {error!.detail}
              </li>
            ))}
          </ul>
        )}
      </div>
      <DataTable
        name={`Partitions of ${name}`}
        rows={rows}
        keyOf={({ partition }) => String(partition)}
        columns={columnsOf(name)}
        sorting={{ sort, order, onSort: (by, to) => set({ sort: by as Sort, order: to }, { isStep: true }) }}
      />
    </>
  )
}

function columnsOf(topic: string): readonly Column<Partition>[] {
  return [
    {
      id: 'partition',
      head: 'Partition',
      sort: 'partition' satisfies Sort,
      isFixed: true,
      cell: ({ partition, error }) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          <PageLink
            page="messages"
            params={{ topic }}
            search={{ partition }}
            title={`Messages of partition ${partition}`}
          >
            {partition}
          </PageLink>
          {error !== null && (
            <Badge tone="danger" title={error.detail}>
              {error.code}
            </Badge>
          )}
        </span>
      ),
    },
    {
      id: 'leader',
      head: 'Leader',
      sort: 'leader' satisfies Sort,
      isNumber: true,
      isOnPhone: false,
      cell: ({ leader }) =>
        leader === null ? (
          <Badge tone="danger">none</Badge>
        ) : (
          <PageLink page="broker" params={{ broker: String(leader) }}>
            {leader}
          </PageLink>
        ),
    },
    {
      id: 'epoch',
      head: 'Epoch',
      isNumber: true,
      isOnPhone: false,
      cell: ({ leaderEpoch }) => <Count of={leaderEpoch} why={SILENT} />,
    },
    { id: 'replicas', head: 'Replicas', isNumber: true, isOnPhone: false, cell: row => <Replicas of={row} /> },
    {
      id: 'start',
      head: 'Start',
      isNumber: true,
      isOnPhone: false,
      cell: ({ start }) => <Count of={start} why={SILENT} />,
    },
    { id: 'end', head: 'End', isNumber: true, isOnPhone: false, cell: ({ end }) => <Count of={end} why={SILENT} /> },
    {
      id: 'records',
      head: 'Records',
      sort: 'records' satisfies Sort,
      isNumber: true,
      cell: row => (
        <span title={SKIPPED}>
          <Count of={recordsOf(row)} why={SILENT} />
        </span>
      ),
    },
    {
      id: 'size',
      head: 'Local size',
      sort: 'sizeBytes' satisfies Sort,
      isNumber: true,
      cell: ({ partition, sizeBytes }) => (
        <PageLink
          page="storage"
          search={{ tab: 'segments', topic, partition }}
          title={`Segments of partition ${partition}`}
        >
          <Bytes of={sizeBytes} why={SILENT} />
        </PageLink>
      ),
    },
  ]
}

/** The brokers that clients see as replicas; one that is not alive is struck out. */
function Replicas({ of: { replicas, inSync } }: { readonly of: Partition }) {
  if (replicas.length === 0) return UNKNOWN
  return (
    <span className="inline-flex gap-2 tabular-nums">
      {replicas.map(id =>
        inSync.includes(id) ? (
          <span key={id}>{id}</span>
        ) : (
          <span key={id} className="text-danger" title={`Broker ${id} is not alive.`}>
            {id} (away)
          </span>
        ),
      )}
    </span>
  )
}
