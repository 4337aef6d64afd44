// The page Consumer groups: the groups of the whole cluster with their lag, worst first.

import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { ColumnChoice, DataTable, Pager } from '../../parts/data-table.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { PageHead } from '../../parts/page.tsx'
import { SilentBrokers } from '../../parts/silent-brokers.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { ConsumeCommands } from './consume-commands.tsx'
import { groupColumns } from './group-columns.tsx'
import { thatFit } from './request-size.ts'
import { StateFilter } from './state-filter.tsx'
import { TREND_SAMPLES } from './trend.ts'

const NAME = 'Consumer groups'
const LIMIT = 100

export function Groups() {
  const { search, set } = useHere('groups')
  const go = useGo()
  const { q, state, sort, order } = search
  const offset = search.offset ?? 0
  const groups = useRead('list groups', { query: { q, state, sort, order, offset, limit: LIMIT } })
  const shown = thatFit((groups.data?.groups ?? []).map(({ groupId }) => groupId))
  // The order of the rows changes with each answer; the request should not.
  const asked = [...shown].sort()
  const lags = useRead(
    'read consumer lag',
    { query: { groups: asked, samples: TREND_SAMPLES } },
    { isWanted: shown.length > 0 },
  )
  const samples = new Map(
    (lags.data?.groups ?? []).map(({ groupId, samples: own = [] }) => [groupId, own.map(({ lag }) => lag)]),
  )
  const columns = groupColumns(samples)
  const isFiltered = q !== '' || state !== ''

  return (
    <>
      <PageHead title="Consumer groups">
        <span role="status">
          {groups.data === undefined
            ? '\u00a0'
            : `${counted(groups.data.total, 'group')}${isFiltered ? ' with this filter' : ''}`}
        </span>
      </PageHead>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <FilterField label="Filter groups by name" value={q} onChange={text => set({ q: text, offset: null })} />
        <StateFilter value={state} onChange={text => set({ state: text, offset: null }, { isStep: true })} />
        <div className="ml-auto">
          <ColumnChoice name={NAME} columns={columns} />
        </div>
      </div>
      <Loaded read={groups} of="The consumer groups" rows={10}>
        {({ groups: rows, total, unavailableBrokers }) => (
          <>
            <SilentBrokers brokers={unavailableBrokers} of="groups" />
            <div role="status">
              {lags.data === undefined && lags.problem !== null && (
                <p className="mb-2 text-muted">The trends are not known. {lags.problem.title}</p>
              )}
            </div>
            <DataTable
              name={NAME}
              rows={rows}
              keyOf={({ groupId }) => groupId}
              columns={columns}
              sorting={{
                sort,
                order,
                onSort: (by, direction) =>
                  set({ sort: by as typeof sort, order: direction, offset: null }, { isStep: true }),
              }}
              onOpen={({ groupId }) => go({ page: 'group', params: { group: groupId } })}
              isOld={groups.isOld}
              empty={
                isFiltered ? (
                  <Empty
                    title={q === '' ? 'No group is in these states' : `No group here contains “${q}”`}
                    action={
                      <Button onClick={() => set({ q: '', state: '', offset: null }, { isStep: true })}>
                        Clear the filter
                      </Button>
                    }
                  />
                ) : (
                  <Empty title="No consumer groups yet" action={<ConsumeCommands />}>
                    A group appears here when a consumer joins it or commits an offset. You can then see how far the
                    group has read, and how many records wait for it.
                  </Empty>
                )
              }
            />
            <Pager
              total={total}
              offset={offset}
              limit={LIMIT}
              of="groups"
              onPage={to => set({ offset: to === 0 ? null : to }, { isStep: true })}
            />
          </>
        )}
      </Loaded>
    </>
  )
}
