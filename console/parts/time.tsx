// Times in the zone that the user has chosen, for showing and for typing.

import { useState } from 'react'
import { nowMs } from '../shell/clock.ts'
import { usePreference } from '../shell/preferences.ts'
import { instant, localZone, machineTime, readInstant, timeOfDay, zoneLabel } from '../text/zone.ts'
import { TextField } from './field.tsx'

/** Returns the chosen zone as an IANA name. */
export function useZone(): string {
  const [zone] = usePreference('zone')
  return zone === 'local' ? localZone() : zone
}

interface TimeProps {
  /** Milliseconds since 1970. */
  readonly ms: number | null | undefined
  /** True for the time of the day alone, where the day is clear. */
  readonly isShort?: boolean
}

export function Time({ ms, isShort = false }: TimeProps) {
  const zone = useZone()
  const text = isShort ? timeOfDay(ms, zone) : instant(ms, zone)
  return (
    <time dateTime={machineTime(ms)} title={`${instant(ms, zone)} ${zone}`} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  )
}

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
