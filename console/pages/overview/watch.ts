// Watches the newest records of one topic: those that are there, and then each that arrives. It stops while the page is
// hidden or its updates are paused, and continues where it was.

import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { ask } from '../../api/client.ts'
import { asProblem, type Problem } from '../../api/problem.ts'
import { tail } from '../../api/tail.ts'
import { usePreference } from '../../shell/preferences.ts'

/** The number of records on the page. */
const MOST = 8

export interface Watch {
  /** Newest first. */
  readonly records: readonly ShownRecord[]
  readonly isLive: boolean
  /** Why the broker sends nothing more; null if it does. */
  readonly problem: Problem | null
  retry(): void
}

/** Watches a topic; null watches nothing. */
export function useWatch(topic: string | null): Watch {
  const [records, setRecords] = useState<readonly ShownRecord[]>([])
  const [isLive, setLive] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [attempt, setAttempt] = useState(0)
  const [isPaused] = usePreference('isPaused')
  const isVisible = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible')
  const cursor = useRef<string>(null)
  const isWanted = !isPaused && isVisible

  // biome-ignore lint/correctness/useExhaustiveDependencies: another topic, and a retry, begin without records
  useEffect(() => {
    cursor.current = null
    setRecords([])
    setProblem(null)
  }, [topic, attempt])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a retry begins again
  useEffect(() => {
    if (topic === null || !isWanted) return
    const ended = new AbortController()
    const { signal } = ended
    const follow = async () => {
      if (cursor.current === null) {
        // The records of the page come before the tail, so that none is missed between the two.
        const asked = { params: { topic }, query: { order: 'newest', limit: MOST } } as const
        const page = await ask('browse messages', asked, { signal })
        setRecords(page.messages)
        cursor.current = page.tailCursor
      }
      for await (const event of tail({ topic, query: {}, cursor: cursor.current }, signal)) {
        if (event.kind === 'end') throw event.problem
        cursor.current = event.cursor
        setLive(true)
        if (event.kind === 'messages') setRecords(before => [...event.messages.toReversed(), ...before].slice(0, MOST))
      }
    }
    follow().catch(error => {
      if (!signal.aborted) setProblem(asProblem(error))
      setLive(false)
    })
    return () => ended.abort()
  }, [topic, isWanted, attempt])

  return { records, isLive: isLive && isWanted, problem, retry: () => setAttempt(before => before + 1) }
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}
