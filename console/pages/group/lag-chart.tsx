// The lag of a group over the time that the broker remembers. It holds its room while the history and the chart load.

import { lazy, Suspense } from 'react'
import type { Answer } from '../../api/contract.ts'
import type { Read } from '../../api/queries.ts'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { count, counted, UNKNOWN } from '../../text/format.ts'

const Chart = lazy(async () => ({ default: (await import('../../parts/chart.tsx')).Chart }))

interface LagChartProps {
  readonly read: Read<Answer<'read consumer lag'>>
  /** The recorded lags of the group; undefined while they are not known. */
  readonly samples: Answer<'read consumer lag'>['groups'][number]['samples']
}

export function LagChart({ read: { data, problem, isOld, retry }, samples = [] }: LagChartProps) {
  if (data === undefined && problem !== null)
    return <ProblemNote problem={problem} of="The history of the lag" onRetry={retry} />
  if (data !== undefined && !isOld && samples.length < 2)
    return (
      <p className="mb-4 rounded-card border border-line bg-surface p-4 text-muted">
        There is no history of the lag yet. The broker records it from the first lag of the group on, as long as it
        runs.
      </p>
    )
  return (
    <div className="mb-4 min-h-68">
      {samples.length > 1 && (
        <Suspense fallback={null}>
          <Chart
            title="Lag in records"
            times={samples.map(({ timestamp }) => timestamp)}
            series={[{ label: 'Lag', values: samples.map(({ lag }) => lag), colour: 'series-1' }]}
            tick={count}
            format={value => (value === null ? UNKNOWN : counted(Math.round(value), 'record'))}
          />
        </Suspense>
      )}
    </div>
  )
}
