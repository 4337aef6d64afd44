// The choice of states: each is on or off, and none chosen shows all.

import { buttonClass } from '../../parts/button.tsx'
import { GROUP_STATES, readStates, toggleState, wordsOf } from './group-state.ts'

interface StateFilterProps {
  /** The states as the address has them. */
  readonly value: string
  readonly onChange: (value: string) => void
}

export function StateFilter(props: StateFilterProps) {
  const chosen = readStates(props.value).length
  return (
    <>
      <div className="max-sm:hidden">
        <Choices {...props} />
      </div>
      <details className="w-full sm:hidden">
        <summary className={`${buttonClass()} w-full`}>States{chosen > 0 && ` (${chosen})`}</summary>
        <div className="mt-2">
          <Choices {...props} />
        </div>
      </details>
    </>
  )
}

function Choices({ value, onChange }: StateFilterProps) {
  const chosen = readStates(value)
  return (
    <fieldset className="flex flex-wrap items-center gap-2">
      <legend className="sr-only">States</legend>
      {GROUP_STATES.map(state => {
        const isOn = chosen.includes(state)
        return (
          <label
            key={state}
            className={`inline-flex min-h-9 items-center gap-2 rounded-control border px-3 max-sm:min-h-11 has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent ${isOn ? 'border-accent bg-info-soft font-medium text-accent' : 'border-line bg-surface text-muted hover:bg-raised'}`}
          >
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={isOn}
              onChange={() => onChange(toggleState(value, state))}
            />
            {wordsOf(state)}
          </label>
        )
      })}
    </fieldset>
  )
}
