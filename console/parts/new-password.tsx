// The two fields of a new password, with the switch that shows it. The broker has the rules.

import { useState } from 'react'
import { SwitchField, TextField } from './field.tsx'

interface NewPasswordProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error?: string | undefined
  /** Hears whether both fields hold the same text. */
  readonly onRepeated: (isSame: boolean) => void
}

const LEAST_BYTES = 8

/** The length is what makes a password strong; the words are those of the meter. */
function strengthOf(password: string): string {
  const length = new TextEncoder().encode(password).length
  if (length === 0) return `At least ${LEAST_BYTES} bytes. A sentence of several words is good.`
  if (length < LEAST_BYTES) return `Too short: ${length} of at least ${LEAST_BYTES} bytes.`
  if (length < 12) return 'Short. More words make it stronger.'
  return length < 20 ? 'Good.' : 'Strong.'
}

export function NewPassword({ value, onChange, error, onRepeated }: NewPasswordProps) {
  const [repeated, setRepeated] = useState('')
  const [isShown, setShown] = useState(false)
  const type = isShown ? 'text' : 'password'
  return (
    <>
      <TextField
        label="New password"
        name="new-password"
        type={type}
        value={value}
        onChange={text => {
          onChange(text)
          onRepeated(text === repeated)
        }}
        autoComplete="new-password"
        error={error}
        hint={strengthOf(value)}
        required
      />
      <TextField
        label="New password again"
        name="new-password-again"
        type={type}
        value={repeated}
        onChange={text => {
          setRepeated(text)
          onRepeated(text === value)
        }}
        autoComplete="new-password"
        error={repeated !== '' && repeated !== value ? 'This is another text than above.' : undefined}
        required
      />
      <SwitchField label="Show the password" isOn={isShown} onChange={setShown} />
    </>
  )
}
