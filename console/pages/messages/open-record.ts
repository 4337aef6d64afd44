// Opens and closes records, and goes from one to its neighbour in the list, also over the ends of a page. A record that
// is not in the list has its neighbours in log-neighbour.ts.

import { useEffect, useState } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { type MessageSearch, placeText } from './selection.ts'

interface OpenRecordOptions {
  readonly search: MessageSearch
  /** The records of the list; empty while it loads. */
  readonly records: readonly ShownRecord[]
  /** The cursors of the pages before and after; null if the list begins or ends here. */
  readonly before: string | null
  readonly after: string | null
  readonly onPage: (cursor: string) => void
  readonly onOpen: (at: string, isStep: boolean) => void
}

interface OpenRecord {
  show(record: ShownRecord): void
  close(): void
  /** False if the list does not have the open record, and so no neighbour of it. */
  readonly isListed: boolean
  /** Opens the neighbour; null if the list ends there. */
  readonly up: (() => void) | null
  readonly down: (() => void) | null
}

export function useOpenRecord(options: OpenRecordOptions): OpenRecord {
  const { search, records, before, after, onPage, onOpen } = options
  /** Which record of the page that loads will be opened. */
  const [awaited, setAwaited] = useState<{ readonly cursor: string; readonly which: 0 | -1 } | null>(null)
  const at = records.findIndex(record => placeText(record) === search.at)
  const isListed = at >= 0

  useEffect(() => {
    if (awaited === null || awaited.cursor !== search.cursor) return
    const record = records.at(awaited.which)
    if (record === undefined) return
    setAwaited(null)
    onOpen(placeText(record), false)
  })

  // The list shows which of its records is open, also after the keys have left the part in view.
  useEffect(() => {
    if (isListed) rowOf(search.at)?.scrollIntoView({ block: 'nearest' })
  }, [search.at, isListed])

  const turn = (cursor: string | null, which: 0 | -1) =>
    cursor === null
      ? null
      : () => {
          setAwaited({ cursor, which })
          onPage(cursor)
        }
  const to = (record: ShownRecord) => () => onOpen(placeText(record), false)
  return {
    isListed,
    show: record => onOpen(placeText(record), search.at === ''),
    close() {
      onOpen('', false)
      rowOf(search.at)?.focus({ preventScroll: true })
    },
    up: at > 0 ? to(records[at - 1]!) : turn(before, -1),
    down: at + 1 < records.length ? to(records[at + 1]!) : turn(after, 0),
  }
}

function rowOf(at: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(at)}"]`)
}
