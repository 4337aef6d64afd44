// A chart over time with at most four series. It says itself in a sentence, its cursor moves with the arrow keys, and
// its numbers can be read as a table. The picture is chart-plot.tsx, which is loaded later.

import { Table2 } from 'lucide-react'
import { type KeyboardEvent, lazy, Suspense, useCallback, useId, useState } from 'react'
import { timeOfDay } from '../text/zone.ts'
import { Button } from './button.tsx'
import { useCursor } from './chart-cursor.ts'
import { LOOKS, type Series, type SeriesColour } from './chart-look.ts'
import { describeChart, moveCursor, nearest, readValues } from './chart-words.ts'
import { useZone } from './time.tsx'

export interface ChartProps {
  readonly title: string
  /** The times of the values, in ms since 1970, oldest first. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** Writes a value with its unit: `12,300 records/s`. */
  readonly format: (value: number | null) => string
  /** Writes a value at the axis, where the title has the unit; by default like `format`. */
  readonly tick?: (value: number) => string
  /** True for bytes: the axis then has steps of powers of two. */
  readonly isBinary?: boolean
  /** Charts with the same key share their cursor. */
  readonly cursorKey?: string
}

const Plot = lazy(async () => ({ default: (await import('./chart-plot.tsx')).Plot }))

export function Chart({ title, times, series, format, tick = format, isBinary = false, cursorKey }: ChartProps) {
  const id = useId()
  const zone = useZone()
  const [atMs, moveTo] = useCursor(cursorKey ?? id)
  const [isTable, setTable] = useState(false)
  const [said, setSaid] = useState('')
  const cursor = nearest(times, atMs)
  const onCursor = useCallback((at: number | null) => moveTo(at === null ? null : (times[at] ?? null)), [moveTo, times])

  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    if (event.key === 'Escape') moveTo(null)
    const at = moveCursor(event.key, cursor, times.length)
    if (at === null) return
    event.preventDefault()
    onCursor(at)
    setSaid(readValues(times, series, at, format, zone))
  }

  return (
    <figure
      aria-labelledby={`${id}-title`}
      className="min-w-0 rounded-card border border-line bg-surface px-4 pt-3 pb-2"
      data-chart
    >
      <div className="flex min-h-7 items-center justify-between gap-2">
        <figcaption id={`${id}-title`} className="font-medium">
          {title}
        </figcaption>
        <span className="ml-auto text-dense text-muted tabular-nums" aria-hidden>
          {cursor === null ? '' : timeOfDay(times[cursor], zone)}
        </span>
        <Button
          kind="quiet"
          isSmall
          icon={Table2}
          aria-label={`Show ${title} as a table`}
          title={isTable ? 'Show as a chart' : 'Show as a table'}
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        />
      </div>
      <Legend series={series} at={cursor} format={format} />
      <div className="h-44">
        {isTable ? (
          <ChartTable title={title} times={times} series={series} format={format} />
        ) : (
          <div
            role="application"
            aria-roledescription="chart"
            aria-label={`${title}. The left and right arrow keys read the values.`}
            aria-describedby={`${id}-words`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move the cursor of the chart
            tabIndex={0}
            onKeyDown={onKey}
            onBlur={() => moveTo(null)}
          >
            <Suspense fallback={null}>
              <Plot times={times} series={series} tick={tick} isBinary={isBinary} cursor={cursor} onCursor={onCursor} />
            </Suspense>
          </div>
        )}
      </div>
      <p id={`${id}-words`} className="sr-only">
        {describeChart(times, series, format, zone)}
      </p>
      <p role="status" className="sr-only">
        {said}
      </p>
    </figure>
  )
}

interface LegendProps extends Pick<ChartProps, 'series' | 'format'> {
  readonly at: number | null
}

/** The series with their line, and the value under the cursor, or else the newest one. */
function Legend({ series, at, format }: LegendProps) {
  return (
    <ul className="mb-2 grid auto-cols-fr grid-flow-col gap-x-3 text-dense" aria-hidden>
      {series.map(({ label, values, colour }) => (
        <li key={label} className="min-w-0">
          <div className="flex items-center gap-1.5">
            <Swatch colour={colour} />
            <span className="truncate text-muted">{label}</span>
          </div>
          <div className="truncate font-medium tabular-nums">
            {format((at === null ? values.findLast(value => value !== null) : values[at]) ?? null)}
          </div>
        </li>
      ))}
    </ul>
  )
}

const STROKES: Readonly<Record<SeriesColour, string>> = {
  'series-1': 'text-series-1',
  'series-2': 'text-series-2',
  'series-3': 'text-series-3',
  'series-4': 'text-series-4',
  p50: 'text-p50',
  p95: 'text-p95',
  p99: 'text-p99',
  danger: 'text-danger',
}

function Swatch({ colour }: { readonly colour: SeriesColour }) {
  const { dash, hasMarkers } = LOOKS[colour]
  return (
    <svg width="20" height="8" viewBox="0 0 20 8" aria-hidden className={`shrink-0 ${STROKES[colour]}`}>
      <path d="M0 4H20" stroke="currentColor" strokeWidth="2" strokeDasharray={dash.join(' ')} />
      {hasMarkers && <circle cx="10" cy="4" r="3.5" fill="currentColor" />}
    </svg>
  )
}

/** The numbers of the chart, newest first. */
function ChartTable({ title, times, series, format }: Pick<ChartProps, 'title' | 'times' | 'series' | 'format'>) {
  const zone = useZone()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section aria-label={`${title}, as a table`} tabIndex={0} className="h-full overflow-auto">
      <table className="w-full border-collapse text-dense tabular-nums">
        <caption className="sr-only">{title}</caption>
        <thead className="sticky top-0 bg-surface">
          <tr>
            <th scope="col" className="py-1 pr-3 text-left font-medium">
              Time
            </th>
            {series.map(({ label }) => (
              <th key={label} scope="col" className="py-1 pl-3 text-right font-medium">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times
            .map((ms, at) => (
              <tr key={ms} className="border-t border-line">
                <th scope="row" className="py-1 pr-3 text-left font-normal">
                  {timeOfDay(ms, zone)}
                </th>
                {series.map(({ label, values }) => (
                  <td key={label} className="py-1 pl-3 text-right whitespace-nowrap">
                    {format(values[at] ?? null)}
                  </td>
                ))}
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </section>
  )
}
