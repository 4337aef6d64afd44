// The one control of updates: how old the data is, pause, and refresh now.

import { useIsFetching, useQueryClient } from '@tanstack/react-query'
import { Pause, Play, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { pause } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { usePreference } from './preferences.ts'

const TICK_MS = 1_000

export function RefreshControl() {
  const client = useQueryClient()
  const [isPaused, setPaused] = usePreference('isPaused')
  const fetching = useIsFetching()
  const seconds = useAge()
  const age = seconds === null ? '' : seconds < 2 ? ' · updated now' : ` · updated ${seconds} s ago`
  return (
    <div className="flex items-center gap-1" data-refresh={isPaused ? 'paused' : 'live'}>
      <span className="text-dense whitespace-nowrap text-muted max-md:sr-only">
        {isPaused ? 'Paused' : 'Live'}
        {age}
      </span>
      <Button
        kind="quiet"
        icon={isPaused ? Play : Pause}
        aria-label={isPaused ? 'Resume updates' : 'Pause updates'}
        onClick={() => setPaused(!isPaused)}
      />
      <Button
        kind="quiet"
        icon={RotateCw}
        aria-label="Refresh now"
        aria-busy={fetching > 0 || undefined}
        onClick={() => void client.invalidateQueries()}
      />
    </div>
  )
}

/** Returns the age of the oldest answer on the page in seconds; null if the page has no answer. */
function useAge(): number | null {
  const client = useQueryClient()
  const [age, setAge] = useState<number | null>(null)
  useEffect(() => {
    const ended = new AbortController()
    const tick = async () => {
      for (;;) {
        const shown = client.getQueryCache().findAll({ type: 'active' })
        const times = shown.map(({ state }) => state.dataUpdatedAt).filter(at => at > 0)
        setAge(times.length === 0 ? null : Math.max(0, Math.round((Date.now() - Math.min(...times)) / 1000)))
        await pause(TICK_MS, ended.signal)
      }
    }
    tick().catch(() => {
      // The page was left.
    })
    return () => ended.abort()
  }, [client])
  return age
}
