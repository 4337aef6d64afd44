// Fields of forms: a label, the browser's own control, a hint, and the objection of the broker at its field. The rules
// are the broker's; a form here knows none.

import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react'

export const CONTROL =
  'w-full min-h-9 max-sm:min-h-11 rounded-control border border-edge bg-surface px-2 text-text disabled:opacity-60 aria-invalid:border-danger'

interface FieldProps {
  readonly label: ReactNode
  readonly hint?: ReactNode
  /** Why the value is refused. */
  readonly error?: string | undefined
  /** Renders the control with the attributes that tie it to label, hint and error. */
  readonly children: (attributes: {
    readonly id: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': true | undefined
  }) => ReactNode
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  const errorId = `${id}-error`
  const described = [hint === undefined ? '' : hintId, error === undefined ? '' : errorId].filter(Boolean).join(' ')
  return (
    <div className="my-3">
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <div id={hintId} className="mt-1 text-muted">
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div id={errorId} className="mt-1 text-danger">
          {error}
        </div>
      )}
    </div>
  )
}

type Common = Omit<FieldProps, 'children'>

interface TextFieldProps extends Common, Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'className'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isMono?: boolean
}

export function TextField({ label, hint, error, value, onChange, isMono = false, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {attributes => (
        <input
          type="text"
          {...rest}
          {...attributes}
          value={value}
          onChange={event => onChange(event.target.value)}
          className={`${CONTROL} ${isMono ? 'font-mono' : ''}`}
        />
      )}
    </Field>
  )
}

interface SelectFieldProps extends Common, Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'className'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly (readonly [value: string, label: string])[]
}

export function SelectField({ label, hint, error, value, onChange, options, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {attributes => (
        <select
          {...rest}
          {...attributes}
          value={value}
          onChange={event => onChange(event.target.value)}
          className={CONTROL}
        >
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface SwitchFieldProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly hint?: ReactNode
}

/** A tick with its text beside it. */
export function SwitchField({ label, isOn, onChange, hint }: SwitchFieldProps) {
  const id = useId()
  return (
    <div className="my-2">
      <div className="flex min-h-6 items-center gap-2 max-sm:min-h-11">
        <input
          id={id}
          type="checkbox"
          checked={isOn}
          onChange={event => onChange(event.target.checked)}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          className="size-5 shrink-0 accent-accent"
        />
        <label htmlFor={id}>{label}</label>
      </div>
      {hint !== undefined && (
        <div id={`${id}-hint`} className="text-muted">
          {hint}
        </div>
      )}
    </div>
  )
}
