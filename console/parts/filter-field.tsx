// The filter of a list. The typed text reaches the address after a short rest, so that each letter does not ask the
// broker. The key `/` focuses the field.

import { Search } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { pause } from '../api/client.ts'
import { CONTROL } from './field.tsx'

/** The rest in ms after the last letter. */
const REST_MS = 30

interface FilterFieldProps {
  readonly label: string
  /** The filter in the address. */
  readonly value: string
  readonly onChange: (value: string) => void
}

export function FilterField({ label, value, onChange }: FilterFieldProps) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  const change = useRef(onChange)
  change.current = onChange

  // The address changed by itself: by Back, or by a press on Clear.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setTyped(value)
  }, [value])

  useEffect(() => {
    if (typed === sent.current) return
    const ended = new AbortController()
    pause(REST_MS, ended.signal).then(
      () => {
        sent.current = typed
        change.current(typed)
      },
      () => {
        // Another letter followed.
      },
    )
    return () => ended.abort()
  }, [typed])

  return (
    <div className="relative w-64 max-w-full max-sm:w-full">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search size={16} aria-hidden className="pointer-events-none absolute inset-y-0 left-2 my-auto text-muted" />
      <input
        id={id}
        type="search"
        placeholder={label}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        autoComplete="off"
        spellCheck={false}
        className={`${CONTROL} pl-8`}
      />
    </div>
  )
}
