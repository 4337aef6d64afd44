// A word with a colour and a shape: the shape and the word carry the meaning, the colour repeats it.

import type { ReactNode } from 'react'

export type Tone = 'ok' | 'warn' | 'danger' | 'info' | 'neutral'

const TONES: Readonly<Record<Tone, string>> = {
  ok: 'bg-ok-soft text-ok',
  warn: 'bg-warn-soft text-warn',
  danger: 'bg-danger-soft text-danger',
  info: 'bg-info-soft text-accent',
  neutral: 'bg-neutral-soft text-muted',
}

const SHAPES: Readonly<Record<Tone, string>> = { ok: '✓', warn: '!', danger: '✕', info: 'i', neutral: '○' }

interface BadgeProps {
  readonly tone: Tone
  readonly children: ReactNode
  /** Replaces the shape of the tone. */
  readonly shape?: string
  readonly title?: string
}

export function Badge({ tone, children, shape = SHAPES[tone], title }: BadgeProps) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1 rounded-full px-2 text-badge font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      <span aria-hidden>{shape}</span>
      {children}
    </span>
  )
}
