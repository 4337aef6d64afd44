// The page of one consumer group: its state in a sentence, its lag over time, and its partitions, members and rules.

import { useState } from 'react'
import { GROUP_TABS } from '../../../src/api/pages.ts'
import { useRead } from '../../api/queries.ts'
import { Action, buttonClass } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { StateBadge } from '../groups/state-badge.tsx'
import { TREND_SAMPLES, trendOf } from '../groups/trend.ts'
import { Access } from './access.tsx'
import { DeleteGroup } from './delete-group.tsx'
import { DeleteOffsets } from './delete-offsets.tsx'
import { LagChart } from './lag-chart.tsx'
import { Members } from './members.tsx'
import { Partitions } from './partitions.tsx'
import { groupSentence } from './sentence.ts'

const ResetOffsets = lazyPart(async () => (await import('./reset/reset-offsets.tsx')).ResetOffsets)

const LABELS: Readonly<Record<(typeof GROUP_TABS)[number], string>> = {
  partitions: 'Partitions',
  members: 'Members',
  access: 'Access',
}

export function Group() {
  const { params, search, set } = useHere('group')
  const { group: groupId } = params
  const { tab } = search
  const [open, setOpen] = useState<'delete' | 'offsets' | null>(null)
  const group = useRead('describe group', { params })
  const history = useRead('read consumer lag', { query: { groups: groupId, samples: 'true' } })
  const mayReset = useMay('reset offsets of group')

  // The answer of another group is no answer about this one.
  const described = group.data?.groupId === groupId ? group.data : undefined
  const samples = history.data?.groups.find(each => each.groupId === groupId)?.samples
  const trend = trendOf((samples ?? []).slice(-TREND_SAMPLES).map(({ lag }) => lag))

  if (group.problem?.code === 'GROUP_ID_NOT_FOUND') return <Unknown groupId={groupId} />
  return (
    <>
      <PageHead
        title={groupId}
        documentTitle={`${groupId} · Consumer group`}
        heading={<VisibleText text={groupId} />}
        beside={
          <span className="flex flex-wrap items-center gap-1">
            <CopyButton value={groupId} of="group id" />
            {described !== undefined && <StateBadge {...described} />}
          </span>
        }
        actions={
          described !== undefined && (
            <>
              <Action
                operation="reset offsets of group"
                kind="primary"
                onClick={() => set({ reset: true }, { isStep: true })}
              >
                Reset offsets
              </Action>
              <Action operation="delete offsets of group" onClick={() => setOpen('offsets')}>
                Delete offsets of a topic
              </Action>
              <Action operation="delete group" onClick={() => setOpen('delete')}>
                Delete group
              </Action>
            </>
          )
        }
      >
        {described === undefined ? '\u00a0' : `${groupSentence(described, trend)}.`}
      </PageHead>
      <Loaded read={group} of={`The group ${groupId}`} rows={14}>
        {data =>
          data.groupId === groupId && (
            <>
              <LagChart read={history} samples={samples} />
              <Tabs
                of={groupId}
                tabs={GROUP_TABS.map(each => ({
                  page: 'group',
                  params,
                  search: { tab: each },
                  isCurrent: each === tab,
                  label: each === 'members' ? `${LABELS[each]} (${data.members.length})` : LABELS[each],
                }))}
              />
              {tab === 'partitions' && <Partitions group={data} />}
              {tab === 'members' && <Members group={data} />}
              {tab === 'access' && <Access groupId={groupId} />}
              {search.reset && mayReset && <ResetOffsets group={data} onClose={() => set({ reset: false })} />}
              {open === 'delete' && <DeleteGroup group={data} onClose={() => setOpen(null)} />}
              {open === 'offsets' && <DeleteOffsets group={data} onClose={() => setOpen(null)} />}
            </>
          )
        }
      </Loaded>
    </>
  )
}

function Unknown({ groupId }: { readonly groupId: string }) {
  return (
    <>
      <PageHead
        title={groupId}
        documentTitle={`${groupId} · Consumer group`}
        heading={<VisibleText text={groupId} />}
      />
      <Empty
        title="There is no group of this name"
        action={
          <PageLink page="groups" className={buttonClass()}>
            All consumer groups
          </PageLink>
        }
      >
        It was deleted, or no consumer has joined it yet. The name in the address counts exactly as it is written.
      </Empty>
    </>
  )
}
