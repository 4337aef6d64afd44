// Short messages about finished work, in one polite live region. A failure is never a toast: it stays beside the form
// or the data that it belongs to.

import { X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import type { PageId } from '../../src/api/pages.ts'
import { pause } from '../api/client.ts'
import { VisibleText } from '../parts/visible-text.tsx'
import { PageLink, type Target } from './address.tsx'

interface ToastLink extends Target<PageId> {
  readonly label: string
}

interface Toast {
  readonly id: number
  readonly text: string
  readonly link: ToastLink | null
}

/** How long a toast stays, in ms. */
const STAY_MS = 6_000

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function show(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Shows a sentence for a while, and has it read aloud. The link leads to the result. */
export function toast(text: string, link: ToastLink | null = null): void {
  const id = ++last
  show([...toasts.slice(-2), { id, text, link }])
  void pause(STAY_MS).then(() => dismiss(id))
}

function dismiss(id: number): void {
  show(toasts.filter(each => each.id !== id))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    // At the left: the buttons of dialogs, of unsaved changes and of the next page are at the right. The region is there
    // without a toast too: a screen reader announces only changes of a region that it knows.
    <div
      aria-live="polite"
      role="status"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-30 flex flex-col items-start gap-2"
    >
      {shown.map(({ id, text, link }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-start gap-3 rounded-card bg-text px-4 py-3 text-surface shadow-raised"
        >
          <span>
            <VisibleText text={text} />
            {link !== null && (
              <>
                {' '}
                <PageLink {...link} className="font-medium whitespace-nowrap underline underline-offset-2">
                  {link.label}
                </PageLink>
              </>
            )}
          </span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)} className="-m-1 p-1">
            <X size={16} aria-hidden />
          </button>
        </div>
      ))}
    </div>
  )
}
