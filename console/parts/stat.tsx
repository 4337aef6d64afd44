// One number of a page, with its unit and, if there is one, its last hour.

import type { ReactNode } from 'react'
import { Spark } from './spark.tsx'

interface StatProps {
  readonly label: string
  readonly value: ReactNode
  readonly unit?: string
  readonly note?: ReactNode
  readonly samples?: readonly (number | null)[]
}

export function Stat({ label, value, unit, note, samples }: StatProps) {
  return (
    <div className="min-w-0 rounded-card border border-line bg-surface p-4">
      <dt className="text-muted">{label}</dt>
      <dd className="m-0">
        <span className="text-number font-semibold tabular-nums">{value}</span>
        {unit !== undefined && <span className="ml-1 text-muted">{unit}</span>}
        {note !== undefined && <div className="text-muted">{note}</div>}
        {samples !== undefined && <Spark values={samples} label={`${label}, over the last hour`} width={160} height={28} />}
      </dd>
    </div>
  )
}

/** A row of stats. */
export function Stats({ children }: { readonly children: ReactNode }) {
  return <dl className="my-4 grid grid-cols-2 gap-3 lg:grid-cols-3 xl:grid-cols-6">{children}</dl>
}
