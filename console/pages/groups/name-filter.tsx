// The search field over a list. It keeps what is typed at once, and the address follows.

import { Search } from 'lucide-react'
import { useState } from 'react'
import { CONTROL } from '../../parts/field.tsx'

interface NameFilterProps {
  readonly label: string
  /** The filter as the address has it. */
  readonly value: string
  readonly onChange: (value: string) => void
}

export function NameFilter({ label, value, onChange }: NameFilterProps) {
  const [typed, setTyped] = useState(value)
  const [sent, setSent] = useState(value)
  // The address changed by another hand: Back, a link, or the button that clears.
  if (value !== sent) {
    setSent(value)
    setTyped(value)
  }
  return (
    <div className="relative w-72 max-w-full max-sm:w-full">
      <Search
        size={16}
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-muted"
      />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => {
          setTyped(target.value)
          setSent(target.value)
          onChange(target.value)
        }}
        className={`${CONTROL} pl-9`}
      />
    </div>
  )
}
