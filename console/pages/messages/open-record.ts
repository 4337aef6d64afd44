// Opens and closes records, and goes from one to its neighbour: in the list, over the ends of a page, and in the log of
// the partition if the list does not have the record.

import { useEffect, useState } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { ask } from '../../api/client.ts'
import { asProblem } from '../../api/problem.ts'
import { toast } from '../../shell/toasts.tsx'
import { type MessageSearch, type Place, placeOf, placeText } from './selection.ts'

interface OpenRecordOptions {
  readonly topic: string
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
  /** Opens the neighbour; null if the list ends there. */
  readonly up: (() => void) | null
  readonly down: (() => void) | null
}

export function useOpenRecord(options: OpenRecordOptions): OpenRecord {
  const { topic, search, records, before, after, onPage, onOpen } = options
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
  const inLog = (step: 1 | -1) => () => {
    const place = placeOf(search.at)
    if (place !== null) void openInLog(topic, place, step, found => onOpen(placeText(found), false))
  }
  // The list is in the order of the page; a log is shown oldest first.
  return {
    show: record => onOpen(placeText(record), search.at === ''),
    close() {
      onOpen('', false)
      rowOf(search.at)?.focus({ preventScroll: true })
    },
    up: isListed ? (at > 0 ? to(records[at - 1]!) : turn(before, -1)) : inLog(-1),
    down: isListed ? (at + 1 < records.length ? to(records[at + 1]!) : turn(after, 0)) : inLog(1),
  }
}

function rowOf(at: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(at)}"]`)
}

/** Finds the record before or after a place in its partition. Offsets may have gaps. */
async function openInLog(topic: string, place: Place, step: 1 | -1, onFound: (found: Place) => void): Promise<void> {
  const { partition } = place
  const order = step === 1 ? 'oldest' : 'newest'
  const end = `This is the ${step === 1 ? 'last' : 'first'} record of partition ${partition}.`
  const offset = place.offset + step
  if (offset < 0) return toast(end)
  try {
    const query = { partition, order, offset, limit: 1, previewBytes: 0 }
    const { messages } = await ask('browse messages', { params: { topic }, query })
    if (messages[0] === undefined) toast(end)
    else onFound(messages[0])
  } catch (error) {
    toast(`The neighbour could not be read. ${asProblem(error).detail}`)
  }
}
