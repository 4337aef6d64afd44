// The choice of a status of offload jobs, each with the number of its jobs.

import type { JobCounts } from '../../../src/api/offload-jobs.ts'
import type { SearchOf } from '../../../src/api/pages.ts'
import { JOB_STATUSES } from '../../../src/api/words.ts'
import { count } from '../../text/format.ts'

type Status = SearchOf<'storage'>['status']

interface StatusFilterProps {
  readonly value: Status
  readonly counts: JobCounts
  readonly onChange: (value: Status) => void
}

export function StatusFilter({ value, counts, onChange }: StatusFilterProps) {
  const all = JOB_STATUSES.reduce((sum, status) => sum + counts[status], 0)
  const options: readonly (readonly [Status, string, number])[] = [
    ['', 'all', all],
    ...JOB_STATUSES.map(status => [status, status, counts[status]] as const),
  ]
  return (
    <fieldset className="flex flex-wrap gap-2">
      <legend className="sr-only">Status</legend>
      {options.map(([status, label, jobs]) => (
        <button
          key={label}
          type="button"
          aria-pressed={status === value}
          onClick={() => onChange(status)}
          className={`min-h-9 rounded-control border px-3 max-sm:min-h-11 ${status === value ? 'border-accent bg-info-soft font-medium text-accent' : 'border-line bg-surface text-muted hover:bg-raised'}`}
        >
          {label} <span className="tabular-nums">{count(jobs)}</span>
        </button>
      ))}
    </fieldset>
  )
}
