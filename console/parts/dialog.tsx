// A dialog: the browser's own, which keeps the focus inside, closes with Escape and gives the focus back.

import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

interface DialogProps {
  readonly title: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
  /** For tables and long forms. */
  readonly isWide?: boolean
  /** False for a dialog that Escape does not close, because work in it would be lost. */
  readonly isDismissable?: boolean
}

const FIELDS = ':is(input, select, textarea):not(:disabled)'

/** Renders an open dialog. It is open as long as it is rendered. */
export function Dialog({ title, onClose, children, isWide = false, isDismissable = true }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const opener = document.activeElement
    const element = dialog.current!
    element.showModal()
    // The browser chooses the button that closes. A field comes first, if it is in the window without scrolling: the
    // one that a form marks with data-first, or the first one.
    const field = element.querySelector<HTMLElement>('[data-first]') ?? element.querySelector<HTMLElement>(FIELDS)
    if (field !== null && field.getBoundingClientRect().bottom <= innerHeight) field.focus()
    return () => {
      element.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={event => {
        // The component decides what is open, not the browser.
        event.preventDefault()
        if (isDismissable) onClose()
      }}
      onClose={() => {
        // For a second Escape, browsers close the dialog whatever the component decides.
        if (dialog.current?.open !== false) return
        if (isDismissable) onClose()
        else dialog.current.showModal()
      }}
      className={`max-h-full w-full scroll-pt-16 scroll-pb-20 rounded-card border border-line bg-surface p-0 shadow-raised max-sm:m-0 max-sm:h-full max-sm:max-w-full ${isWide ? 'max-w-wide' : 'max-w-dialog'}`}
    >
      <div className="sticky top-0 z-10 flex min-h-15 items-center justify-between gap-4 border-b border-line bg-surface px-4 py-3">
        <h2 id={heading} className="text-section font-semibold">
          {title}
        </h2>
        {isDismissable && <Button kind="quiet" icon={X} aria-label="Close" onClick={onClose} />}
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  )
}

/** The row of buttons at the end of a dialog. It stays in the window while the content above it scrolls. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return (
    <div
      data-dialog-actions
      className="sticky bottom-0 z-10 -mx-4 mt-6 -mb-4 flex flex-wrap justify-end gap-2 border-t border-line bg-surface px-4 py-3"
    >
      {children}
    </div>
  )
}
