// The three charts of the overview, which share their cursor. A phone shows one of them at a time.

import { useEffect, useRef } from 'react'
import { OVERVIEW_CHARTS } from '../../../src/api/pages.ts'
import { Chart, type ChartProps } from '../../parts/chart.tsx'
import { Segments } from '../../parts/segments.tsx'
import { useHere } from '../../shell/address.tsx'
import { duration, rate, UNKNOWN } from '../../text/format.ts'
import type { OverviewChart } from './attention.ts'
import type { Course, Sample } from './course.ts'

type ValueOf = (sample: Sample) => number | null

interface ChartRow extends Pick<ChartProps, 'title' | 'format' | 'tick'> {
  /** The word for the choice on a phone. */
  readonly word: string
  readonly series: readonly (Omit<ChartProps['series'][number], 'values'> & { readonly of: ValueOf })[]
}

const perSecond = (unit: string) => (value: number | null) => (value === null ? UNKNOWN : `${rate(value)} ${unit}`)

const CHARTS: Readonly<Record<OverviewChart, ChartRow>> = {
  throughput: {
    word: 'Throughput',
    title: 'Throughput, records per second',
    format: perSecond('records/s'),
    tick: rate,
    series: [
      { label: 'in', colour: 'series-1', of: sample => sample.messagesInPerSecond },
      { label: 'out', colour: 'series-2', of: sample => sample.messagesOutPerSecond },
    ],
  },
  latency: {
    word: 'Latency',
    title: 'Latency of requests',
    format: duration,
    series: [
      { label: 'p50', colour: 'p50', of: sample => sample.requestLatencyMs.p50 },
      { label: 'p95', colour: 'p95', of: sample => sample.requestLatencyMs.p95 },
      { label: 'p99', colour: 'p99', of: sample => sample.requestLatencyMs.p99 },
    ],
  },
  failures: {
    word: 'Failures',
    title: 'Failures and lossy records, per second',
    format: perSecond('/s'),
    tick: rate,
    series: [
      { label: 'lossy records', colour: 'series-2', of: sample => sample.lossyRecordsPerSecond },
      // The last line lies over the others.
      { label: 'failures', colour: 'danger', of: sample => sample.brokerFailuresPerSecond },
    ],
  },
}

export interface OverviewChartsProps {
  readonly course: Course
  /** The chart that gets the focus once it is there; null leaves the focus where it is. */
  readonly wanted: OverviewChart | null
  readonly onShown: () => void
}

export function OverviewCharts({ course, wanted, onShown }: OverviewChartsProps) {
  const { search, set } = useHere('overview')
  const charts = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // On a phone the chart is there only when the address has it.
    if (wanted === null || search.chart !== wanted) return
    charts.current?.querySelector<HTMLElement>(`[data-shows=${wanted}]`)?.focus()
    onShown()
  }, [wanted, search.chart, onShown])
  return (
    <>
      <div className="mb-3 sm:hidden">
        <Segments
          label="Chart"
          options={OVERVIEW_CHARTS.map(id => [id, CHARTS[id].word] as const)}
          value={search.chart}
          onChange={chart => set({ chart })}
        />
      </div>
      <div ref={charts} className="grid grid-cols-1 gap-3 lg:grid-cols-2 xl:grid-cols-3">
        {OVERVIEW_CHARTS.map(id => {
          const { title, format, tick, series } = CHARTS[id]
          return (
            <div
              key={id}
              data-shows={id}
              tabIndex={-1}
              className={`min-w-0 rounded-card ${id === search.chart ? '' : 'max-sm:hidden'} ${id === 'throughput' ? 'lg:max-xl:col-span-2' : ''}`}
            >
              <Chart
                title={title}
                times={course.times}
                format={format}
                {...(tick === undefined ? {} : { tick })}
                cursorKey="overview"
                series={series.map(({ of, ...each }) => ({
                  ...each,
                  values: course.samples.map(sample => (sample === null ? null : of(sample))),
                }))}
              />
            </div>
          )
        })}
      </div>
    </>
  )
}
