// The head of a page: its heading, which gets the focus after a navigation, its sentence and its verbs. It also names
// the document.

import { type ReactNode, useEffect, useRef } from 'react'
import { usePreference } from '../shell/preferences.ts'

interface PageHeadProps {
  /** The heading. */
  readonly title: string
  /** A heading with more than text, such as a badge. */
  readonly heading?: ReactNode
  /** The parts of the document's title before the product, if they are more than the heading: `orders · Messages`. */
  readonly documentTitle?: string
  readonly children?: ReactNode
  /** The verbs of the page. */
  readonly actions?: ReactNode
  /** A control that belongs to the heading, such as one that copies it. */
  readonly beside?: ReactNode
}

export function PageHead({ title, heading = title, documentTitle = title, children, actions, beside }: PageHeadProps) {
  const head = useRef<HTMLHeadingElement>(null)
  const [isPaused] = usePreference('isPaused')
  useEffect(() => {
    document.title = `${isPaused ? 'Paused · ' : ''}${documentTitle} — Ketch`
  }, [documentTitle, isPaused])
  useEffect(() => {
    // The first page of a visit keeps the focus where the browser put it.
    if (document.documentElement.dataset.visited === undefined) document.documentElement.dataset.visited = ''
    else if (document.querySelector('dialog[open]') === null) head.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div className="mb-4 flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
      <div className="min-w-0">
        <div className="flex items-start gap-1">
          <h1 ref={head} tabIndex={-1} className="min-w-0 text-page font-semibold">
            {heading}
          </h1>
          {beside}
        </div>
        {children !== undefined && <div className="text-muted">{children}</div>}
      </div>
      {actions !== undefined && (
        <div data-page-actions className="flex flex-wrap gap-2">
          {actions}
        </div>
      )}
    </div>
  )
}

/** A part of a page with its own heading. */
export function Section({
  title,
  children,
  actions,
}: {
  readonly title: string
  readonly children: ReactNode
  readonly actions?: ReactNode
}) {
  return (
    <section className="my-6">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-section font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}
