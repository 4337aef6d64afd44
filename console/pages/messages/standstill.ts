// Whether a list that grows on top has to stand still: the user reads further down, has selected text in it, or has the
// pointer or the focus on a row. A row must not move away under a press.

import { type RefObject, useEffect, useState } from 'react'

export type Standstill = 'scroll' | 'select text' | 'point at a row' | 'are at a row'

/** Returns what the user does; null if the list may move. */
export function useStandstill(list: RefObject<HTMLElement | null>): Standstill | null {
  const [reason, setReason] = useState<Standstill | null>(null)
  useEffect(() => {
    const element = list.current!
    const look = () => setReason(reasonOf(element))
    // The row may also come under a pointer, or leave it, without a movement.
    const events = ['scroll', 'pointerover', 'pointerout', 'focusin', 'focusout'] as const
    for (const event of events) addEventListener(event, look, { passive: true })
    document.addEventListener('selectionchange', look)
    return () => {
      for (const event of events) removeEventListener(event, look)
      document.removeEventListener('selectionchange', look)
    }
  }, [list])
  return reason
}

function reasonOf(list: HTMLElement): Standstill | null {
  const rows = list.querySelector('tbody')
  if (rows === null) return null
  const selection = getSelection()
  if (selection !== null && !selection.isCollapsed && list.contains(selection.anchorNode)) return 'select text'
  // A finger leaves its hover behind.
  if (matchMedia('(hover: hover)').matches && rows.matches(':hover')) return 'point at a row'
  if (rows.contains(document.activeElement)) return 'are at a row'
  // The head of the page has left the screen.
  return rows.getBoundingClientRect().top < 0 ? 'scroll' : null
}
