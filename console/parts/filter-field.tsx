// The filter of a list. The typed text reaches the address after a short rest, so that each letter does not ask the
// broker. A list that must follow each letter hears of it at once. The key `/` focuses the field.

import { Search } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { pause } from '../api/client.ts'
import { CONTROL } from './field.tsx'

/** The rest in ms after the last letter. */
const REST_MS = 30
/** The rest where only the address waits for it. */
const ADDRESS_REST_MS = 150

interface FilterFieldProps {
  readonly label: string
  /** The filter in the address. */
  readonly value: string
  readonly onChange: (value: string) => void
  /** Hears of each letter at once, and of a filter that changed in the address. */
  readonly onTyped?: (value: string) => void
}

export function FilterField({ label, value, onChange, onTyped }: FilterFieldProps) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  /** The texts on their way into the address, the oldest first. */
  const expected = useRef<readonly string[]>([])
  const hear = useRef({ onChange, onTyped })
  hear.current = { onChange, onTyped }
  const restMs = onTyped === undefined ? REST_MS : ADDRESS_REST_MS

  useEffect(() => {
    const at = expected.current.indexOf(value)
    if (at >= 0) expected.current = expected.current.slice(at + 1)
    // Else the address changed by itself: by Back, or by a press on Clear.
    else if (value !== sent.current) {
      sent.current = value
      setTyped(value)
    }
  }, [value])

  useEffect(() => hear.current.onTyped?.(typed), [typed])

  useEffect(() => {
    if (typed === sent.current) return
    const ended = new AbortController()
    pause(restMs, ended.signal).then(
      () => {
        sent.current = typed
        expected.current = [...expected.current, typed]
        hear.current.onChange(typed)
      },
      () => {
        // Another letter followed.
      },
    )
    return () => ended.abort()
  }, [typed, restMs])

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
