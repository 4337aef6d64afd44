// One numbered step of the first minute.

import { Check } from 'lucide-react'
import type { ReactNode } from 'react'

export type StepState = 'current' | 'done' | 'later'

interface StepProps {
  readonly number: number
  readonly title: string
  readonly state?: StepState
  readonly children: ReactNode
}

const CIRCLES: Readonly<Record<StepState, string>> = {
  current: 'bg-accent text-on-accent',
  done: 'bg-ok-soft text-ok',
  later: 'bg-neutral-soft text-muted',
}

export function Step({ number, title, state = 'later', children }: StepProps) {
  return (
    <li
      className="flex gap-3 border-t border-line py-4 first:border-0 first:pt-0 last:pb-0"
      data-step={number}
      data-state={state}
    >
      <span
        aria-hidden
        className={`flex size-6 shrink-0 items-center justify-center rounded-full text-dense font-semibold ${CIRCLES[state]}`}
      >
        {state === 'done' ? <Check size={14} /> : number}
      </span>
      <div className="min-w-0 grow">
        <h3 className="min-h-6 font-medium">
          {title}
          {state === 'done' && <span className="sr-only"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  )
}
