// Asks the broker again and again whether it lives, while the page is visible, so that an outage shows on every page
// within seconds. When the broker is back, everything on the page is asked for again at once.

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ask, pause } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { useConnection } from './connection.ts'
import { usePreference } from './preferences.ts'
import { useSession } from './session.tsx'

/** The time in ms between two beats, and between two while the broker does not answer. */
const BEAT_MS = 3_000
const BEAT_IN_TROUBLE_MS = 1_000
/** The time in ms that a beat may take. */
const PATIENCE_MS = 2_000

export function useHeartbeat(): void {
  const client = useQueryClient()
  const [isPaused] = usePreference('isPaused')
  const { status } = useSession()
  const { trouble } = useConnection()
  const isAway = trouble !== null
  const wasAway = useRef(false)
  // The session rests in the store, so that the broker answers this only while both are there.
  const isWatched = !isPaused && status !== undefined

  useEffect(() => {
    if (!isWatched) return
    const ended = new AbortController()
    const beat = async () => {
      while (!ended.signal.aborted) {
        await pause(isAway ? BEAT_IN_TROUBLE_MS : BEAT_MS, ended.signal)
        if (document.visibilityState !== 'visible') continue
        try {
          await ask('describe session', {}, { signal: ended.signal, patienceMs: PATIENCE_MS })
        } catch (error) {
          // connection.ts has noted it.
          if (!(error instanceof Problem)) throw error
        }
      }
    }
    beat().catch(() => {
      // The page was left, or the updates were paused.
    })
    return () => ended.abort()
  }, [isWatched, isAway])

  useEffect(() => {
    if (wasAway.current && !isAway) void client.invalidateQueries()
    wasAway.current = isAway
  }, [isAway, client])
}
