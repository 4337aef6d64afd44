// The control of one config: a choice, or a text with a unit. Label, hint and objection are around it.

import type { ShownConfig } from '../../../src/api/topics.ts'
import { CONTROL } from '../../parts/field.tsx'

interface ConfigInputProps {
  readonly config: Pick<ShownConfig, 'name' | 'unit' | 'choices' | 'type'>
  /** The text of the field; '' is the inherited value. */
  readonly text: string
  readonly onText: (text: string) => void
  /** The choice that inherits; without it the field always has a value. */
  readonly inherit?: string | undefined
  /** The attributes that tie the control to its label, hint and objection. */
  readonly attributes: Readonly<Record<string, string | boolean | undefined>>
}

export function ConfigInput({ config, text, onText, inherit, attributes }: ConfigInputProps) {
  const choices = choicesOf(config, text)
  if (choices === null)
    return (
      <input
        type="text"
        autoComplete="off"
        spellCheck={false}
        {...attributes}
        value={text}
        onChange={({ target }) => onText(target.value)}
        className={`${CONTROL} tabular-nums`}
      />
    )
  return (
    <select {...attributes} value={text} onChange={({ target }) => onText(target.value)} className={CONTROL}>
      {inherit !== undefined && <option value="">{inherit}</option>}
      {choices.map(choice => (
        <option key={choice} value={choice}>
          {choice === '' ? 'empty' : choice}
        </option>
      ))}
    </select>
  )
}

/** Returns the texts to choose from, with the present one; null if the config takes other texts too. */
function choicesOf({ choices, type }: ConfigInputProps['config'], text: string): readonly string[] | null {
  if (choices === null) return null
  const lists = type === 'list' && choices.length > 1 ? [choices.join(',')] : []
  const own = text === '' || choices.includes(text) || lists.includes(text) ? [] : [text]
  return [...choices, ...lists, ...own]
}
