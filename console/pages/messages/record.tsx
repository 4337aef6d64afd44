// The open record, beside the list on a wide screen and in its place on others. It is read by its own place, so that a
// link to it works whatever the list shows.

import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { RECORD_TABS } from '../../../src/api/pages.ts'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Empty, Skeleton } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { count } from '../../text/format.ts'
import { Compare } from './compare.tsx'
import { openInLog } from './log-neighbour.ts'
import { RecordActions } from './record-actions.tsx'
import { Details, Headers, Part } from './record-parts.tsx'
import { decodingOf, type MessageSearch, type Place, placeOf, placeText } from './selection.ts'

interface RecordPanelProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly place: Place
  /** False until the decoding that suits the topic is known. */
  readonly isSettled: boolean
  /** Why the broker cannot decode as the address says; null if it can. */
  readonly undecodable: string | null
  /** The record as the list has it, shown until the whole one is there. */
  readonly listed: ShownRecord | undefined
  readonly isCompacted: boolean
  /** True if the list has the open record. Otherwise its neighbours are those in its log. */
  readonly isListed: boolean
  /** Opens the neighbour in the list; null at an end of the list. */
  readonly onUp: (() => void) | null
  readonly onDown: (() => void) | null
  readonly onClose: () => void
  readonly onChange: (values: Partial<MessageSearch>) => void
}

type RecordTab = (typeof RECORD_TABS)[number]

const TAB_LABELS: Readonly<Record<RecordTab, string>> = {
  value: 'Value',
  key: 'Key',
  headers: 'Headers',
  details: 'Details',
  compare: 'Compare',
}

export function RecordPanel(props: RecordPanelProps) {
  const { topic, search, place, isSettled, undecodable, listed, isCompacted, isListed, onClose, onChange } = props
  const inLog = (step: 1 | -1) => () => void openInLog(topic, place, step, found => onChange({ at: placeText(found) }))
  // The list is in the order of the page; a log is shown oldest first.
  const onUp = isListed ? props.onUp : inLog(-1)
  const onDown = isListed ? props.onDown : inLog(1)
  const heading = useRef<HTMLHeadingElement>(null)
  const read = useRead(
    'show message',
    { params: { topic, ...place }, query: decodingOf(search) },
    { everyMs: 0, isWanted: isSettled && undecodable === null },
  )
  // While another record loads, the answer is still that of the one before.
  const whole =
    read.data !== undefined && placeText(read.data) === placeText(place) && !read.isOld ? read.data : undefined
  const record = whole ?? listed
  const pinned = search.pin === placeText(place) ? null : placeOf(search.pin)
  const tabs = RECORD_TABS.filter(tab => tab !== 'compare' || pinned !== null)
  const view = tabs.includes(search.view) ? search.view : 'value'

  // biome-ignore lint/correctness/useExhaustiveDependencies: each record that opens gets the focus
  useEffect(() => heading.current!.focus({ preventScroll: true }), [place.partition, place.offset])
  useEscape(onClose)

  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isOwnKey(event.target as Element)) return
    const step = { ArrowUp: onUp, k: onUp, ArrowDown: onDown, j: onDown }[event.key]
    if (step === undefined) return
    // The keys of the page would go to the rows of the list.
    event.preventDefault()
    event.stopPropagation()
    step?.()
  }

  return (
    <section
      aria-label={`Record at offset ${place.offset} of partition ${place.partition}`}
      data-record={placeText(place)}
      onKeyDown={press}
      className="lg:fixed lg:top-12 lg:right-0 lg:bottom-0 lg:z-10 lg:w-2/5 lg:overflow-y-auto lg:border-l lg:border-line lg:bg-surface lg:px-4 lg:pb-6 lg:shadow-raised"
    >
      <div className="sticky top-0 z-10 flex items-start justify-between gap-2 pb-2 lg:bg-surface lg:pt-3">
        <div className="min-w-0">
          {/* Where the record is the page, the head of the page is hidden. */}
          <h1 tabIndex={-1} className="text-muted lg:hidden">
            <VisibleText text={topic} />
          </h1>
          <h2 ref={heading} tabIndex={-1} className="text-section font-semibold tabular-nums outline-none">
            Partition {place.partition} · offset {count(place.offset)}
          </h2>
          {record !== undefined && (
            <p className="text-muted">
              <Time ms={record.timestamp} />
            </p>
          )}
        </div>
        <div className="flex gap-1">
          <Button
            kind="quiet"
            icon={ChevronUp}
            aria-label="Record above"
            title="k or ↑"
            disabled={onUp === null}
            onClick={() => onUp?.()}
          />
          <Button
            kind="quiet"
            icon={ChevronDown}
            aria-label="Record below"
            title="j or ↓"
            disabled={onDown === null}
            onClick={() => onDown?.()}
          />
          <Button kind="quiet" icon={X} aria-label="Close the record" title="Esc" onClick={onClose} />
        </div>
      </div>
      {read.problem !== null && whole === undefined && (
        <ProblemNote problem={read.problem} of="The record" onRetry={read.retry} />
      )}
      {undecodable !== null ? (
        <Empty title="Schema registry">{undecodable}</Empty>
      ) : record === undefined ? (
        read.problem === null && <Skeleton rows={8} />
      ) : (
        <>
          <RecordActions
            topic={topic}
            search={search}
            record={record}
            isWhole={whole !== undefined}
            onChange={onChange}
          />
          <Tabs
            of="the record"
            tabs={tabs.map(tab => ({
              page: 'messages' as const,
              params: { topic },
              search: { ...search, view: tab },
              label: tab === 'headers' ? `${TAB_LABELS[tab]} (${count(record.headerCount)})` : TAB_LABELS[tab],
              isCurrent: tab === view,
            }))}
          />
          <Shown view={view} record={record}>
            {view === 'value' && <Part topic={topic} record={record} part="value" isCompacted={isCompacted} />}
            {view === 'key' && <Part topic={topic} record={record} part="key" isCompacted={false} />}
            {view === 'headers' && <Headers record={record} />}
            {view === 'details' && <Details record={record} />}
            {view === 'compare' && <Compare topic={topic} search={search} record={record} pinned={pinned!} />}
          </Shown>
        </>
      )}
    </section>
  )
}

/** Another record, or another part of it, begins with its own view and its own place in the text. */
function Shown({
  view,
  record,
  children,
}: {
  readonly view: string
  readonly record: ShownRecord
  readonly children: ReactNode
}) {
  return <div key={`${view} ${placeText(record)}`}>{children}</div>
}

/** Text that scrolls and fields have the arrow keys themselves. */
function isOwnKey(target: Element): boolean {
  return target.closest('pre,input,textarea,select,[data-large-text],dialog') !== null
}

function useEscape(onEscape: () => void): void {
  const latest = useRef(onEscape)
  latest.current = onEscape
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || isField(event.target)) return
      if (document.querySelector('dialog[open]') === null) latest.current()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Escape in a field of the page belongs to the field. */
function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input,textarea,select') !== null
}
