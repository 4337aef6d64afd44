// The tab Subjects: all subjects of the registry, filtered and sorted by the broker.

import { SUBJECT_SORTS } from '../../../src/api/words.ts'
import { useRead } from '../../api/queries.ts'
import { Action, Button } from '../../parts/button.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { ColumnChoice, DataTable, Pager } from '../../parts/data-table.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { SUBJECT_COLUMNS } from './subject-columns.tsx'

const NAME = 'Subjects'
const LIMIT = 100

const SHOWN = [
  ['hide', 'Live'],
  ['show', 'All'],
  ['only', 'Deleted'],
] as const

export function SubjectList() {
  const { search, set } = useHere('schemas')
  const go = useGo()
  const { q, deleted } = search
  const sort = SUBJECT_SORTS.find(each => each === search.sort) ?? 'subject'
  const order = sort === search.sort ? search.order : 'asc'
  const offset = search.offset ?? 0
  const read = useRead('list schema subjects', { query: { q, deleted, sort, order, offset, limit: LIMIT } })
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <FilterField label="Filter subjects by name" value={q} onChange={text => set({ q: text, offset: null })} />
        <Segments
          label="Shown subjects"
          options={SHOWN}
          value={deleted}
          onChange={to => set({ deleted: to, offset: null }, { isStep: true })}
        />
        <div className="ml-auto">
          <ColumnChoice name={NAME} columns={SUBJECT_COLUMNS} />
        </div>
      </div>
      <Loaded read={read} of="The subjects" rows={10}>
        {({ subjects, total }) => (
          <>
            <DataTable
              name={NAME}
              rows={subjects}
              keyOf={({ subject }) => subject}
              columns={SUBJECT_COLUMNS}
              sorting={{
                sort,
                order,
                onSort: (by, to) => set({ sort: by as typeof sort, order: to, offset: null }, { isStep: true }),
              }}
              onOpen={({ subject }) => go({ page: 'subject', params: { subject } })}
              isOld={read.isOld}
              empty={<NoSubjects />}
            />
            <Pager
              total={total}
              offset={offset}
              limit={LIMIT}
              of="subjects"
              onPage={to => set({ offset: to === 0 ? null : to }, { isStep: true })}
            />
          </>
        )}
      </Loaded>
      <CopyAsCommand task={{ do: 'list-subjects', q, ...(deleted === 'hide' ? {} : { deleted }) }} />
    </>
  )
}

function NoSubjects() {
  const { search, set } = useHere('schemas')
  const { q, deleted, offset } = search
  if (offset !== null && offset > 0)
    return (
      <Empty
        title="This page has no subjects any more"
        action={<Button onClick={() => set({ offset: null })}>Go to the first page</Button>}
      />
    )
  if (q !== '')
    return (
      <Empty
        title={`No ${deleted === 'only' ? 'deleted subject' : 'subject'} contains “${q}”`}
        action={<Button onClick={() => set({ q: '', offset: null }, { isStep: true })}>Clear the filter</Button>}
      >
        {deleted === 'hide' && 'Deleted subjects are hidden.'}
      </Empty>
    )
  if (deleted === 'only') return <Empty title="No subject is deleted" />
  return (
    <Empty
      title="No subjects yet"
      action={
        <Action operation="register schema" onClick={() => set({ register: true }, { isStep: true })}>
          Register schema
        </Action>
      }
    >
      A subject holds the versions of one schema. The subject <code className="font-mono">orders-value</code> has the
      schema of the values in the topic <code className="font-mono">orders</code>. Clients with a schema serializer
      register it with their first record.
    </Empty>
  )
}
