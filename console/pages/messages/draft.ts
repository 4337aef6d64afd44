// A text that is typed into the address. Each letter is a navigation, and the address follows a moment later, so the
// field shows the typed text and not the text of the address.

import { useEffect, useRef, useState } from 'react'

/** Returns the text of the field and the function that notes what was typed. Back and other controls change it too. */
export function useDraft(value: string): readonly [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value)
  /** The typed texts that have not come back from the address yet, oldest first. */
  const sent = useRef<string[]>([])
  useEffect(() => {
    const at = sent.current.indexOf(value)
    sent.current = at < 0 ? [] : sent.current.slice(at + 1)
    if (at < 0) setTyped(value)
  }, [value])
  return [
    typed,
    text => {
      sent.current.push(text)
      setTyped(text)
    },
  ]
}
