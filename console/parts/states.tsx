// The states of content that loads: nothing yet, nothing at all, and old content.

import { type ReactNode, useEffect, useState } from 'react'
import { pause } from '../api/client.ts'
import type { Read } from '../api/queries.ts'
import { ProblemNote } from './problem-note.tsx'
import { Time } from './time.tsx'
import { VisibleText } from './visible-text.tsx'

/** A skeleton appears after this time in ms, so that a quick answer does not flash. */
const BEFORE_SKELETON_MS = 150

/** Holds the room of content that loads. `rows` is its height in rows of a table. */
export function Skeleton({ rows }: { readonly rows: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const ended = new AbortController()
    pause(BEFORE_SKELETON_MS, ended.signal).then(
      () => setShown(true),
      () => {},
    )
    return () => ended.abort()
  }, [])
  return (
    <div role="status" aria-label="Loading" style={{ height: `${rows * 36}px` }} className="overflow-hidden">
      {isShown &&
        Array.from({ length: rows }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
          <div key={row} className="my-2 h-5 rounded-control bg-raised" />
        ))}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  /** Why it is empty, and what it would show. */
  readonly children?: ReactNode
  /** The next step: one button, or commands. */
  readonly action?: ReactNode
}

export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="rounded-card border border-dashed border-line p-6 text-center">
      <p className="text-section font-semibold">
        <VisibleText text={title} />
      </p>
      {children !== undefined && <div className="mx-auto mt-1 max-w-dialog text-muted">{children}</div>}
      {action !== undefined && (
        <div className="mx-auto mt-4 flex max-w-dialog flex-col items-center gap-2 text-left">{action}</div>
      )}
    </div>
  )
}

interface LoadedProps<T> {
  readonly read: Read<T>
  /** The name of the content, for messages: `The topics`. */
  readonly of: string
  /** The height of the skeleton in rows. */
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}

/**
 * Shows an answer. Before it comes there is a skeleton. If a newer answer fails, the old one stays with its time.
 */
export function Loaded<T>({ read, of, rows = 6, children }: LoadedProps<T>) {
  const { data, problem, atMs, retry } = read
  if (data === undefined)
    return problem === null ? <Skeleton rows={rows} /> : <ProblemNote problem={problem} of={of} onRetry={retry} />
  return (
    <>
      <div role="status">
        {problem !== null && (
          <div data-stale={problem.code} className="my-2 rounded-control bg-warn-soft px-3 py-2 text-warn">
            As of <Time ms={atMs} isShort />. <VisibleText text={problem.detail} />
          </div>
        )}
      </div>
      {children(data)}
    </>
  )
}
