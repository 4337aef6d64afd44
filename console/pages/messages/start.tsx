// The filter of the start position: an end of the log, an offset, a time, or a choice that fills one of them in.

import { useState } from 'react'
import type { Capability } from '../../../src/api/capabilities.ts'
import { SelectField, TextField } from '../../parts/field.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import type { SchemaParts } from '../../parts/schema-parts.ts'
import { useZone } from '../../parts/time.tsx'
import { nowMs } from '../../shell/clock.ts'
import { startOfDay } from '../../text/zone.ts'
import { useDraft } from './draft.ts'
import { type MessageSearch, type Missing, type ReadingOrder, startOf } from './selection.ts'

const TimeField = lazyPart(async () => (await import('../../parts/time-field.tsx')).TimeField)
const GroupStart = lazyPart(async () => (await import('./group-start.tsx')).GroupStart)

/** The state that the filters show and change. */
export interface FilterProps {
  readonly topic: string
  readonly search: MessageSearch
  /** The decodings that the address names. The search has those in force. */
  readonly chosen: Pick<MessageSearch, 'decode' | 'keyDecode'>
  readonly schemas: SchemaParts
  readonly order: ReadingOrder
  /** Undefined until the topic is described. */
  readonly partitions: number | undefined
  readonly missing: Missing | null
  readonly registry: Capability | undefined
  /** True beside an open record: most filters are then behind a button. */
  readonly isCompact: boolean
  /** Changes the address. The page then begins again, unless a cursor is among the values. */
  readonly onChange: (values: Partial<MessageSearch>) => void
}

const MINUTE_MS = 60_000

/** Choices that fill the time in, or ask for more. */
const PRESETS = [
  ['5-minutes', '5 minutes ago'],
  ['1-hour', '1 hour ago'],
  ['today', 'Today'],
  ['group', 'A group’s position…'],
] as const

export function Start({ topic, search, order, onChange }: FilterProps) {
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
    else if (word === '5-minutes') onChange({ from: 'timestamp', timestamp: nowMs() - 5 * MINUTE_MS })
    else if (word === '1-hour') onChange({ from: 'timestamp', timestamp: nowMs() - 60 * MINUTE_MS })
    else if (word === 'today') onChange({ from: 'timestamp', timestamp: startOfDay(nowMs(), zone) })
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
          <OffsetField value={search.offset} onChange={offset => onChange({ offset })} />
        </div>
      )}
      {start === 'timestamp' && (
        <div className="w-60 max-sm:w-full">
          <TimeField
            key={`${filled} ${zone}`}
            label="Timestamp"
            value={search.timestamp}
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
  onChange,
}: {
  readonly value: number | null
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
      error={objection}
      onChange={text => {
        setTyped(text)
        const isGood = /^\d{1,16}$/.test(text.trim()) && Number.isSafeInteger(Number(text))
        onChange(isGood ? Number(text) : null)
      }}
    />
  )
}
