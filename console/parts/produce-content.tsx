// The field for a key or a value: text or base64, JSON with a schema, or nothing. Long text, and text that a plain
// field would change, is in the editor.

import { useState } from 'react'
import { CONTROL, Field } from './field.tsx'
import type { ContentDraft, ContentKind } from './produce-draft.ts'
import { SchemaFields } from './produce-schema.tsx'
import { TextEditor } from './text-block.tsx'

interface ContentFieldProps {
  readonly label: string
  /** The choices, at least two. */
  readonly kinds: readonly ContentKind[]
  readonly content: ContentDraft
  readonly rows: number
  readonly hint?: string
  /** True for the field that takes the focus when the dialog opens. */
  readonly isFirst?: boolean
  readonly error?: string | undefined
  readonly schemaError?: string | undefined
  /** The subject that is proposed when the user chooses a schema. */
  readonly subject?: string
  /** The form of a text that is typed where nothing was. */
  readonly typedKind?: ContentKind
  readonly onChange: (content: ContentDraft) => void
}

export const KIND_LABELS: Readonly<Record<ContentKind, string>> = {
  text: 'Text',
  base64: 'Base64',
  null: 'None',
  schema: 'JSON with a schema',
}

/** A plain field becomes slow with longer text. */
const MOST_PLAIN = 65_536

export function ContentField({
  label,
  kinds,
  content,
  rows,
  hint,
  isFirst = false,
  error,
  schemaError,
  subject = '',
  typedKind = 'text',
  onChange,
}: ContentFieldProps) {
  const { kind, typed } = content
  const schema = content.schema ?? { name: subject, message: '' }
  const isLong = useIsLong(typed)
  return (
    <>
      <Field label={label} hint={hint} error={error}>
        {attributes => (
          <div className="flex flex-col gap-1">
            {/* biome-ignore lint/a11y/useSemanticElements: the field has its label already */}
            <div role="group" aria-label={`Form of ${label}`} className="flex gap-1">
              {kinds.map(each => (
                <button
                  key={each}
                  type="button"
                  aria-pressed={each === kind}
                  onClick={() => onChange({ ...content, kind: each, schema })}
                  className={`min-h-7 rounded-control px-2 text-dense max-sm:min-h-11 ${each === kind ? 'bg-info-soft font-medium text-accent' : 'text-muted hover:text-text'}`}
                >
                  {KIND_LABELS[each]}
                </button>
              ))}
            </div>
            {kind !== 'null' && isLong ? (
              <TextEditor text={typed} label={label} onChange={text => onChange({ ...content, typed: text })} />
            ) : (
              <textarea
                {...attributes}
                data-first={isFirst ? '' : undefined}
                rows={rows}
                value={kind === 'null' ? '' : typed}
                placeholder={kind === 'null' ? 'null' : undefined}
                spellCheck={false}
                // Who types means a text, or JSON where the schema is known.
                onChange={event =>
                  onChange({ ...content, kind: kind === 'null' ? typedKind : kind, typed: event.target.value, schema })
                }
                className={`${CONTROL} py-2 font-mono text-dense`}
              />
            )}
          </div>
        )}
      </Field>
      {kind === 'schema' && (
        <SchemaFields
          label={label}
          schema={schema}
          error={schemaError}
          onChange={changed => onChange({ ...content, schema: changed })}
        />
      )}
    </>
  )
}

/** Once in the editor, a text stays there: the focus must not jump. A plain field would drop carriage returns. */
function useIsLong(typed: string): boolean {
  const isLong = typed.length > MOST_PLAIN || typed.includes('\r')
  const [wasLong, setWasLong] = useState(isLong)
  if (isLong && !wasLong) setWasLong(true)
  return isLong || wasLong
}
