// The field in which the user types the name of a thing before it is lost.

import { TextField } from './field.tsx'
import { VisibleText } from './visible-text.tsx'

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
          Type <VisibleText text={name} /> to confirm
        </>
      }
      value={value}
      onChange={onChange}
      autoComplete="off"
      spellCheck={false}
      isMono
    />
  )
}
