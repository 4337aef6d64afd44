// Whether the broker, and the store behind it, answer: the heartbeat decides it, and the frame shows it. One operation
// that fails alone is no outage; it makes the heartbeat (heartbeat.tsx) ask at once.

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

const doubters = new Set<() => void>()

/** Calls the listener whenever an answer contradicts the heartbeat. Returns the function that ends this. */
export function onDoubt(listener: () => void): () => void {
  doubters.add(listener)
  return () => doubters.delete(listener)
}

/** Notes an answer to any request: null for a good one or a refusal, else why none came. */
export function noteAnswer(problem: Problem | null): void {
  if (problem === null) current = { ...current, answeredAtMs: Date.now() }
  if ((problem === null) === (current.trouble === null)) return
  for (const doubter of doubters) doubter()
}

/** Notes an answer to the heartbeat. */
export function noteBeat(problem: Problem | null): void {
  const before = current.trouble
  if (problem === null && before === null) return
  current = { ...current, trouble: problem && { problem, sinceMs: before?.sinceMs ?? Date.now() } }
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
