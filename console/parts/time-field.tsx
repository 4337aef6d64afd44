// A time that is typed in the zone that the user has chosen.

import { useState } from 'react'
import { nowMs } from '../shell/clock.ts'
import { readInstant } from '../text/read-instant.ts'
import { instant, zoneLabel } from '../text/zone.ts'
import { TextField } from './field.tsx'
import { useZone } from './time.tsx'

interface TimeFieldProps {
  readonly label: string
  /** Milliseconds since 1970; null if the field is empty or not understood. */
  readonly value: number | null
  readonly onChange: (ms: number | null) => void
  readonly error?: string | undefined
}

/** A time that the user types in the chosen zone: what it is understood as stands below. */
export function TimeField({ label, value, onChange, error }: TimeFieldProps) {
  const zone = useZone()
  const [typed, setTyped] = useState(value === null ? '' : instant(value, zone))
  const read = typed.trim() === '' ? null : readInstant(typed, zone)
  const objection = read !== null && 'error' in read ? read.error : undefined
  const now = read !== null && 'ms' in read ? read.ms : nowMs()
  return (
    <TextField
      label={label}
      value={typed}
      placeholder="2026-11-20 21:10:03"
      error={objection ?? error}
      hint={`Time zone: ${zoneLabel(zone, now)}${read !== null && 'hint' in read && read.hint ? `. ${read.hint}` : ''}`}
      onChange={text => {
        setTyped(text)
        const found = text.trim() === '' ? null : readInstant(text, zone)
        onChange(found !== null && 'ms' in found ? found.ms : null)
      }}
    />
  )
}
