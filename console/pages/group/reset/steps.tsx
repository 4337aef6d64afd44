// The steps of a dialog, with the present one marked.

interface StepsProps {
  readonly steps: readonly string[]
  /** The present step; after the last one all are done. */
  readonly current: number
}

export function Steps({ steps, current }: StepsProps) {
  return (
    <ol className="mb-5 flex flex-wrap gap-x-6 gap-y-2">
      {steps.map((step, at) => {
        const isDone = at < current
        const look =
          at === current
            ? 'border-accent bg-accent text-on-accent'
            : isDone
              ? 'border-ok text-ok'
              : 'border-line text-muted'
        return (
          <li key={step} aria-current={at === current ? 'step' : undefined} className="flex items-center gap-2">
            <span
              aria-hidden
              className={`inline-flex size-6 items-center justify-center rounded-full border text-badge font-semibold ${look}`}
            >
              {isDone ? '✓' : at + 1}
            </span>
            <span className={at === current ? 'font-semibold' : 'text-muted'}>
              {step}
              {isDone && <span className="sr-only"> (done)</span>}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
