// The fields for the schema of a key or a value: a subject that exists is proposed, any other text is taken too.

import { useId } from 'react'
import { useRead } from '../api/queries.ts'
import { TextField } from './field.tsx'
import type { SchemaDraft } from './produce-draft.ts'
import { useSettled } from './settled.ts'

const LOOK_UP_REST_MS = 150
const MOST_NAMES = 20

interface SchemaFieldsProps {
  /** The name of the key or value. */
  readonly label: string
  readonly schema: SchemaDraft
  readonly error: string | undefined
  readonly onChange: (schema: SchemaDraft) => void
}

export function SchemaFields({ label, schema, error, onChange }: SchemaFieldsProps) {
  const id = useId()
  const q = useSettled(schema.name.trim(), LOOK_UP_REST_MS)
  const found = useRead('list schema subjects', { query: { q, limit: MOST_NAMES } }, { everyMs: 0 })
  const part = label.toLowerCase()
  return (
    <div className="grid gap-x-4 sm:grid-cols-2">
      <TextField
        label={`Schema of ${part}`}
        hint="A subject, subject:version, or an id. The JSON is as the decoding Schema registry shows it."
        list={id}
        value={schema.name}
        error={error}
        autoComplete="off"
        spellCheck={false}
        isMono
        onChange={name => onChange({ ...schema, name })}
      />
      <datalist id={id}>
        {found.data?.subjects.map(({ subject }) => (
          <option key={subject} value={subject} />
        ))}
      </datalist>
      <TextField
        label={`Message of ${part}`}
        hint="For Protobuf: the full name. By default the first one of the schema."
        value={schema.message}
        autoComplete="off"
        spellCheck={false}
        isMono
        onChange={message => onChange({ ...schema, message })}
      />
    </div>
  )
}
