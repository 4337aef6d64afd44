// Times in the zone that the user has chosen.

import { usePreference } from '../shell/preferences.ts'
import { instant, localZone, machineTime, timeOfDay } from '../text/zone.ts'

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
