// Whether the broker, and the store behind it, answer: every answer that the client gets is noted here, and the frame
// shows it. heartbeat.tsx sees to it that there are answers.

import { useSyncExternalStore } from 'react'
import type { Problem } from '../api/problem.ts'

export interface Connection {
  /** When the broker answered last, in ms since 1970; 0 before the first answer. */
  readonly answeredAtMs: number
  /** Why the newest request got no answer, and since when; null while the broker answers. */
  readonly trouble: { readonly problem: Problem; readonly sinceMs: number } | null
}

let current: Connection = { answeredAtMs: 0, trouble: null }
const listeners = new Set<() => void>()

/** Notes an answer: null for a good one or a refusal, else the problem. */
export function noteAnswer(problem: Problem | null): void {
  const nowMs = Date.now()
  const before = current.trouble
  if (problem === null) {
    current = { answeredAtMs: nowMs, trouble: null }
    // The time changes with each answer, and only the trouble is shown at once.
    if (before === null) return
  } else current = { ...current, trouble: { problem, sinceMs: before?.sinceMs ?? nowMs } }
  for (const listener of listeners) listener()
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
