// The field of one config of a new topic. While it is empty it says what the topic inherits, and from where.

import type { ReactNode } from 'react'
import type { ShownConfig } from '../../../src/api/topics.ts'
import { Field } from '../../parts/field.tsx'
import { ConfigInput } from '../topic/config-input.tsx'
import { exactConfig, inheritance, readConfig, showConfig } from '../topic/config-text.ts'

interface ConfigFieldProps {
  readonly label: string
  /** The config as the topic would inherit it; before that is known, its name and unit. */
  readonly config: ShownConfig | Pick<ShownConfig, 'name' | 'unit'>
  readonly text: string
  readonly onText: (text: string) => void
  readonly error: string | undefined
  /** The hint after that about the value. */
  readonly note?: ReactNode
}

export function ConfigField({ label, config, text, onText, error, note }: ConfigFieldProps) {
  const known = 'value' in config ? config : null
  const inherited = known === null ? null : <span title={known.origin ?? undefined}>{inheritance(known)}</span>
  const hint = text === '' ? inherited : error === undefined ? exactly(config, text) : null
  return (
    <Field
      label={label}
      error={error}
      hint={
        hint === null && note === undefined ? undefined : (
          <>
            {hint !== null && <span className="block">{hint}</span>}
            {note !== undefined && <span className="block">{note}</span>}
          </>
        )
      }
    >
      {attributes => (
        <ConfigInput
          config={known ?? { ...config, choices: config.unit === null ? [] : null, type: 'string' }}
          text={text}
          onText={onText}
          inherit={known === null ? 'Inherit' : `Inherit (${showConfig(known, known.value)})`}
          attributes={attributes}
        />
      )}
    </Field>
  )
}

/** The exact number, once the text is understood and differs from it. */
function exactly(config: Pick<ShownConfig, 'name' | 'unit'>, text: string): string | null {
  const read = readConfig(config, text)
  const exact = 'value' in read ? exactConfig(config, read.value) : null
  return exact === null ? null : `= ${exact}`
}
