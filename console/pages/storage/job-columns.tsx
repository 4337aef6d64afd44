// The columns of the offload jobs.

import type { ShownJob } from '../../../src/api/offload-jobs.ts'
import { Bytes } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count, duration } from '../../text/format.ts'
import { mayCancel, mayRetry, nameOf, offsetsOf, STATUS_TONES } from './job-words.ts'

const SUSPENDED = 'It has no attempts left: the worker skips it until somebody retries it.'

/** Returns the columns; `onVerb` begins a verb of a job. */
export function jobColumns(onVerb: (verb: 'retry' | 'cancel', job: ShownJob) => void): readonly Column<ShownJob>[] {
  return [
    {
      id: 'segment',
      head: 'Segment',
      sort: 'topic',
      isFixed: true,
      cell: job => (
        <>
          <PageLink
            page="storage"
            search={{ tab: 'segments', topic: job.topic, partition: job.partition, segment: job.base }}
            title={`The segment ${nameOf(job)}`}
          >
            {job.topic} {job.partition}
          </PageLink>
          <span className="block text-dense text-muted tabular-nums">{offsetsOf(job)}</span>
        </>
      ),
    },
    { id: 'status', head: 'Status', isFixed: true, cell: job => <JobStatus job={job} /> },
    { id: 'attempts', head: 'Attempts', isNumber: true, isOnPhone: false, cell: attemptsOf },
    {
      id: 'bytes',
      head: 'Size',
      sort: 'bytes',
      isNumber: true,
      isOnPhone: false,
      cell: job => <Bytes of={job.bytes} />,
    },
    {
      id: 'created',
      head: 'Created',
      sort: 'createdAt',
      isOnPhone: false,
      cell: ({ createdAt }) => <Time ms={Date.parse(createdAt)} />,
    },
    {
      id: 'started',
      head: 'Last attempt',
      sort: 'startedAt',
      isOnPhone: false,
      cell: ({ startedAt }) => (startedAt === null ? 'none yet' : <Time ms={Date.parse(startedAt)} />),
    },
    {
      id: 'took',
      head: 'Took',
      isNumber: true,
      isOnPhone: false,
      cell: ({ status, tookMs }) => (status === 'running' ? 'in progress' : duration(tookMs)),
    },
    {
      id: 'verbs',
      head: 'Actions',
      isHeadHidden: true,
      isFixed: true,
      cell: job => (
        <span className="flex flex-wrap justify-end">
          {mayRetry(job) && (
            <Action
              operation="retry offload job"
              kind="quiet"
              isSmall
              aria-label={`Retry the job of ${nameOf(job)}`}
              onClick={() => onVerb('retry', job)}
            >
              Retry
            </Action>
          )}
          {mayCancel(job) && (
            <Action
              operation="cancel offload job"
              kind="quiet"
              isSmall
              aria-label={`Cancel the job of ${nameOf(job)}`}
              onClick={() => onVerb('cancel', job)}
            >
              Cancel
            </Action>
          )}
        </span>
      ),
    },
  ]
}

function attemptsOf({ attempts, maxAttempts }: ShownJob): string {
  return `${count(attempts)} of ${count(maxAttempts)}`
}

/** The status, and under it the last failure with the records at its offset. */
export function JobStatus({ job }: { readonly job: ShownJob }) {
  const { topic, partition, status, suspended, failure } = job
  return (
    <>
      <span className="flex flex-wrap gap-1">
        <Badge tone={STATUS_TONES[status] ?? 'neutral'}>{status}</Badge>
        {suspended && (
          <Badge tone="warn" title={SUSPENDED}>
            suspended
          </Badge>
        )}
        <span className="text-dense text-muted sm:hidden">{attemptsOf(job)}</span>
      </span>
      {failure !== null && (
        <span className="block max-w-dialog text-dense text-muted">
          <VisibleText text={failure.why} />
          <span className="block max-sm:hidden">
            <Time ms={Date.parse(failure.failedAt)} />
          </span>
          {failure.offset !== null && (
            <>
              {' '}
              <PageLink
                page="messages"
                params={{ topic }}
                search={{ partition, from: 'offset', offset: failure.offset }}
              >
                Records from offset {count(failure.offset)}
              </PageLink>
            </>
          )}
        </span>
      )}
    </>
  )
}
