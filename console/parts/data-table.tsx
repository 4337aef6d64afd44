// A table of data over the browser's own <table>: sorting by links of the address, hidden columns, rows that open, and
// two lines a row on a phone. The server sorts, filters and cuts the page.

import { ArrowDown, ArrowUp, Columns3 } from 'lucide-react'
import { type KeyboardEvent, memo, type ReactNode, type RefObject, useMemo, useRef, useState } from 'react'
import { usePreference } from '../shell/preferences.ts'
import { count } from '../text/format.ts'
import { Button } from './button.tsx'

export interface Column<Row> {
  /** The name in the list of hidden columns. */
  readonly id: string
  readonly head: string
  /** True for a column of buttons, whose head only screen readers need. */
  readonly isHeadHidden?: boolean
  /** The unit of the numbers, shown under the head. */
  readonly unit?: string
  /** The sort that the server knows; the column cannot be sorted without it. */
  readonly sort?: string
  /** Numbers are right aligned. */
  readonly isNumber?: boolean
  /** False for a column that a phone leaves out. The first column and two others are enough there. */
  readonly isOnPhone?: boolean
  /** True for a column that cannot be hidden. */
  readonly isFixed?: boolean
  readonly cell: (row: Row) => ReactNode
}

export interface Sorting {
  readonly sort: string
  readonly order: 'asc' | 'desc'
  onSort(sort: string, order: 'asc' | 'desc'): void
}

interface DataTableProps<Row> {
  /** The name of the table for screen readers, and for the list of hidden columns. */
  readonly name: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  readonly sorting?: Sorting
  /** Opens a row, by Enter or by a press anywhere in it. Its first cell should hold the same link. */
  readonly onOpen?: (row: Row) => void
  /** The row that is open. */
  readonly openKey?: string
  /** True lets the user hide columns. */
  readonly canHide?: boolean
  /** True while the rows belong to the page or filter before. */
  readonly isOld?: boolean
  /** Replaces the rows when there are none. */
  readonly empty?: ReactNode
}

const NONE: readonly string[] = []

const onPhone = ({ isOnPhone }: { readonly isOnPhone?: boolean }) => (isOnPhone === false ? 'max-sm:hidden' : '')

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { name, keyOf, columns, sorting, onOpen, openKey, canHide = false, isOld = false, empty } = props
  const [hidden] = usePreference('hiddenColumns')
  const body = useRef<HTMLTableSectionElement>(null)
  const rows = useSteadyRows(props.rows, keyOf, body)
  const hiddenHere = hidden[name] ?? NONE
  const shown = useMemo(
    () => columns.filter(({ id, isFixed }) => isFixed === true || !hiddenHere.includes(id)),
    [columns, hiddenHere],
  )
  const open = useRef(onOpen)
  open.current = onOpen

  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <div>
      {canHide && (
        <div className="mb-2 text-right">
          <ColumnChoice name={name} columns={columns} />
        </div>
      )}
      {/* Texts for screen readers in cells are placed absolutely: without `relative` they would widen the page. */}
      <section
        aria-label={name}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        className="relative overflow-x-auto rounded-card border border-line bg-surface"
      >
        <table
          className={`w-full border-collapse tabular-nums transition-opacity ${isOld ? 'opacity-60 delay-300' : ''}`}
          aria-busy={isOld}
        >
          <caption className="sr-only">{name}</caption>
          <thead>
            <tr className="border-b border-line">
              {shown.map(column => (
                <Head key={column.id} column={column} sorting={sorting} className={onPhone(column)} />
              ))}
            </tr>
          </thead>
          <tbody ref={body} data-rows>
            {rows.map(row => {
              const key = keyOf(row)
              return (
                <TableRow
                  key={key}
                  name={key}
                  row={row}
                  columns={shown}
                  isOpen={openKey === undefined ? undefined : key === openKey}
                  open={onOpen === undefined ? null : open}
                />
              )
            })}
          </tbody>
        </table>
      </section>
    </div>
  )
}

interface TableRowProps<Row> {
  readonly name: string
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  /** Undefined in a table whose rows do not open beside it. */
  readonly isOpen: boolean | undefined
  /** Null if rows do not open. */
  readonly open: RefObject<((row: Row) => void) | undefined> | null
}

function PlainTableRow<Row>({ name, row, columns, isOpen, open }: TableRowProps<Row>) {
  const opening =
    open === null
      ? {}
      : {
          tabIndex: 0,
          onKeyDown(event: KeyboardEvent<HTMLTableRowElement>) {
            if (event.key === 'Enter' && event.target === event.currentTarget) open.current?.(row)
            else moveFocus(event)
          },
          onClick(event: { readonly target: EventTarget }) {
            if (!isOwnControl(event.target)) open.current?.(row)
          },
        }
  return (
    <tr
      data-key={name}
      aria-selected={isOpen}
      {...opening}
      className={`h-9 border-b border-line last:border-0 max-sm:h-11 ${open === null ? '' : 'cursor-pointer hover:bg-raised'} ${isOpen === true ? 'bg-info-soft' : ''}`}
    >
      {columns.map((column, at) => {
        const className = `px-2 py-1 first:pl-3 last:pr-3 ${column.isNumber === true ? 'text-right whitespace-nowrap' : 'text-left'} ${onPhone(column)}`
        return at === 0 ? (
          <th key={column.id} scope="row" className={`${className} font-normal`}>
            {column.cell(row)}
          </th>
        ) : (
          <td key={column.id} className={className}>
            {column.cell(row)}
          </td>
        )
      })}
    </tr>
  )
}

/** A row is drawn again only if it or the columns have changed, so that a filter follows each letter. */
const TableRow = memo(PlainTableRow) as typeof PlainTableRow

/** The arrow keys go from row to row. */
function moveFocus(event: KeyboardEvent<HTMLTableRowElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  const { currentTarget: row } = event
  const next = step > 0 ? row.nextElementSibling : row.previousElementSibling
  if (next === null) return
  event.preventDefault()
  ;(next as HTMLElement).focus()
}

interface ColumnChoiceProps<Row> {
  /** The name of the table. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
}

/** Chooses the shown columns. A page with a bar of its own places it there; `canHide` places it above the table. */
export function ColumnChoice<Row>({ name, columns }: ColumnChoiceProps<Row>) {
  const [hidden, setHidden] = usePreference('hiddenColumns')
  const hiddenHere = hidden[name] ?? []
  return (
    <details className="relative max-sm:hidden">
      <summary className="inline-flex min-h-9 items-center gap-2 rounded-control px-2 text-muted hover:bg-raised">
        <Columns3 size={16} aria-hidden /> Columns
      </summary>
      <fieldset className="absolute right-0 z-20 rounded-card border border-line bg-surface p-3 text-left shadow-raised">
        <legend className="sr-only">Shown columns</legend>
        {columns
          .filter(({ isFixed }) => isFixed !== true)
          .map(({ id, head }) => (
            <label key={id} className="flex min-h-7 items-center gap-2 whitespace-nowrap">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={!hiddenHere.includes(id)}
                onChange={({ target }) =>
                  setHidden({
                    ...hidden,
                    [name]: target.checked ? hiddenHere.filter(each => each !== id) : [...hiddenHere, id],
                  })
                }
              />
              {head}
            </label>
          ))}
      </fieldset>
    </details>
  )
}

/** Returns whether a press belongs to a link or a control in the row, or ends the selection of a text. */
function isOwnControl(target: EventTarget): boolean {
  return (target as Element).closest('a,button,input,select,label,summary') !== null || String(getSelection()) !== ''
}

interface HeadProps<Row> {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
  readonly className: string
}

function Head<Row>({
  column: { head, isHeadHidden = false, unit, sort, isNumber = false },
  sorting,
  className,
}: HeadProps<Row>) {
  const isSorted = sort !== undefined && sorting?.sort === sort
  const Arrow = sorting?.order === 'asc' ? ArrowUp : ArrowDown
  const text = (
    <span className={isHeadHidden ? 'sr-only' : ''}>
      {head}
      {unit !== undefined && <span className="block text-dense font-normal text-muted">{unit}</span>}
    </span>
  )
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (sorting!.order === 'asc' ? 'ascending' : 'descending') : undefined}
      className={`relative px-2 py-2 align-bottom first:pl-3 last:pr-3 font-medium whitespace-nowrap ${isNumber ? 'text-right' : 'text-left'} ${className}`}
    >
      {sort === undefined || sorting === undefined ? (
        text
      ) : (
        <button
          type="button"
          className={`inline-flex min-h-6 items-end gap-1 font-medium ${isNumber ? 'text-right' : 'text-left'}`}
          onClick={() =>
            sorting.onSort(sort, isSorted ? (sorting.order === 'asc' ? 'desc' : 'asc') : isNumber ? 'desc' : 'asc')
          }
        >
          {text}
          {isSorted && <Arrow size={14} aria-hidden className="mb-0.5 shrink-0" />}
        </button>
      )}
    </th>
  )
}

/**
 * Returns the rows in the order in which they stand on the page, as long as the pointer or the focus is in the table:
 * a row must not move away under a press. New values are shown at once.
 */
function useSteadyRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  body: { readonly current: HTMLTableSectionElement | null },
): readonly Row[] {
  const [steady, setSteady] = useState<readonly string[]>([])
  const keys = rows.map(keyOf)
  const isHeld = body.current?.matches(':hover, :focus-within') === true
  const isSameSet = keys.length === steady.length && keys.every(key => steady.includes(key))
  if (isHeld && isSameSet) {
    const byKey = new Map(rows.map((row, at) => [keys[at]!, row]))
    return steady.map(key => byKey.get(key)!)
  }
  if (keys.length !== steady.length || keys.some((key, at) => key !== steady[at])) setSteady(keys)
  return rows
}

interface PagerProps {
  readonly total: number
  readonly offset: number
  readonly limit: number
  readonly onPage: (offset: number) => void
  /** The plural of the rows: `topics`. */
  readonly of: string
}

/** Which rows are shown, and the ways to the neighbouring pages. Renders nothing if one page holds all. */
export function Pager({ total, offset, limit, onPage, of }: PagerProps) {
  const nav = useRef<HTMLElement>(null)
  if (total <= limit && offset === 0) return null
  const last = Math.min(total, offset + limit)
  const turn = (to: number) => {
    onPage(to)
    // A long page begins at its first row. A page that is seen whole does not move.
    const list = nav.current?.parentElement
    if (list !== null && list !== undefined && list.getBoundingClientRect().top < 0) list.scrollIntoView()
  }
  return (
    <nav ref={nav} aria-label={`Pages of ${of}`} className="mt-3 flex flex-wrap items-center justify-end gap-3">
      <span className="text-muted tabular-nums">
        {count(offset + 1)}–{count(last)} of {count(total)} {of}
      </span>
      <Button isSmall disabled={offset === 0} onClick={() => turn(Math.max(0, offset - limit))}>
        Previous
      </Button>
      <Button isSmall disabled={last >= total} onClick={() => turn(offset + limit)}>
        Next
      </Button>
    </nav>
  )
}
