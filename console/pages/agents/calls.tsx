// The tab Last calls: the calls of agents that this broker answered, the newest first. Names, clients and arguments are
// texts of others.

import { Fragment } from 'react'
import type { AgentCall } from '../../../src/api/agent-tools.ts'
import { Bytes } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { duration, UNKNOWN } from '../../text/format.ts'
import { type KeyedCall, keyed } from './keyed-calls.ts'

export function Calls({ calls }: { readonly calls: readonly AgentCall[] }) {
  return (
    <>
      <p className="mb-3 text-muted">
        The last hundred calls that this broker answered since its start. The audit log (
        <code className="font-mono text-dense">svc.audit</code>) has a line for every call. In a terminal,{' '}
        <code className="font-mono text-dense">ketch agents</code> shows the same.
      </p>
      <DataTable
        name="Last calls"
        rows={keyed(calls)}
        keyOf={({ key }) => key}
        columns={COLUMNS}
        empty={
          <Empty title="No agent has called a tool yet.">
            Each call is shown here with its client, its outcome and its size. The tab{' '}
            <PageLink page="agents" search={{ tab: 'connect' }} className="underline">
              Connect
            </PageLink>{' '}
            has the configuration of a client.
          </Empty>
        }
      />
    </>
  )
}

const COLUMNS: readonly Column<KeyedCall>[] = [
  {
    id: 'time',
    head: 'Time',
    isFixed: true,
    cell: ({ call }) => (
      <>
        <span className="max-sm:hidden">
          <Time ms={Date.parse(call.calledAt)} />
        </span>
        <span className="sm:hidden">
          <Time ms={Date.parse(call.calledAt)} isShort />
        </span>
      </>
    ),
  },
  {
    id: 'call',
    head: 'Call',
    isFixed: true,
    cell: ({ call }) => (
      <div className="min-w-24 py-1 wrap-anywhere sm:min-w-60">
        <span className="font-mono text-dense">
          <VisibleText text={call.name} />
        </span>
        {call.what !== '{}' && (
          <div className="font-mono text-badge text-muted">
            <VisibleText text={call.what} />
          </div>
        )}
        {/* A phone has no room for the columns of these. */}
        <div className="text-badge text-muted sm:hidden">
          {call.client !== null && (
            <>
              <VisibleText text={call.client} /> ·{' '}
            </>
          )}
          {call.from} · <Bytes of={call.bytes} /> · {duration(call.tookMs)}
        </div>
      </div>
    ),
  },
  {
    id: 'client',
    head: 'Client',
    isOnPhone: false,
    cell: ({ call }) => (
      <div className="min-w-32 wrap-anywhere">
        {call.client === null ? (
          <span title="The client did not tell its name.">{UNKNOWN}</span>
        ) : (
          <VisibleText text={call.client} />
        )}
        <div className="text-badge text-muted">{call.from}</div>
      </div>
    ),
  },
  { id: 'outcome', head: 'Outcome', cell: ({ call }) => <Outcome of={call.outcome} /> },
  { id: 'bytes', head: 'Size', isNumber: true, isOnPhone: false, cell: ({ call }) => <Bytes of={call.bytes} /> },
  { id: 'took', head: 'Took', isNumber: true, isOnPhone: false, cell: ({ call }) => duration(call.tookMs) },
]

function Outcome({ of }: { readonly of: string }) {
  if (of === 'ok') return <Badge tone="ok">ok</Badge>
  if (of === 'preview') return <Badge tone="info">preview</Badge>
  return (
    <span className="inline-flex items-start gap-1 text-danger">
      <span aria-hidden>✕</span>
      <span className="text-badge font-medium">
        {/* A long code breaks between its words. */}
        {of.split('_').map((word, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a word is its place in the code
          <Fragment key={at}>
            {at > 0 && (
              <>
                _<wbr />
              </>
            )}
            {word}
          </Fragment>
        ))}
      </span>
    </span>
  )
}
