// Asks the broker again and again whether it lives, while the page is visible, so that an outage shows on every page
// within seconds. When the broker is back, everything on the page is asked for again at once.

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Problem } from '../api/problem.ts'
import { onDoubt, useConnection } from './connection.ts'
import { usePreference } from './preferences.ts'
import { useSession } from './session.tsx'

/**
 * The time in ms between two beats, and between two while the broker does not answer. With the polls of a page there
 * are at most 40 requests a minute, and an outage is seen within 5 s.
 */
const BEAT_MS = 2_800
const BEAT_IN_TROUBLE_MS = 1_000
/** The time in ms that a beat may take. */
const PATIENCE_MS = 2_000

export function useHeartbeat(): void {
  const client = useQueryClient()
  const [isPaused] = usePreference('isPaused')
  const { refresh } = useSession()
  const { trouble } = useConnection()
  const isAway = trouble !== null
  const wasAway = useRef(false)
  const latest = useRef(refresh)
  latest.current = refresh

  useEffect(() => {
    const ended = new AbortController()
    let wake = () => {}
    const forget = onDoubt(() => wake())
    const rest = async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      const timer = isPaused ? undefined : setTimeout(resolve, isAway ? BEAT_IN_TROUBLE_MS : BEAT_MS)
      await promise
      clearTimeout(timer)
    }
    const beat = async () => {
      for (;;) {
        await rest()
        ended.signal.throwIfAborted()
        if (document.visibilityState !== 'visible') continue
        try {
          // The session rests in the store, so that the broker answers this only while both are there.
          await latest.current({ signal: ended.signal, patienceMs: PATIENCE_MS })
        } catch (error) {
          // connection.ts has noted it.
          if (!(error instanceof Problem)) throw error
        }
      }
    }
    beat().catch(() => {
      // The page was left, or the updates were paused or resumed.
    })
    return () => {
      forget()
      ended.abort()
      wake()
    }
  }, [isPaused, isAway])

  useEffect(() => {
    if (wasAway.current && !isAway) void client.invalidateQueries()
    wasAway.current = isAway
  }, [isAway, client])
}
