// The traffic of a topic: its rates and latencies in the newest step, the last minutes as charts, and who reads it.

import { lazy, Suspense } from 'react'
import { RANGES } from '../../../src/api/pages.ts'
import type { TopicDescription } from '../../../src/api/topics.ts'
import type { Answer } from '../../api/contract.ts'
import { useRead } from '../../api/queries.ts'
import { Count } from '../../parts/amount.tsx'
import { buttonClass } from '../../parts/button.tsx'
import { Section } from '../../parts/page.tsx'
import { SilentBrokers } from '../../parts/silent-brokers.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { byteRate, bytes, exactBytes, rate, UNKNOWN } from '../../text/format.ts'
import { TopicConsumers } from './topic-consumers.tsx'

const Chart = lazy(async () => ({ default: (await import('../../parts/chart.tsx')).Chart }))

const MINUTE_MS = 60_000
const RANGE_MS: Readonly<Record<(typeof RANGES)[number], number>> = { '15m': 15 * MINUTE_MS, '1h': 60 * MINUTE_MS }
const RANGE_LABELS: Readonly<Record<(typeof RANGES)[number], string>> = { '15m': '15 min', '1h': '1 h' }

type Metrics = Answer<'read topic metrics'>
type Rates = Metrics['topics'][number]

export function TopicOverview({ topic }: { readonly topic: TopicDescription }) {
  const { name } = topic
  const metrics = useRead('read topic metrics', {
    query: { names: name, scope: 'cluster', samples: 'true', limit: 1 },
  })
  return (
    <>
      <Loaded read={metrics} of="The traffic" rows={10}>
        {({ topics: [rates], unavailableBrokers }) => (
          <>
            <SilentBrokers brokers={unavailableBrokers} of="traffic" />
            <Numbers topic={topic} rates={rates} />
            <Latencies rates={rates} />
            <Charts topic={topic} rates={rates} />
          </>
        )}
      </Loaded>
      <TopicConsumers topic={name} />
    </>
  )
}

const NOT_YET = 'The history has no step of this topic yet.'

function Numbers({ topic, rates }: { readonly topic: TopicDescription; readonly rates: Rates | undefined }) {
  const { records, sizeBytes, lastWriteAt } = topic
  const amount = (value: number | undefined, text: string) => (
    <span title={value === undefined ? NOT_YET : String(value)}>{text}</span>
  )
  return (
    <Stats>
      <Stat
        label="Records in"
        value={amount(rates?.produce.recordsPerSecond, rate(rates?.produce.recordsPerSecond))}
        unit="/s"
      />
      <Stat label="Bytes in" value={amount(rates?.produce.bytesPerSecond, byteRate(rates?.produce.bytesPerSecond))} />
      <Stat
        label="Records out"
        value={amount(rates?.fetch.recordsPerSecond, rate(rates?.fetch.recordsPerSecond))}
        unit="/s"
      />
      <Stat label="Bytes out" value={amount(rates?.fetch.bytesPerSecond, byteRate(rates?.fetch.bytesPerSecond))} />
      <Stat
        label="Records"
        value={<Count of={records} why="A partition does not answer, or the offsets follow the clock." />}
        note={
          lastWriteAt === null ? undefined : (
            <span className="max-sm:hidden">
              newest <Time ms={Date.parse(lastWriteAt)} />
            </span>
          )
        }
      />
      <Stat label="Local size" value={<span title={exactBytes(sizeBytes)}>{bytes(sizeBytes)}</span>} />
    </Stats>
  )
}

const PERCENTILES = ['p50', 'p95', 'p99'] as const
const WAYS = [
  ['produce', 'Produce', 'No producer sent a request in the last step.'],
  ['fetch', 'Fetch that delivered records', 'No fetch delivered records in the last step.'],
] as const

function Latencies({ rates }: { readonly rates: Rates | undefined }) {
  return (
    <Section title="Latency">
      <div className="overflow-x-auto rounded-card border border-line bg-surface">
        <table className="w-full tabular-nums">
          <caption className="sr-only">Latency of requests in the last step, in milliseconds</caption>
          <thead>
            <tr className="border-b border-line">
              <th scope="col" className="px-3 py-2 text-left font-medium">
                Request
              </th>
              {PERCENTILES.map(percentile => (
                <th key={percentile} scope="col" className="px-3 py-2 text-right font-medium whitespace-nowrap">
                  {percentile} <span className="font-normal text-muted">ms</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {WAYS.map(([way, label, why]) => (
              <tr key={way} className="h-9 border-b border-line last:border-0">
                <th scope="row" className="px-3 text-left font-normal">
                  {label}
                </th>
                {PERCENTILES.map(percentile => {
                  const value = rates?.[way].latencyMs[percentile]
                  const isKnown = value !== null && value !== undefined
                  return (
                    <td key={percentile} className="px-3 text-right" title={isKnown ? `${value} ms` : why}>
                      {isKnown ? rate(value) : <span className="text-muted">{UNKNOWN}</span>}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}

function Charts({ topic: { name }, rates }: { readonly topic: TopicDescription; readonly rates: Rates | undefined }) {
  const { params, search } = useHere('topic')
  const all = rates?.samples ?? []
  const from = (all.at(-1)?.timestamp ?? 0) - RANGE_MS[search.range]
  const samples = all.filter(({ timestamp }) => timestamp > from)
  const times = samples.map(({ timestamp }) => timestamp)
  const ranges = (
    <nav aria-label="Range of the charts" className="flex gap-1">
      {RANGES.map(range => (
        <PageLink
          key={range}
          page="topic"
          params={params}
          search={{ ...search, range }}
          isCurrent={range === search.range}
          className={buttonClass(range === search.range ? 'plain' : 'quiet', true)}
        >
          {RANGE_LABELS[range]}
        </PageLink>
      ))}
    </nav>
  )
  return (
    <Section title="Records that arrived" actions={ranges}>
      {samples.length === 0 ? (
        <Empty title="No record arrived in the last hour">
          The charts begin with the first record that a broker accepts. A restart of a broker clears its history.
        </Empty>
      ) : (
        <Suspense fallback={<Skeleton rows={6} />}>
          <div className="grid gap-4 *:min-w-0 *:overflow-hidden lg:grid-cols-2">
            <Chart
              title="Records in"
              times={times}
              series={[{ label: 'Records in', values: samples.map(each => each.recordsPerSecond), colour: 'series-1' }]}
              format={value => `${rate(value)} records/s`}
              cursorKey={`topic ${name}`}
            />
            <Chart
              title="Bytes in"
              times={times}
              series={[{ label: 'Bytes in', values: samples.map(each => each.bytesPerSecond), colour: 'series-3' }]}
              format={byteRate}
              cursorKey={`topic ${name}`}
            />
          </div>
        </Suspense>
      )}
    </Section>
  )
}
