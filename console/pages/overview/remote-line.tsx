// One line about the remote tier: how much waits for its offload, and how many jobs failed. It is quiet if all is well.

import type { ReactNode } from 'react'
import type { JobCounts } from '../../../src/api/offload-jobs.ts'
import { PageLink } from '../../shell/address.tsx'
import { bytes, counted, duration } from '../../text/format.ts'
import type { RemoteHealth } from './remote-health.ts'

const SECOND = 1_000
const LINK = 'inline-flex min-h-6 items-center text-accent underline-offset-2 hover:underline'

interface RemoteLineProps {
  readonly remote: RemoteHealth
  /** Undefined while no answer has them. */
  readonly counts: JobCounts | undefined
}

export function RemoteLine({ remote, counts }: RemoteLineProps) {
  const failed = counts?.failed ?? 0
  return (
    <p data-remote className="my-4 flex flex-wrap items-center gap-x-2 text-muted">
      <PageLink page="storage" search={{ tab: 'remote' }} className={LINK}>
        Remote tier
      </PageLink>
      <span>{backlogOf(remote)}</span>
      {counts !== undefined && (
        <JobsLink isLinked={failed > 0}>
          {failed === 0 ? 'No job failed.' : `${counted(failed, 'job')} failed.`}
        </JobsLink>
      )}
    </p>
  )
}

function JobsLink({ isLinked, children }: { readonly isLinked: boolean; readonly children: ReactNode }) {
  if (!isLinked) return <span>{children}</span>
  return (
    <PageLink page="storage" search={{ tab: 'jobs', status: 'failed' }} className={LINK}>
      {children}
    </PageLink>
  )
}

function backlogOf({ segments, bytes: size, ageSeconds }: RemoteHealth): string {
  if (segments === null) return 'The storage worker has not reported its backlog yet.'
  if (segments === 0) return 'Nothing waits.'
  const waits = segments === 1 ? 'waits' : 'wait'
  return `${counted(segments, 'segment')} (${bytes(size)}) ${waits}, the oldest for ${duration((ageSeconds ?? 0) * SECOND)}.`
}
