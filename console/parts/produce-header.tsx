// One header in the dialog Produce: its name and its value, and whether it is sent.

import { X } from 'lucide-react'
import { useId } from 'react'
import { Button } from './button.tsx'
import { CONTROL } from './field.tsx'
import { KIND_LABELS } from './produce-content.tsx'
import type { ContentKind, HeaderDraft } from './produce-draft.ts'

interface HeaderFieldProps {
  /** From 1. */
  readonly number: number
  readonly header: HeaderDraft
  /** True for a header of the record that is produced again: a tick leaves it out. */
  readonly isOriginal: boolean
  readonly error: string | undefined
  /** True for a header that the user just added: its name takes the focus. */
  readonly isNew: boolean
  readonly onChange: (header: HeaderDraft) => void
  readonly onRemove: () => void
}

export function HeaderField({ number, header, isOriginal, isNew, error, onChange, onRemove }: HeaderFieldProps) {
  const { key, value, isSent } = header
  const errorId = useId()
  const described = error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': errorId }
  return (
    <li>
      <div className="flex flex-wrap items-start gap-2">
        {isOriginal && (
          <input
            type="checkbox"
            aria-label={`Send header ${number}${key === '' ? '' : `, ${key}`}`}
            checked={isSent}
            onChange={event => onChange({ ...header, isSent: event.target.checked })}
            className="my-2 size-5 shrink-0 accent-accent"
          />
        )}
        <div className="min-w-32 flex-1">
          <input
            aria-label={`Name of header ${number}`}
            placeholder="Name"
            // biome-ignore lint/a11y/noAutofocus: the user just asked for this field
            autoFocus={isNew}
            value={key}
            disabled={!isSent}
            onChange={event => onChange({ ...header, key: event.target.value })}
            className={`${CONTROL} font-mono`}
          />
        </div>
        <div className="min-w-32 flex-1">
          <textarea
            aria-label={`Value of header ${number}`}
            placeholder={value.kind === 'null' ? 'null' : 'Value'}
            rows={1}
            value={value.kind === 'null' ? '' : value.typed}
            disabled={!isSent || value.kind === 'null'}
            {...described}
            onChange={event => onChange({ ...header, value: { ...value, typed: event.target.value } })}
            className={`${CONTROL} py-2 font-mono text-dense`}
          />
        </div>
        <div className="w-24">
          <select
            aria-label={`Form of the value of header ${number}`}
            value={value.kind}
            disabled={!isSent}
            onChange={event => onChange({ ...header, value: { ...value, kind: event.target.value as ContentKind } })}
            className={CONTROL}
          >
            {(['text', 'base64', 'null'] as const).map(kind => (
              <option key={kind} value={kind}>
                {KIND_LABELS[kind]}
              </option>
            ))}
          </select>
        </div>
        {!isOriginal && <Button kind="quiet" icon={X} aria-label={`Remove header ${number}`} onClick={onRemove} />}
      </div>
      {error !== undefined && (
        <p id={errorId} className="mt-1 text-danger">
          {error}
        </p>
      )}
    </li>
  )
}
