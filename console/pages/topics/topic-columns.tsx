// The columns of the page Topics.

import type { ReactNode } from 'react'
import type { Capability } from '../../../src/api/capabilities.ts'
import type { SearchOf } from '../../../src/api/pages.ts'
import { Bytes, Count, Rate } from '../../parts/amount.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Spark } from '../../parts/spark.tsx'
import { PageLink } from '../../shell/address.tsx'
import { UNKNOWN } from '../../text/format.ts'
import { lastHour } from './last-hour.ts'
import type { TopicRow } from './topic-rows.ts'

type Sort = SearchOf<'topics'>['sort']

interface Shown {
  /** The end of the newest step of the rates, in ms since 1970. */
  readonly newestMs: number
  /** Why rates are missing; undefined while they are on the way. */
  readonly why: string | undefined
  readonly tier: Capability | undefined
}

export function topicColumns({ newestMs, why, tier }: Shown): readonly Column<TopicRow>[] {
  const silent = 'A partition of the topic does not answer.'
  const idle = 'No producer sent a request in the last step.'
  /** A number is blank while it is on the way. */
  const rate = (head: string, unit: string, sort: Sort, of: (rates: NonNullable<TopicRow['rates']>) => ReactNode) => ({
    id: sort,
    head,
    unit,
    sort,
    isNumber: true,
    cell: ({ rates }: TopicRow) => (rates === undefined ? <Missing why={why} /> : of(rates)),
  })
  const isPhoneless = { isOnPhone: false }
  return [
    {
      id: 'name',
      head: 'Name',
      sort: 'name' satisfies Sort,
      isFixed: true,
      cell: ({ name }) => (
        // The link itself ends after three lines: its hidden part would lie over the links of the rows below.
        <div className="sm:min-w-44" title={name}>
          <PageLink
            page="topic"
            params={{ topic: name }}
            className="line-clamp-3 w-fit text-accent underline-offset-2 hover:underline"
          >
            {name}
          </PageLink>
        </div>
      ),
    },
    {
      id: 'partitions',
      head: 'Partitions',
      sort: 'partitions' satisfies Sort,
      isNumber: true,
      ...isPhoneless,
      cell: ({ summary }) => (summary === undefined ? <Missing why={why} /> : <Count of={summary.partitions} />),
    },
    rate('Records in', '/s', 'produce.recordsPerSecond', ({ produce }) => (
      <Quiet of={produce.recordsPerSecond}>
        <Rate of={produce.recordsPerSecond} />
      </Quiet>
    )),
    {
      ...rate('Bytes in', '/s', 'produce.bytesPerSecond', ({ produce }) => (
        <Quiet of={produce.bytesPerSecond}>
          <Bytes of={produce.bytesPerSecond} />
        </Quiet>
      )),
      ...isPhoneless,
    },
    {
      ...rate('Records out', '/s', 'fetch.recordsPerSecond', ({ fetch }) => (
        <Quiet of={fetch.recordsPerSecond}>
          <Rate of={fetch.recordsPerSecond} />
        </Quiet>
      )),
      ...isPhoneless,
    },
    {
      ...rate('Produce p99', 'ms', 'produce.latencyMs.p99', ({ produce }) => (
        <Quiet of={produce.latencyMs.p99}>
          <Rate of={produce.latencyMs.p99} why={idle} />
        </Quiet>
      )),
      ...isPhoneless,
    },
    {
      id: 'spark',
      head: 'Last hour',
      cell: ({ name, rates }) => (
        <div className="h-5 w-24">
          {rates !== undefined && rates.samples.length > 0 && (
            <Spark
              values={lastHour(rates.samples, newestMs)}
              label={`Records in per second of ${name}, the last hour`}
            />
          )}
        </div>
      ),
    },
    {
      id: 'size',
      head: 'Local size',
      sort: 'sizeBytes' satisfies Sort,
      isNumber: true,
      ...isPhoneless,
      cell: ({ summary }) =>
        summary === undefined ? (
          <Missing why={why} />
        ) : (
          <Quiet of={summary.sizeBytes}>
            <Bytes of={summary.sizeBytes} why={silent} />
          </Quiet>
        ),
    },
    {
      id: 'remote',
      head: 'Remote',
      ...isPhoneless,
      cell: ({ summary }) => (summary === undefined ? null : <Remote summary={summary} tier={tier} />),
    },
    {
      id: 'cleanup',
      head: 'Cleanup',
      ...isPhoneless,
      cell: ({ summary }) => <span className="whitespace-nowrap">{summary?.cleanupPolicy}</span>,
    },
  ]
}

/** Blank while it is unknown why the number is missing: it is on the way. */
function Missing({ why }: { readonly why: string | undefined }) {
  return why === undefined ? null : <span title={why}>{UNKNOWN}</span>
}

/** A zero, or nothing measured, is the usual case and does not ask for attention. */
function Quiet({ of, children }: { readonly of: number | null | undefined; readonly children: ReactNode }) {
  return of === 0 || of === null ? <span className="text-muted">{children}</span> : children
}

function Remote({
  summary,
  tier,
}: {
  readonly summary: NonNullable<TopicRow['summary']>
  readonly tier: Capability | undefined
}) {
  const isOn = tier?.state === 'on' && summary.configs?.['remote.storage.enable'] === 'true'
  return (
    <span className={isOn ? '' : 'text-muted'} title={tier?.because ?? undefined}>
      {isOn ? 'on' : 'off'}
    </span>
  )
}
