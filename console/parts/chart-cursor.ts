// The cursors of charts. Charts with the same key show the same time, so that one look compares them.

import { useCallback, useSyncExternalStore } from 'react'

const cursors = new Map<string, { atMs: number | null; readonly listeners: Set<() => void> }>()

/** Returns the time under the cursor in ms since 1970, or null, and the function that moves it. */
export function useCursor(key: string): readonly [number | null, (atMs: number | null) => void] {
  const subscribe = useCallback(
    (listener: () => void) => {
      const cursor = cursors.get(key) ?? { atMs: null, listeners: new Set() }
      cursors.set(key, cursor)
      cursor.listeners.add(listener)
      return () => {
        cursor.listeners.delete(listener)
        if (cursor.listeners.size === 0) cursors.delete(key)
      }
    },
    [key],
  )
  const atMs = useSyncExternalStore(subscribe, () => cursors.get(key)?.atMs ?? null)
  const move = useCallback(
    (ms: number | null) => {
      const cursor = cursors.get(key)
      if (cursor === undefined || cursor.atMs === ms) return
      cursor.atMs = ms
      for (const listener of cursor.listeners) listener()
    },
    [key],
  )
  return [atMs, move]
}
