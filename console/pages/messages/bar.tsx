// The filters of the page Messages. Each change is in the address at once. A phone has them in a dialog.

import { Radio, SlidersHorizontal } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import type { Capability } from '../../../src/api/capabilities.ts'
import { PAGE_SIZES } from '../../../src/api/pages.ts'
import type { Decoding } from '../../../src/api/words.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { CONTROL, Field, SelectField, TextField } from '../../parts/field.tsx'
import { TimeField, useZone } from '../../parts/time.tsx'
import { instant, readInstant } from '../../text/zone.ts'
import { GroupStart } from './group-start.tsx'
import { countFilters, type MessageSearch, type Missing, type ReadingOrder, startOf } from './selection.ts'

export const DECODING_LABELS: Readonly<Record<Decoding, string>> = {
  raw: 'Raw base64',
  utf8: 'UTF-8',
  json: 'Best-effort JSON',
  registry: 'Schema registry',
}

export const ORDER_LABELS: Readonly<Record<ReadingOrder, string>> = { oldest: 'Oldest first', newest: 'Newest first' }

const ORDER_NOTE = 'By timestamp across partitions; offsets are ordered only within one.'

export interface BarProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly order: ReadingOrder
  /** Undefined until the topic is described. */
  readonly partitions: number | undefined
  readonly missing: Missing | null
  readonly registry: Capability | undefined
  /** Changes the address. The page then begins again, unless a cursor is among the values. */
  readonly onChange: (values: Partial<MessageSearch>) => void
}

export function Bar(props: BarProps) {
  const { search, order, missing, onChange } = props
  const [isOpen, setOpen] = useState(false)
  const count = countFilters(search, order)
  return (
    <section aria-label="Filters" className="mb-3 rounded-card border border-line bg-surface px-4">
      <div className="flex flex-wrap items-start gap-x-4 max-sm:gap-x-2">
        <div className="min-w-40 grow basis-80">
          <SearchText value={search.contains} onChange={contains => onChange({ contains })} />
        </div>
        <div className="flex gap-x-4 max-sm:hidden">
          <Decodings {...props} />
        </div>
        <div className="my-3 flex gap-2 pt-6 max-sm:mt-0 max-sm:grow max-sm:justify-end max-sm:pt-0">
          <div className="sm:hidden">
            <Button icon={SlidersHorizontal} aria-haspopup="dialog" onClick={() => setOpen(true)}>
              Filters{count > 0 && ` (${count})`}
            </Button>
          </div>
          <Button
            kind={search.live ? 'primary' : 'plain'}
            icon={Radio}
            aria-pressed={search.live}
            title="Show records as they arrive"
            onClick={() => onChange({ live: !search.live })}
          >
            Live
          </Button>
        </div>
      </div>
      <div className="-mt-2 max-sm:hidden">
        <Filters {...props} />
      </div>
      {isOpen && (
        <Dialog title="Filters" onClose={() => setOpen(false)}>
          <Filters {...props} />
          <Decodings {...props} />
        </Dialog>
      )}
      {missing !== null && (
        <p role="status" className="mb-3 text-warn sm:hidden">
          {MISSING[missing]}
        </p>
      )}
    </section>
  )
}

export const MISSING: Readonly<Record<Missing, string>> = {
  partition: 'Choose a partition. An offset is a position in one partition.',
  offset: 'Enter the offset of the first record.',
  timestamp: 'Enter the time of the first record.',
}

/** The typed text is kept here, because the address follows it a moment later. */
function SearchText({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [typed, setTyped] = useDraft(value)
  return (
    <TextField
      label="Search"
      type="search"
      placeholder="Text in keys or values"
      maxLength={1_024}
      value={typed}
      onChange={text => {
        setTyped(text)
        onChange(text)
      }}
    />
  )
}

/** Returns a typed text that follows the address only when somebody else changed that. */
function useDraft(value: string): readonly [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  useEffect(() => {
    if (value !== sent.current) setTyped(value)
    sent.current = value
  }, [value])
  return [
    typed,
    text => {
      sent.current = text
      setTyped(text)
    },
  ]
}

function Filters(props: BarProps) {
  const { search, order, partitions, missing, onChange } = props
  const isLive = search.live
  const noteId = useId()
  return (
    <div className="flex flex-wrap items-start gap-x-4">
      <div className="w-24 max-sm:w-full">
        <SelectField
          label="Partition"
          value={search.partition === null ? '' : String(search.partition)}
          options={[
            ['', 'All'],
            ...partitionsOf(partitions, search.partition).map(each => [String(each), String(each)] as const),
          ]}
          error={missing === 'partition' ? MISSING.partition : undefined}
          onChange={text => onChange({ partition: text === '' ? null : Number(text) })}
        />
      </div>
      {!isLive && <Start {...props} />}
      {!isLive && (
        <div className="w-36 max-sm:w-full">
          <Field label="Order">
            {attributes => (
              <select
                {...attributes}
                aria-describedby={noteId}
                value={order}
                onChange={event => onChange({ order: event.target.value as ReadingOrder })}
                className={CONTROL}
              >
                {Object.entries(ORDER_LABELS).map(([word, label]) => (
                  <option key={word} value={word}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
      )}
      {!isLive && (
        <div className="w-20 max-sm:w-full">
          <SelectField
            label="Page size"
            value={search.limit}
            options={PAGE_SIZES.map(size => [size, size])}
            onChange={text => onChange({ limit: text as MessageSearch['limit'] })}
          />
        </div>
      )}
      {!isLive && (
        <p id={noteId} className="mb-3 basis-full text-dense text-muted">
          {ORDER_NOTE}
        </p>
      )}
    </div>
  )
}

function Decodings({ search, registry, onChange }: BarProps) {
  const because = registry !== undefined && registry.state !== 'on' ? (registry.because ?? undefined) : undefined
  return (
    <>
      <div className="w-40 max-sm:w-full">
        <SelectField
          label="Decode as"
          value={search.decode}
          options={Object.entries(DECODING_LABELS)}
          hint={search.decode === 'registry' ? because : undefined}
          onChange={text => onChange({ decode: text as Decoding })}
        />
      </div>
      <div className="w-40 max-sm:w-full">
        <SelectField
          label="Decode key as"
          value={search.keyDecode}
          options={[['', 'The same'], ...Object.entries(DECODING_LABELS)]}
          hint={search.keyDecode === 'registry' ? because : undefined}
          onChange={text => onChange({ keyDecode: text as MessageSearch['keyDecode'] })}
        />
      </div>
    </>
  )
}

/** A partition of the address is offered even if the topic has no such partition: the broker then says so. */
function partitionsOf(partitions: number | undefined, chosen: number | null): readonly number[] {
  const all = Array.from({ length: partitions ?? 0 }, (_, partition) => partition)
  return chosen === null || all.includes(chosen) ? all : [...all, chosen]
}

const MINUTE_MS = 60_000

/** Choices that fill the time in, or ask for more. */
const PRESETS = [
  ['5-minutes', '5 minutes ago'],
  ['1-hour', '1 hour ago'],
  ['today', 'Today'],
  ['group', 'A group’s position…'],
] as const

function Start({ topic, search, order, missing, onChange }: BarProps) {
  const zone = useZone()
  const [isChoosing, setChoosing] = useState(false)
  /** Counts the times that were filled in: a field for typing keeps its own text. */
  const [filled, setFilled] = useState(0)
  const start = startOf(search)
  const edge = order === 'oldest' ? 'earliest' : 'latest'
  const other = order === 'oldest' ? 'latest' : 'earliest'
  const choose = (word: string) => {
    setFilled(filled + 1)
    if (word === 'group') setChoosing(true)
    else if (word === '5-minutes') onChange({ from: 'timestamp', timestamp: Date.now() - 5 * MINUTE_MS })
    else if (word === '1-hour') onChange({ from: 'timestamp', timestamp: Date.now() - 60 * MINUTE_MS })
    else if (word === 'today') onChange({ from: 'timestamp', timestamp: midnight(Date.now(), zone) })
    else onChange({ from: word as MessageSearch['from'], offset: null, timestamp: null })
  }
  return (
    <>
      <div className="w-40 max-sm:w-full">
        <SelectField
          label="From"
          value={start === edge ? '' : start}
          options={[
            ['', EDGE_LABELS[edge]],
            ...(start === other ? [[other, EDGE_LABELS[other]] as const] : []),
            ['offset', 'Specific offset'],
            ['timestamp', 'Timestamp'],
            ...PRESETS,
          ]}
          onChange={choose}
        />
      </div>
      {start === 'offset' && (
        <div className="w-44 max-sm:w-full">
          <OffsetField
            value={search.offset}
            isMissing={missing === 'offset'}
            onChange={offset => onChange({ offset })}
          />
        </div>
      )}
      {start === 'timestamp' && (
        <div className="w-60 max-sm:w-full">
          <TimeField
            key={`${filled} ${zone}`}
            label="Timestamp"
            value={search.timestamp}
            error={missing === 'timestamp' ? MISSING.timestamp : undefined}
            onChange={timestamp => onChange({ from: 'timestamp', timestamp })}
          />
        </div>
      )}
      {isChoosing && (
        <GroupStart
          topic={topic}
          onClose={() => setChoosing(false)}
          onChoose={place => {
            setChoosing(false)
            onChange({ from: 'offset', timestamp: null, ...place })
          }}
        />
      )}
    </>
  )
}

const EDGE_LABELS = { earliest: 'Earliest', latest: 'Latest' } as const

function OffsetField({
  value,
  isMissing,
  onChange,
}: {
  readonly value: number | null
  readonly isMissing: boolean
  readonly onChange: (offset: number | null) => void
}) {
  const [typed, setTyped] = useDraft(value === null ? '' : String(value))
  const isOffset = /^\d{1,16}$/.test(typed.trim()) && Number.isSafeInteger(Number(typed))
  const objection =
    typed.trim() === '' || isOffset
      ? undefined
      : `${JSON.stringify(typed)} is not an offset. Offsets are whole numbers from 0.`
  return (
    <TextField
      label="Offset"
      inputMode="numeric"
      value={typed}
      error={objection ?? (isMissing && typed === '' ? MISSING.offset : undefined)}
      onChange={text => {
        setTyped(text)
        const isGood = /^\d{1,16}$/.test(text.trim()) && Number.isSafeInteger(Number(text))
        onChange(isGood ? Number(text) : null)
      }}
    />
  )
}

/** Returns the beginning of the day in the zone. */
function midnight(ms: number, zone: string): number {
  const read = readInstant(instant(ms, zone).slice(0, 'YYYY-MM-DD'.length), zone)
  return 'ms' in read ? read.ms : ms
}
