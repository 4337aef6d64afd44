// The keys of the console, which the help (help.tsx) lists. A key does nothing while somebody types, and the keys can
// be switched off.

import { useEffect, useRef } from 'react'
import { type PageId, pages } from '../../src/api/pages.ts'
import { queryClient } from '../api/queries.ts'
import { useGo } from './address.tsx'
import { readPreference, usePreference } from './preferences.ts'
import { useShell } from './shell.ts'

/** The pages that have a key. */
export const withShortcut = (Object.keys(pages) as PageId[]).filter(id => pages[id].shortcut !== null)

/** The time in ms in which the second key of a shortcut must follow. */
const SECOND_KEY_MS = 1_500

export function useShortcuts(): void {
  const { open, overlay } = useShell()
  const go = useGo()
  const [hasShortcuts] = usePreference('hasShortcuts')
  /** The time of the first key of a shortcut. A page that is drawn anew before the second key must not forget it. */
  const wentAtMs = useRef(Number.NEGATIVE_INFINITY)

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key } = event
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault()
        open('palette')
        return
      }
      if (!readPreference('hasShortcuts') || event.ctrlKey || event.metaKey || event.altKey) return
      if (overlay !== null || isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
      const isSecond = event.timeStamp - wentAtMs.current < SECOND_KEY_MS
      wentAtMs.current = Number.NEGATIVE_INFINITY
      const page = isSecond ? withShortcut.find(id => pages[id].shortcut === key) : undefined
      if (page !== undefined) go({ page } as never)
      else if (key === 'g') wentAtMs.current = event.timeStamp
      else if (key === '?') open('help')
      else if (key === 'r') void queryClient.invalidateQueries()
      else if (key === '/') focusFilter(event)
      else if (key === 'j' || key === 'k') moveInRows(key === 'j' ? 1 : -1)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [open, overlay, go])

  useEffect(() => {
    document.documentElement.dataset.shortcuts = String(hasShortcuts)
  }, [hasShortcuts])
}

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof Element ? target : null
  if (element === null) return false
  // The editor is in a shadow root: its host counts.
  return element.closest('input:not([type=checkbox]),textarea,select,[contenteditable],[data-editor]') !== null
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLInputElement>('main input[type=search]')
  if (filter === null) return
  event.preventDefault()
  filter.focus()
  filter.select()
}

/** Focuses the next row of the table that has the focus, or of the first table with rows that open. */
function moveInRows(step: 1 | -1): void {
  const focused = document.activeElement?.closest('tr')
  const body = focused?.parentElement ?? document.querySelector('tbody[data-rows]:has(tr[tabindex])')
  if (!(body instanceof HTMLTableSectionElement)) return
  const rows = [...body.rows]
  const at =
    focused === null || focused === undefined ? (step === 1 ? 0 : rows.length - 1) : rows.indexOf(focused) + step
  rows[at]?.focus()
}
