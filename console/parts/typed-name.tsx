// The field in which the user types the name of a thing before it is lost. Hidden characters cannot be typed, and the
// browser drops some of them from what is pasted: in their place the user types their numbers. isTyped() compares.

import { hasHidden, spelled } from '../text/visible.ts'
import { TextField } from './field.tsx'

interface TypedNameProps {
  /** The name that the user has to type. */
  readonly name: string
  readonly value: string
  readonly onChange: (typed: string) => void
}

export function TypedName({ name, value, onChange }: TypedNameProps) {
  return (
    <TextField
      label={
        <>
          Type <bdi>{spelled(name)}</bdi> to confirm
        </>
      }
      hint={hasHidden(name) ? 'The name has characters that cannot be seen. Type their numbers as shown.' : undefined}
      value={value}
      onChange={onChange}
      autoComplete="off"
      spellCheck={false}
      isMono
    />
  )
}
