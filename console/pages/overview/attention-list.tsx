// The list of things that need attention, each with the way to its page; or that all is quiet, and since when.

import { ChevronRight, CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { type Read, tryAgain } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { hrefOf, isPlainPress, PageLink, useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import type { Attention, OverviewChart } from './attention.ts'

const MOST_SHOWN = 6

interface AttentionListProps {
  readonly found: readonly Attention[]
  /** The answers that the list rests on, each with its name in a sentence. */
  readonly checked: Readonly<Record<string, Read<unknown>>>
  readonly onChart: (chart: OverviewChart) => void
}

export function AttentionList({ found, checked, onChart }: AttentionListProps) {
  const [isWhole, setWhole] = useState(false)
  const reads = Object.entries(checked)
  const failed = reads.filter(([, { problem }]) => problem !== null)
  const isChecked = reads.every(([, { data, problem }]) => data !== undefined || problem !== null)
  const atMs = Math.min(...reads.map(([, read]) => read.atMs))
  const shown = isWhole ? found : found.slice(0, MOST_SHOWN)
  const hidden = found.length - shown.length

  if (found.length === 0 && !isChecked) return <Skeleton rows={1} />
  if (found.length === 0 && failed.length === 0)
    return (
      <p data-quiet className="my-4 flex items-center gap-2 rounded-card border border-line bg-surface px-4 py-3">
        <CircleCheck size={18} aria-hidden className="shrink-0 text-ok" />
        <span>
          <span className="font-medium">All quiet.</span>{' '}
          <span className="text-muted">
            Last checked <Time ms={atMs} isShort />.
          </span>
        </span>
      </p>
    )
  return (
    <section aria-labelledby="attention" className="my-4 overflow-hidden rounded-card border border-line bg-surface">
      <h2 id="attention" className="px-4 pt-3 pb-2 text-section font-semibold">
        Needs attention
      </h2>
      <ul>
        {shown.map(({ id, tone, before, name, after, target }) => {
          const Icon = tone === 'danger' ? CircleAlert : TriangleAlert
          return (
            <li key={id} data-attention={id} className="border-t border-line">
              <Line target={target} onChart={onChart}>
                <Icon size={18} aria-hidden className={`shrink-0 ${tone === 'danger' ? 'text-danger' : 'text-warn'}`} />
                <span className="min-w-0 grow">
                  {before}
                  {name !== null && (
                    <span className="font-medium">
                      <VisibleText text={name} />
                    </span>
                  )}
                  {after}
                </span>
                {target !== null && <ChevronRight size={16} aria-hidden className="shrink-0 text-muted" />}
              </Line>
            </li>
          )
        })}
      </ul>
      {hidden > 0 && (
        <div className="border-t border-line px-2 py-1">
          <Button kind="quiet" isSmall onClick={() => setWhole(true)}>
            Show {hidden} more
          </Button>
        </div>
      )}
      <div role="status">
        {failed.length > 0 && (
          <p className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2 text-muted">
            {counted(failed.length, 'check')} got no answer: {failed.map(([name]) => name).join(', ')}.
            <Button isSmall onClick={tryAgain}>
              Try again
            </Button>
          </p>
        )}
      </div>
    </section>
  )
}

interface LineProps extends Pick<Attention, 'target'>, Pick<AttentionListProps, 'onChart'> {
  readonly children: ReactNode
}

/** A line is a link if something shows more. A chart is on this page, which must not jump to its top. */
function Line({ target, onChart, children }: LineProps) {
  const { search } = useHere('overview')
  const line = 'flex min-h-10 items-center gap-3 px-4 py-2 text-text max-sm:min-h-11'
  const link = `${line} hover:bg-raised`
  if (target === null) return <div className={line}>{children}</div>
  if (!('chart' in target))
    return (
      <PageLink {...target} className={link}>
        {children}
      </PageLink>
    )
  const { chart } = target
  return (
    <a
      href={hrefOf({ page: 'overview', search: { ...search, chart } })}
      className={link}
      onClick={event => {
        if (!isPlainPress(event)) return
        event.preventDefault()
        onChart(chart)
      }}
    >
      {children}
    </a>
  )
}
