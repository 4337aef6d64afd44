// The tab Judged topics: the topics whose keys or values are checked when they are produced, and how many records were
// not valid.

import type { JudgedTopic, SchemaPartRule } from '../../../src/api/judged-topics.ts'
import { JUDGED_TOPIC_SORTS } from '../../../src/api/words.ts'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx'
import { SwitchField } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageLink, useGo, useHere } from '../../shell/address.tsx'
import { Refused, RuleMark, SubjectLink } from './marks.tsx'
import { STRATEGIES } from './words.ts'

const LIMIT = 100

export function JudgedTopics() {
  const { search, set } = useHere('schemas')
  const go = useGo()
  const { q, all } = search
  const sort = JUDGED_TOPIC_SORTS.find(each => each === search.sort) ?? 'topic'
  const order = sort === search.sort ? search.order : 'asc'
  const offset = search.offset ?? 0
  const read = useRead('list judged topics', { query: { q, all, sort, order, offset, limit: LIMIT } })
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-1">
        <FilterField label="Filter topics by name" value={q} onChange={text => set({ q: text, offset: null })} />
        <SwitchField
          label="Topics that are not judged too"
          isOn={all}
          onChange={isOn => set({ all: isOn, offset: null }, { isStep: true })}
        />
      </div>
      <Loaded read={read} of="The judged topics" rows={8}>
        {({ topics, total }) => (
          <>
            <DataTable
              name="Judged topics"
              rows={topics}
              keyOf={({ topic }) => topic}
              columns={COLUMNS}
              sorting={{
                sort,
                order,
                onSort: (by, to) => set({ sort: by as typeof sort, order: to, offset: null }, { isStep: true }),
              }}
              onOpen={({ topic }) => go({ page: 'topic', params: { topic }, search: { tab: 'schemas' } })}
              isOld={read.isOld}
              empty={<NoTopics />}
            />
            <Pager
              total={total}
              offset={offset}
              limit={LIMIT}
              of="topics"
              onPage={to => set({ offset: to === 0 ? null : to }, { isStep: true })}
            />
          </>
        )}
      </Loaded>
      <p className="mt-3 text-muted">
        Refused: records that were not valid, since this broker started, on this broker.
      </p>
      <CopyAsCommand task={{ do: 'list-judged-topics', q, all }} />
    </>
  )
}

const part = (id: 'key' | 'value', head: string): Column<JudgedTopic> => ({
  id,
  head,
  cell: topic => <Rule {...topic[id]} />,
})

const COLUMNS: readonly Column<JudgedTopic>[] = [
  {
    id: 'topic',
    head: 'Topic',
    sort: 'topic',
    isFixed: true,
    cell: ({ topic }) => (
      <PageLink
        page="topic"
        params={{ topic }}
        search={{ tab: 'schemas' }}
        title={topic}
        className="line-clamp-3 w-fit text-accent underline-offset-2 hover:underline"
      >
        {topic}
      </PageLink>
    ),
  },
  part('key', 'Keys'),
  part('value', 'Values'),
  {
    id: 'refused',
    head: 'Refused',
    unit: 'records',
    sort: 'refused',
    isNumber: true,
    cell: ({ refused }) => <Refused of={refused} />,
  },
]

function Rule({ judged, action, strategy, subject, required }: SchemaPartRule) {
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <RuleMark judged={judged} action={action} />
      {judged && (
        <span className="max-sm:hidden">
          {subject === null ? (
            <span className="text-muted" title={STRATEGIES[strategy]}>
              {strategy}
            </span>
          ) : (
            <SubjectLink subject={subject} />
          )}
          {required && (
            <span className="text-muted" title="Records without a schema are not valid either.">
              {' '}
              · required
            </span>
          )}
        </span>
      )}
    </span>
  )
}

function NoTopics() {
  const { search, set } = useHere('schemas')
  const { q, all, offset } = search
  if (offset !== null && offset > 0)
    return (
      <Empty
        title="This page has no topics any more"
        action={<Button onClick={() => set({ offset: null })}>Go to the first page</Button>}
      />
    )
  if (q !== '')
    return (
      <Empty
        title={`No ${all ? 'topic' : 'judged topic'} contains “${q}”`}
        action={<Button onClick={() => set({ q: '', offset: null }, { isStep: true })}>Clear the filter</Button>}
      />
    )
  return (
    <Empty title={all ? 'No topics yet' : 'No topic is judged'}>
      The records of a topic are checked once its subject has a version: <code className="font-mono">orders-value</code>{' '}
      for the values of <code className="font-mono">orders</code>, and <code className="font-mono">orders-key</code> for
      its keys.
    </Empty>
  )
}
