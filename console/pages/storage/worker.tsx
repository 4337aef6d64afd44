// The storage worker of the cluster: which broker holds its lease, its newest round, and the button that runs one.

import type { BrokerRound, WorkerState } from '../../../src/api/storage.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { toast } from '../../shell/toasts.tsx'
import { count, duration } from '../../text/format.ts'
import { OUTCOME_TONES, reportOf, workOf } from './round-words.ts'
import { Warning } from './warning.tsx'

/** How often a round in progress is asked for, in ms. */
const IN_PROGRESS_MS = 1_000

export function Worker() {
  const run = useChange('run storage worker')
  const newest = useRead('show storage worker', {})
  const isInProgress = run.isBusy || newest.data?.lastRound?.tookMs === null
  // The same read, asked for more often.
  useRead('show storage worker', {}, { isWanted: isInProgress, everyMs: IN_PROGRESS_MS })

  const start = async () => {
    const done = await run.run({})
    if (done !== null) toast(reportOf(done.answer.round))
  }
  return (
    <Section
      title="Storage worker"
      actions={
        <Action
          operation="run storage worker"
          title="Rolls, cleans and offloads segments and drops old data on all brokers, as every round does."
          isBusy={isInProgress}
          onClick={() => void start()}
        >
          {isInProgress ? 'A round is running' : 'Run a round now'}
        </Action>
      }
    >
      {run.problem !== null && <ProblemNote problem={run.problem} />}
      <Loaded read={newest} of="The storage worker" rows={6}>
        {worker => (
          <>
            <Warnings worker={worker} />
            <Facts worker={worker} />
            {worker.lastRound !== null && (
              <DataTable
                name="Parts of the brokers in the last round"
                rows={worker.lastRound.brokers}
                keyOf={({ id }) => String(id)}
                columns={COLUMNS}
                empty={<p className="text-muted">No broker leads a partition, so that the round had nothing to do.</p>}
              />
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Warnings({ worker: { trouble, withoutFeature } }: { readonly worker: WorkerState }) {
  return (
    <div role="status">
      {trouble !== null && (
        <Warning>
          <VisibleText text={trouble} />
        </Warning>
      )}
      {withoutFeature.length > 0 && (
        <Warning>
          No log is cleaned: the version of broker {withoutFeature.join(', ')} could not read a cleaned log.
        </Warning>
      )}
    </div>
  )
}

function Facts({ worker }: { readonly worker: WorkerState }) {
  const { holder, enabled, tickIntervalMs, leaseDurationMs, lastRound } = worker
  const takenAt = holder?.takenAt ?? null
  // The embedded store has one broker, and no lease that it could take.
  const isAlone = holder !== null && takenAt === null
  return (
    <Stats>
      <Stat
        label="Holder"
        value={
          holder === null ? (
            <Badge tone="danger">none</Badge>
          ) : (
            <PageLink page="broker" params={{ broker: String(holder.id) }}>
              broker {holder.id}
            </PageLink>
          )
        }
        note={
          isAlone ? (
            'It alone uses this store.'
          ) : takenAt === null ? undefined : (
            <>
              since <Time ms={Date.parse(takenAt)} />
            </>
          )
        }
      />
      <Stat
        label="This broker"
        value={<Badge tone={enabled ? 'ok' : 'warn'}>{enabled ? 'enabled' : 'not enabled'}</Badge>}
        note={enabled ? 'It may run the worker.' : 'svc.storage.worker.enabled is false: it never runs the worker.'}
      />
      <Stat
        label="A round every"
        value={duration(tickIntervalMs)}
        note={isAlone ? undefined : `another broker takes over after ${duration(leaseDurationMs)}`}
      />
      <Stat
        label="Last round"
        value={lastRound === null ? 'none' : <Count of={lastRound.number} />}
        note={
          lastRound === null ? undefined : (
            <span data-round={lastRound.tookMs === null ? 'running' : 'done'}>
              at <Time ms={Date.parse(lastRound.startedAt)} isShort />,{' '}
              {lastRound.tookMs === null ? 'in progress' : `took ${duration(lastRound.tookMs)}: ${workOf(lastRound)}`}
            </span>
          )
        }
      />
    </Stats>
  )
}

const COLUMNS: readonly Column<BrokerRound>[] = [
  {
    id: 'broker',
    head: 'Broker',
    isFixed: true,
    cell: ({ id }) => (
      <PageLink page="broker" params={{ broker: String(id) }}>
        {id}
      </PageLink>
    ),
  },
  {
    id: 'outcome',
    head: 'Outcome',
    cell: ({ outcome, trouble }) => (
      <>
        <Badge tone={OUTCOME_TONES[outcome]}>{outcome}</Badge>
        {trouble !== null && (
          <span className="block text-dense text-muted">
            <VisibleText text={trouble} />
          </span>
        )}
      </>
    ),
  },
  {
    id: 'partitions',
    head: 'Partitions',
    isNumber: true,
    isOnPhone: false,
    cell: row => <Count of={row.partitions} />,
  },
  { id: 'rolled', head: 'Sealed', unit: 'segments', isNumber: true, cell: row => <Count of={row.rolled} /> },
  { id: 'dropped', head: 'Dropped', isNumber: true, isOnPhone: false, cell: row => <Bytes of={row.droppedBytes} /> },
  { id: 'cleaned', head: 'Cleaned', unit: 'partitions', isNumber: true, cell: row => <Count of={row.cleaned} /> },
  { id: 'freed', head: 'Freed', isNumber: true, isOnPhone: false, cell: row => <Bytes of={row.cleanedBytes} /> },
  {
    id: 'failures',
    head: 'Failures',
    isNumber: true,
    isOnPhone: false,
    cell: ({ failures }) => <span className={failures > 0 ? 'text-danger' : ''}>{count(failures)}</span>,
  },
]
