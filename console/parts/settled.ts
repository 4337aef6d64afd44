// A value that rests: it follows another one only after that has not changed for a while, so that each typed letter
// does not ask the broker.

import { useEffect, useState } from 'react'
import { pause } from '../api/client.ts'

/** Returns the text once it has rested for a time in ms. The first text, and one after an empty text, come at once. */
export function useSettled(text: string, restMs: number): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    if (text === settled) return
    const ended = new AbortController()
    pause(restMs, ended.signal).then(
      () => setSettled(text),
      () => {
        // Another text followed.
      },
    )
    return () => ended.abort()
  }, [text, settled, restMs])
  if (settled === '' && text !== '') setSettled(text)
  return settled === '' ? text : settled
}
