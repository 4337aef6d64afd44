// The ways to older and newer records. A page leads only onwards, in its order; the way back is the cursor of the page
// before, as long as this visit knows it. The ends of the log are named.

import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from '../../parts/button.tsx'
import type { ReadingOrder } from './selection.ts'

interface PageLinksProps {
  readonly order: ReadingOrder
  readonly cursor: string
  readonly nextCursor: string | null
  /** The cursor of the page before; null if this visit has not seen it. */
  readonly previousCursor: string | null
  /** True if the first page begins at the end of the log that its order begins with. */
  readonly beginsAtEdge: boolean
  readonly onPage: (cursor: string) => void
  /** Reads from the start position in the other order. */
  readonly onTurn: () => void
}

const WORDS = {
  oldest: { back: 'Older', on: 'Newer', begin: 'Start of the log', end: 'End of the log' },
  newest: { back: 'Newer', on: 'Older', begin: 'End of the log', end: 'Start of the log' },
} as const

export function PageLinks(props: PageLinksProps) {
  const { order, cursor, nextCursor, previousCursor, beginsAtEdge, onPage, onTurn } = props
  const { back, on, begin, end } = WORDS[order]
  return (
    <nav aria-label="Older and newer records" className="my-3 flex flex-wrap items-center justify-between gap-2">
      {cursor === '' ? (
        beginsAtEdge ? (
          <span className="text-muted">{begin}</span>
        ) : (
          <Button icon={ChevronLeft} title={`Read from the start position in the other order`} onClick={onTurn}>
            {back}
          </Button>
        )
      ) : (
        <div className="flex gap-2">
          {previousCursor !== null && (
            <Button icon={ChevronLeft} onClick={() => onPage(previousCursor)}>
              {back}
            </Button>
          )}
          {previousCursor !== '' && <Button onClick={() => onPage('')}>First page</Button>}
        </div>
      )}
      {nextCursor === null ? (
        <span className="text-muted">{end}</span>
      ) : (
        <Button onClick={() => onPage(nextCursor)}>
          {on} <ChevronRight size={16} aria-hidden />
        </Button>
      )}
    </nav>
  )
}
