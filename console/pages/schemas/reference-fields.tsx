// The references of a draft: which version of which subject stands for a name in the text.

import { Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import type { ReferenceDraft, SchemaDraft } from './schema-draft.ts'

interface ReferencesProps {
  readonly draft: SchemaDraft
  readonly objections: Readonly<Record<string, string>>
  readonly onChange: (references: readonly ReferenceDraft[]) => void
}

const NAMES: Readonly<Record<SchemaDraft['type'], string>> = {
  AVRO: 'The full name of a type that the text uses and does not define.',
  JSON: 'The URI of a $ref.',
  PROTOBUF: 'The path of an import.',
}

export function References({ draft: { type, references }, objections, onChange }: ReferencesProps) {
  const nextId = useRef(references.length)
  const isNew = useRef(false)
  const change = (id: number, values: Partial<ReferenceDraft>) =>
    onChange(references.map(each => (each.id === id ? { ...each, ...values } : each)))
  return (
    <fieldset className="my-3">
      <legend className="mb-1 font-medium">References</legend>
      {references.length === 0 && <p className="text-muted">None. The text defines all that it uses.</p>}
      <ol>
        {references.map(({ id, name, subject, version }, at) => (
          <li key={id} className="border-b border-line last:border-0">
            <div className="grid items-start gap-x-3 sm:grid-cols-7">
              <div className="sm:col-span-3">
                <TextField
                  label={`Name ${at + 1}`}
                  value={name}
                  onChange={text => change(id, { name: text })}
                  hint={at === 0 ? NAMES[type] : undefined}
                  autoFocus={isNew.current && at === references.length - 1}
                  autoComplete="off"
                  spellCheck={false}
                  isMono
                />
              </div>
              <div className="sm:col-span-2">
                <TextField
                  label={`Subject ${at + 1}`}
                  value={subject}
                  onChange={text => change(id, { subject: text })}
                  autoComplete="off"
                  spellCheck={false}
                  isMono
                />
              </div>
              <TextField
                label={`Version ${at + 1}`}
                value={version}
                onChange={text => change(id, { version: text })}
                inputMode="numeric"
                autoComplete="off"
              />
              <div className="sm:pt-9">
                <Button
                  kind="quiet"
                  icon={X}
                  aria-label={`Remove reference ${at + 1}`}
                  title="Remove"
                  onClick={() => onChange(references.filter(each => each.id !== id))}
                />
              </div>
            </div>
            {objections[`reference ${id}`] !== undefined && (
              <p className="mb-2 text-danger">{objections[`reference ${id}`]}</p>
            )}
          </li>
        ))}
      </ol>
      <div className="mt-2">
        <Button
          isSmall
          icon={Plus}
          onClick={() => {
            isNew.current = true
            onChange([...references, { id: nextId.current++, name: '', subject: '', version: '1' }])
          }}
        >
          Add a reference
        </Button>
      </div>
    </fieldset>
  )
}
