// A list of the page Security: its verb, its filter, the table and its pages. The three tabs differ in rows and
// columns.

import type { ReactNode } from 'react'
import type { Read } from '../../api/queries.ts'
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useHere } from '../../shell/address.tsx'

const LIMIT = 100

/** Returns the query of a list for the address; `sort` is the sort that the list has by default. */
export function useListQuery(sort: string) {
  const { search } = useHere('security')
  const { q, order, offset } = search
  return { q, sort: search.sort || sort, order, offset: offset ?? 0, limit: LIMIT }
}

interface SecurityListProps<Answer, Row> {
  /** The plural of the rows: `users`. */
  readonly of: string
  readonly read: Read<Answer & { readonly total: number; readonly unreadable: readonly string[] }>
  readonly rowsOf: (answer: Answer) => readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  /** The sort that the list has by default. */
  readonly sort: string
  readonly actions: ReactNode
  readonly note?: ReactNode
  readonly empty: ReactNode
}

export function SecurityList<Answer, Row>(props: SecurityListProps<Answer, Row>) {
  const { of, read, rowsOf, keyOf, columns, sort, actions, note, empty } = props
  const { search, set } = useHere('security')
  const offset = search.offset ?? 0
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <FilterField label={`Filter ${of}`} value={search.q} onChange={q => set({ q, offset: null })} />
        <div className="flex flex-wrap gap-2">{actions}</div>
      </div>
      {note}
      <Loaded read={read} of={`The ${of}`} rows={5}>
        {answer => (
          <>
            {answer.unreadable.length > 0 && (
              <p className="my-3 rounded-control bg-warn-soft p-3 text-warn">
                Another program stored these in a form that this version cannot read: {answer.unreadable.join(', ')}.
              </p>
            )}
            <DataTable
              name={of}
              rows={rowsOf(answer)}
              keyOf={keyOf}
              columns={columns}
              sorting={{
                sort: search.sort || sort,
                order: search.order,
                onSort: (by, order) => set({ sort: by, order, offset: null }),
              }}
              isOld={read.isOld}
              empty={
                search.q === '' ? (
                  empty
                ) : (
                  <p className="py-6 text-center text-muted">
                    No {of} contain “<VisibleText text={search.q} />
                    ”.
                  </p>
                )
              }
            />
            <Pager
              total={answer.total}
              offset={offset}
              limit={LIMIT}
              of={of}
              onPage={to => set({ offset: to }, { isStep: true })}
            />
          </>
        )}
      </Loaded>
    </>
  )
}
