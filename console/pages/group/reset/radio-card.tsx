// One of several choices, with a sentence about its effect.

import { type ReactNode, useId } from 'react'

interface RadioCardProps {
  readonly name: string
  readonly label: string
  readonly isOn: boolean
  readonly onChoose: () => void
  /** The effect of the choice. */
  readonly children?: ReactNode
}

export function RadioCard({ name, label, isOn, onChoose, children }: RadioCardProps) {
  const id = useId()
  return (
    <div className="flex gap-3 py-2">
      <input
        id={id}
        type="radio"
        name={name}
        checked={isOn}
        onChange={onChoose}
        aria-describedby={children === undefined ? undefined : `${id}-effect`}
        className="mt-px size-5 shrink-0 accent-accent"
      />
      <div className="min-w-0">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {children !== undefined && (
          <div id={`${id}-effect`} className="text-muted">
            {children}
          </div>
        )}
      </div>
    </div>
  )
}
