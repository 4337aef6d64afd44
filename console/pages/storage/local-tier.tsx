// The local tier: the store as a whole, and the stream of each partition.

import { useState } from 'react'
import type { StoreState, StreamUsage } from '../../../src/api/storage.ts'
import { useRead } from '../../api/queries.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Command } from '../../parts/copy.tsx'
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Section } from '../../parts/page.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { bytes, duration, percent } from '../../text/format.ts'

const LIMIT = 100
const SILENT = 'The leader of the partition does not answer.'

export function LocalTier() {
  const { search, set } = useHere('storage')
  const offset = search.offset ?? 0
  const query = { q: search.q, sort: search.sort, order: search.order, offset, limit: LIMIT }
  const read = useRead('show storage', { query })
  const [hasMemory, setHasMemory] = useState(false)
  const usesMemory = read.data?.streams.some(({ memoryBytes }) => memoryBytes !== null) ?? hasMemory
  if (usesMemory !== hasMemory) setHasMemory(usesMemory)

  const columns: readonly Column<StreamUsage>[] = [
    {
      id: 'topic',
      head: 'Topic and partition',
      sort: 'topic',
      isFixed: true,
      cell: ({ topic, partition }) => (
        <>
          <PageLink page="topic" params={{ topic }} search={{ tab: 'partitions' }}>
            {topic}
          </PageLink>
          <span className="ml-2 text-muted">{partition}</span>
        </>
      ),
    },
    {
      id: 'size',
      head: 'Size',
      sort: 'sizeBytes',
      isNumber: true,
      cell: ({ topic, partition, sizeBytes }) => (
        <PageLink
          page="storage"
          search={{ tab: 'segments', topic, partition }}
          title={`Segments of ${topic} ${partition}`}
        >
          <Bytes of={sizeBytes} why={SILENT} />
        </PageLink>
      ),
    },
    {
      id: 'entries',
      head: 'Batches',
      isNumber: true,
      isOnPhone: false,
      cell: row => <Count of={row.entries} why="The store does not count them." />,
    },
    {
      id: 'first',
      head: 'First offset',
      isNumber: true,
      isOnPhone: false,
      cell: row => <Count of={row.startOffset} why={SILENT} />,
    },
    { id: 'end', head: 'End offset', isNumber: true, cell: row => <Count of={row.endOffset} why={SILENT} /> },
    ...(usesMemory
      ? [
          {
            id: 'memory',
            head: 'Memory',
            isNumber: true,
            isOnPhone: false,
            cell: (row: StreamUsage) => <Bytes of={row.memoryBytes} />,
          },
        ]
      : []),
    {
      id: 'leader',
      head: 'Leader',
      isNumber: true,
      isOnPhone: false,
      cell: row => (row.leaderId < 0 ? 'none' : row.leaderId),
    },
  ]
  return (
    <Loaded read={read} of="The storage" rows={10}>
      {({ store, streams, total }) => (
        <>
          <StoreStats store={store} />
          <Section
            title={total === 1 ? '1 stream' : `${total.toLocaleString('en')} streams`}
            actions={<FilterField label="Filter by topic" value={search.q} onChange={q => set({ q, offset: null })} />}
          >
            <DataTable
              name="Streams"
              rows={streams}
              keyOf={({ topic, partition }) => `${topic} ${partition}`}
              columns={columns}
              sorting={{
                sort: search.sort,
                order: search.order,
                onSort: (sort, order) => set({ sort: sort === 'topic' ? 'topic' : 'sizeBytes', order, offset: null }),
              }}
              isOld={read.isOld}
              empty={
                search.q === '' ? (
                  <Empty title="The store holds no records yet.">
                    A partition gets its stream with its first record.
                  </Empty>
                ) : (
                  <Empty title={`No topic contains “${search.q}”.`} />
                )
              }
            />
            <Pager
              total={total}
              offset={offset}
              limit={LIMIT}
              of="streams"
              onPage={to => set({ offset: to }, { isStep: true })}
            />
          </Section>
        </>
      )}
    </Loaded>
  )
}

const BREAKERS: Readonly<Record<StoreState['breaker'], readonly [tone: Tone, meaning: string]>> = {
  disabled: ['neutral', 'No breaker watches the store.'],
  closed: ['ok', 'Appends reach the store.'],
  open: ['danger', 'The store failed too often: appends are refused for a while.'],
  'half-open': ['warn', 'A few appends try whether the store is back.'],
}

function StoreStats({ store }: { readonly store: StoreState }) {
  const { place, totalBytes, usableBytes, breaker, pool, trouble } = store
  const [tone, meaning] = BREAKERS[breaker]
  return (
    <>
      {trouble !== null && (
        <p role="alert" className="my-3 rounded-control bg-danger-soft p-3 text-danger">
          The store does not answer: {trouble}
        </p>
      )}
      {place !== null && <Command text={place} label="Where it is" />}
      <Stats>
        <Stat
          label="Free room"
          value={bytes(usableBytes)}
          note={
            totalBytes === null
              ? 'The place has no fixed size.'
              : `of ${bytes(totalBytes)}, ${percent((usableBytes ?? 0) / totalBytes)} free`
          }
        />
        <Stat label="Circuit breaker" value={<Badge tone={tone}>{breaker}</Badge>} note={meaning} />
        {pool !== null && (
          <>
            <Stat
              label="Appends that wait"
              value={<Count of={pool.pending} />}
              note={`${pool.size} may run at one time`}
            />
            <Stat
              label="Wait for a connection, p99"
              value={duration(pool.waitMs.p99)}
              note={`p50 ${duration(pool.waitMs.p50)}, p95 ${duration(pool.waitMs.p95)}`}
            />
            <Stat label="Waits that timed out" value={<Count of={pool.timeouts} />} note="since the broker started" />
            <Stat label="Waits that failed" value={<Count of={pool.errors} />} note="since the broker started" />
          </>
        )}
      </Stats>
    </>
  )
}
