// One number of a page, with its unit and, if there is one, its course.

import type { ReactNode } from 'react'
import { Spark } from './spark.tsx'

interface StatProps {
  readonly label: string
  readonly value: ReactNode
  readonly unit?: string
  readonly note?: ReactNode
  readonly samples?: readonly (number | null)[] | undefined
  /** The time of the samples, for screen readers. */
  readonly over?: string
}

export function Stat({ label, value, unit, note, samples, over = 'the last hour' }: StatProps) {
  return (
    <div className="flex min-w-0 flex-col rounded-card border border-line bg-surface p-4">
      <dt className="text-muted">{label}</dt>
      <dd className="m-0 flex grow flex-col">
        <div className="flex flex-wrap items-baseline gap-x-1">
          <span className="text-number font-semibold tabular-nums">{value}</span>
          {unit !== undefined && <span className="text-muted">{unit}</span>}
        </div>
        {note !== undefined && <div className="text-dense text-muted [&_time]:whitespace-normal">{note}</div>}
        {samples !== undefined && (
          <div className="mt-auto pt-2">
            <Spark values={samples} label={`${label}, over ${over}`} width="full" height={28} />
          </div>
        )}
      </dd>
    </div>
  )
}

/** A row of stats. */
export function Stats({ children }: { readonly children: ReactNode }) {
  return <dl className="my-4 grid grid-cols-2 gap-3 lg:grid-cols-3 xl:grid-cols-6">{children}</dl>
}
