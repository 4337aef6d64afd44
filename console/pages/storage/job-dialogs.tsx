// The dialogs before a job is retried or cancelled, and before all failed ones are retried.

import type { ShownJob } from '../../../src/api/offload-jobs.ts'
import { useChange } from '../../api/queries.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { nameOf, retriedText } from './job-words.ts'

interface JobDialogProps {
  readonly verb: 'retry' | 'cancel'
  readonly job: ShownJob
  readonly onClose: () => void
}

export function JobDialog({ verb, job, onClose }: JobDialogProps) {
  return verb === 'retry' ? <Retry job={job} onClose={onClose} /> : <Cancel job={job} onClose={onClose} />
}

function Retry({ job, onClose }: Omit<JobDialogProps, 'verb'>) {
  const { run, isBusy, problem } = useChange('retry offload job')
  const submit = async () => {
    if ((await run({ params: { id: job.id } })) === null) return
    toast('The job is pending again.')
    onClose()
  }
  return (
    <Confirm
      operation="retry offload job"
      title={`Retry the job of ${nameOf(job)}`}
      name={null}
      verb="Retry job"
      isDanger={false}
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        The job is pending again, with all of its {counted(job.maxAttempts, 'attempt')}. The next round of the storage
        worker offloads the segment.
      </p>
      <CopyAsCommand task={{ do: 'retry-offload-job', job: job.id }} />
    </Confirm>
  )
}

function Cancel({ job, onClose }: Omit<JobDialogProps, 'verb'>) {
  const { run, isBusy, problem } = useChange('cancel offload job')
  const submit = async () => {
    if ((await run({ params: { id: job.id } })) === null) return
    toast('Cancelled the job.')
    onClose()
  }
  return (
    <Confirm
      operation="cancel offload job"
      title={`Cancel the job of ${nameOf(job)}`}
      name={null}
      verb="Cancel job"
      keep="Keep job"
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        The records stay in the local tier, and the worker skips this segment until somebody retries the job. SQL
        engines do not see them. Total retention removes them in their time.
      </p>
      <CopyAsCommand task={{ do: 'cancel-offload-job', job: job.id }} />
    </Confirm>
  )
}

interface RetryFailedProps {
  /** Empty for all topics. */
  readonly topic: string
  readonly failed: number
  readonly onClose: () => void
}

export function RetryFailed({ topic, failed, onClose }: RetryFailedProps) {
  const { run, isBusy, problem } = useChange('retry failed offload jobs')
  const submit = async () => {
    const done = await run({ body: topic === '' ? {} : { topic } })
    if (done === null) return
    toast(retriedText(done.answer.retried))
    onClose()
  }
  return (
    <Confirm
      operation="retry failed offload jobs"
      title={`Retry the failed jobs of ${topic === '' ? 'all topics' : topic}`}
      name={null}
      verb="Retry failed jobs"
      isDanger={false}
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        {counted(failed, 'failed job')} {failed === 1 ? 'is' : 'are'} pending again, with all attempts. Cancelled jobs
        stay cancelled.
      </p>
      <CopyAsCommand task={{ do: 'retry-failed-jobs', topic }} />
    </Confirm>
  )
}
