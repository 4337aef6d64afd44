// A key, a value or a header in a row: how it was decoded, and its beginning. The whole of it is payload.tsx.

import { type ReactNode, useId, useRef } from 'react'
import type { ShownValue } from '../../src/api/messages.ts'
import { Badge, type Tone } from './badge.tsx'
import { VisibleText } from './visible-text.tsx'

type Status = ShownValue['status']

const STATUSES: Readonly<Record<Status, { readonly tone: Tone; readonly shape: string }>> = {
  decoded: { tone: 'ok', shape: '✓' },
  raw: { tone: 'neutral', shape: '○' },
  'schema-not-found': { tone: 'warn', shape: '?' },
  'decode-error': { tone: 'danger', shape: '✕' },
}

interface DecodeBadgeProps extends Pick<ShownValue, 'status' | 'reason'> {
  /** True where many are in a list: the mark alone says that a value was decoded. Other statuses keep their word. */
  readonly isBrief?: boolean
}

/** How a value was decoded, in the words of the API. The reason is shown on focus and under the pointer. */
export function DecodeBadge({ status, reason, isBrief = false }: DecodeBadgeProps) {
  const { tone, shape } = STATUSES[status]
  const badge =
    isBrief && status === 'decoded' ? (
      <Badge tone={tone} shape={shape} title={status}>
        <span className="sr-only">{status}</span>
      </Badge>
    ) : (
      <Badge tone={tone} shape={shape}>
        {status}
      </Badge>
    )
  return (
    <span data-status={status} className="inline-flex">
      {reason === undefined ? badge : <Explained reason={reason}>{badge}</Explained>}
    </span>
  )
}

/** The distance of a tip from the edge of the window. */
const TIP_MARGIN = 4

function Explained({ reason, children }: { readonly reason: string; readonly children: ReactNode }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const tip = useRef<HTMLSpanElement>(null)
  const isOpen = () => tip.current!.matches(':popover-open')
  const show = () => {
    const shown = tip.current!
    if (!isOpen()) shown.showPopover()
    const at = button.current!.getBoundingClientRect()
    const { width, height } = shown.getBoundingClientRect()
    const isAbove = at.bottom + height > innerHeight
    shown.style.left = `${Math.max(TIP_MARGIN, Math.min(at.left, innerWidth - width - TIP_MARGIN))}px`
    shown.style.top = `${isAbove ? at.top - height : at.bottom}px`
  }
  const hide = () => {
    if (isOpen()) tip.current!.hidePopover()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer may go from the button to the tip
    <span className="inline-flex" onMouseEnter={show} onMouseLeave={hide}>
      <button
        ref={button}
        type="button"
        aria-describedby={id}
        className="inline-flex min-h-6 items-center rounded-full"
        onFocus={show}
        onBlur={hide}
        onClick={event => {
          event.stopPropagation()
          show()
        }}
        onKeyDown={event => {
          if (event.key !== 'Escape' || !isOpen()) return
          event.stopPropagation()
          event.preventDefault()
          hide()
        }}
      >
        {children}
      </button>
      <span
        ref={tip}
        id={id}
        role="tooltip"
        popover="manual"
        className="inset-auto max-w-dialog rounded-control border border-line bg-surface p-2 text-dense whitespace-normal text-text shadow-raised"
      >
        <VisibleText text={reason} />
      </span>
    </span>
  )
}

export interface PreviewProps {
  /** Null is a tombstone, or no key. */
  readonly value: ShownValue | null
  /** True for the value of a record in a compacted topic, where null deletes the key. */
  readonly isCompacted?: boolean
}

/** The beginning of a value on one line, without its badge. The place decides the width. */
export function PayloadPreview({ value, isCompacted = false }: PreviewProps) {
  if (value === null) return <Null isCompacted={isCompacted} />
  if (value.bytes === 0) return <Empty />
  const whole = value.text ?? value.base64 ?? ''
  // A pair of surrogates may be cut in two.
  const text = whole.slice(0, MOST_PREVIEW).replace(/[\ud800-\udbff]$/, '')
  return (
    <span className="font-mono text-dense">
      <VisibleText text={text} />
      {(value.truncated || text.length < whole.length) && <span className="text-muted">…</span>}
    </span>
  )
}

/** A row has room for fewer. */
const MOST_PREVIEW = 500

export function Null({ isCompacted }: { readonly isCompacted: boolean }) {
  return (
    <span className="inline-flex items-center gap-2">
      <em className="text-muted">null</em>
      {isCompacted && <Badge tone="neutral">tombstone</Badge>}
    </span>
  )
}

export function Empty() {
  return <span className="text-muted">empty (0 bytes)</span>
}
