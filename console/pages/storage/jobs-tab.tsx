// The tab Offload jobs: the jobs by status and topic, with the verbs that retry and cancel them.

import { RotateCw } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { JobList, ShownJob } from '../../../src/api/offload-jobs.ts'
import { JOB_SORTS } from '../../../src/api/words.ts'
import { useRead } from '../../api/queries.ts'
import { Action } from '../../parts/button.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { DataTable, Pager } from '../../parts/data-table.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { jobColumns } from './job-columns.tsx'
import { JobDialog, RetryFailed } from './job-dialogs.tsx'
import { StatusFilter } from './status-filter.tsx'
import { TopicField } from './topic-field.tsx'
import { Warning } from './warning.tsx'

const LIMIT = 100
/** How often the jobs are asked for while one runs, in ms. */
const RUNNING_MS = 5_000

export function JobsTab() {
  const { search, set } = useHere('storage')
  const [open, setOpen] = useState<{ readonly verb: 'retry' | 'cancel'; readonly job: ShownJob } | null>(null)
  const [isRetrying, setRetrying] = useState(false)
  const columns = useMemo(() => jobColumns((verb, job) => setOpen({ verb, job })), [])
  const { status, topic } = search
  const offset = search.offset ?? 0
  const sort = JOB_SORTS.find(each => each === search.sort) ?? 'topic'
  const order = sort === search.sort ? search.order : 'asc'
  const asked = { query: { status, topic, sort, order, offset, limit: LIMIT } }
  const read = useRead('list offload jobs', asked)
  // The same read, asked for more often.
  const isRunning = (read.data?.counts.running ?? 0) > 0
  useRead('list offload jobs', asked, { isWanted: isRunning, everyMs: RUNNING_MS })
  return (
    <>
      <TopicField isOptional />
      <Loaded read={read} of="The offload jobs" rows={10}>
        {({ jobs, total, counts, unreadable }) => (
          <>
            <Warnings unreadable={unreadable} suspended={counts.suspended} />
            <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
              <StatusFilter value={status} counts={counts} onChange={to => set({ status: to, offset: null })} />
              {counts.failed > 0 && (
                <Action operation="retry failed offload jobs" icon={RotateCw} onClick={() => setRetrying(true)}>
                  Retry all failed
                </Action>
              )}
            </div>
            <DataTable
              name="Offload jobs"
              rows={jobs}
              keyOf={({ id }) => id}
              columns={columns}
              canHide
              isOld={read.isOld}
              sorting={{
                sort,
                order,
                onSort: (by, to) => set({ sort: JOB_SORTS.find(each => each === by)!, order: to, offset: null }),
              }}
              empty={<NoJobs />}
            />
            <Pager
              total={total}
              offset={offset}
              limit={LIMIT}
              of="jobs"
              onPage={to => set({ offset: to }, { isStep: true })}
            />
            {isRetrying && <RetryFailed topic={topic} failed={counts.failed} onClose={() => setRetrying(false)} />}
          </>
        )}
      </Loaded>
      <CopyAsCommand task={{ do: 'list-offload-jobs', topic, status }} />
      {open !== null && <JobDialog {...open} onClose={() => setOpen(null)} />}
    </>
  )
}

function Warnings({ unreadable, suspended }: Pick<JobList, 'unreadable'> & { readonly suspended: number }) {
  return (
    <div role="status">
      {suspended > 0 && (
        <Warning>
          {counted(suspended, 'failed job')} {suspended === 1 ? 'is' : 'are'} suspended: without attempts left, the
          worker skips {suspended === 1 ? 'it' : 'them'} until somebody retries.
        </Warning>
      )}
      {unreadable.map(({ topic, topicId, why }) => (
        <Warning key={topicId}>
          The jobs of {topic ?? `the topic ${topicId}`} are missing: <VisibleText text={why} />
        </Warning>
      ))}
    </div>
  )
}

function NoJobs() {
  const { status, topic } = useHere('storage').search
  if (status !== '' || topic !== '')
    return (
      <Empty
        title={`${topic === '' ? 'No' : `The topic “${topic}” has no`} job${status === '' ? '' : ` that is ${status}`}.`}
      />
    )
  return (
    <Empty title="No jobs yet.">
      A topic with <code className="font-mono">remote.storage.enable=true</code> gets a job for each sealed segment. A
      segment is sealed after <code className="font-mono">segment.ms</code> or at{' '}
      <code className="font-mono">segment.bytes</code>.
    </Empty>
  )
}
