// One config in the table of the configuration. Its value is edited in place; a value that cannot be changed says why.

import { Pencil, RotateCcw, Undo2 } from 'lucide-react'
import { useId, useRef } from 'react'
import type { ShownConfig } from '../../../src/api/topics.ts'
import { Action, Button } from '../../parts/button.tsx'
import { ConfigInput } from './config-input.tsx'
import { ConfigName } from './config-name.tsx'
import { exactConfig, readConfig, showConfig, sourceOf, writeConfig } from './config-text.ts'

interface ConfigRowProps {
  readonly config: ShownConfig
  /** The text of the field; null resets; undefined while it is not edited. */
  readonly edit: string | null | undefined
  readonly error: string | undefined
  readonly onEdit: (edit: string | null | undefined) => void
  /** Opens the review of all changes; null while they cannot be saved. */
  readonly onReview: (() => void) | null
}

export function ConfigRow({ config, edit, error, onEdit, onReview }: ConfigRowProps) {
  const { name, documentation, because } = config
  const why = fixedBecause(config)
  // The control that was pressed gives way to another one, which then takes over the focus.
  const wasPressed = useRef(false)
  const edited = (text: string | null | undefined) => {
    wasPressed.current = true
    onEdit(text)
  }
  return (
    <tr
      data-key={name}
      className={`border-b border-line align-top last:border-0 ${edit === undefined ? '' : 'bg-info-soft'}`}
    >
      <th scope="row" className="px-3 py-2 text-left font-normal">
        <span className="font-medium">
          <ConfigName of={name} />
        </span>
        <p className="mt-1 text-dense text-muted">
          {documentation}
          {because !== null && because !== documentation && !documentation.includes(because) && ` ${because}`}
        </p>
      </th>
      <td className="px-3 py-2">
        {typeof edit === 'string' ? (
          <Editor config={config} text={edit} error={error} onEdit={edited} />
        ) : (
          <div className="flex flex-wrap items-start justify-between gap-2">
            <Value config={config} isReset={edit === null} />
            {edit === null ? (
              <Button
                kind="quiet"
                isSmall
                icon={Undo2}
                aria-label={`Keep ${name}`}
                title="Keep"
                autoFocus={wasPressed.current}
                onClick={() => edited(undefined)}
              />
            ) : (
              <span className="inline-flex gap-1">
                {config.source === 'topic' && !config.isReadOnly && (
                  <Action
                    operation="alter topic configs"
                    kind="quiet"
                    isSmall
                    icon={RotateCcw}
                    aria-label={`Reset ${name}`}
                    title="Reset to the inherited value"
                    onClick={() => edited(null)}
                  />
                )}
                {why === null && (
                  <Action
                    operation="alter topic configs"
                    kind="quiet"
                    isSmall
                    icon={Pencil}
                    aria-label={`Edit ${name}`}
                    title="Edit"
                    autoFocus={wasPressed.current}
                    onClick={() => edited(writeConfig(config, config.value ?? ''))}
                  />
                )}
              </span>
            )}
          </div>
        )}
        {edit !== undefined && (
          <div className="mt-1">
            <Button
              isSmall
              aria-label={`Review the change of ${name}`}
              disabled={onReview === null}
              onClick={() => onReview?.()}
            >
              Review
            </Button>
          </div>
        )}
        {why !== null && <p className="mt-1 text-dense text-muted">{why}</p>}
        {error !== undefined && typeof edit !== 'string' && <p className="mt-1 text-danger">{error}</p>}
        <p className="mt-1 text-dense text-muted md:hidden">{sourceOf(config)}</p>
      </td>
      <td className="px-3 py-2 max-md:hidden">
        <Source config={config} />
      </td>
      <td className="px-3 py-2 text-muted tabular-nums max-md:hidden" title={config.default}>
        {showConfig(config, config.default)}
      </td>
    </tr>
  )
}

/** Returns the reason why another value makes no sense; null if the config can be edited. */
function fixedBecause({ isReadOnly, choices, value }: ShownConfig): string | null {
  if (isReadOnly) return 'Read-only: it was fixed when the topic was created.'
  if (choices?.length === 1 && choices[0] === value) return 'It takes only this value.'
  return null
}

function Value({ config, isReset }: { readonly config: ShownConfig; readonly isReset: boolean }) {
  const exact = exactConfig(config, config.value)
  return (
    <span className="min-w-0 tabular-nums">
      <span className={isReset ? 'line-through' : ''}>{showConfig(config, config.value)}</span>
      {exact !== null && !isReset && <span className="block text-dense text-muted">{exact}</span>}
      {isReset && <span className="block">becomes the inherited value</span>}
    </span>
  )
}

function Source({ config }: { readonly config: ShownConfig }) {
  const { source, origin } = config
  if (source === 'topic') return <span className="font-medium whitespace-nowrap">this topic</span>
  if (source === 'default') return <span className="whitespace-nowrap text-muted">default</span>
  return (
    <>
      <span>{sourceOf(config)}</span>
      {origin !== null && origin !== sourceOf(config) && <span className="block text-dense text-muted">{origin}</span>}
    </>
  )
}

interface EditorProps {
  readonly config: ShownConfig
  readonly text: string
  readonly error: string | undefined
  readonly onEdit: (edit: string | undefined) => void
}

function Editor({ config, text, error, onEdit }: EditorProps) {
  const hint = useId()
  const read = readConfig(config, text)
  const exact = 'value' in read ? exactConfig(config, read.value) : null
  return (
    <div>
      <div className="flex items-start gap-1">
        <ConfigInput
          config={config}
          text={text}
          onText={onEdit}
          attributes={{
            'aria-label': `New value of ${config.name}`,
            'aria-describedby': hint,
            'aria-invalid': error === undefined ? undefined : true,
            autoFocus: true,
          }}
        />
        <Button
          kind="quiet"
          icon={Undo2}
          aria-label={`Undo the edit of ${config.name}`}
          title="Undo"
          onClick={() => onEdit(undefined)}
        />
      </div>
      <p id={hint} className={`mt-1 text-dense ${error === undefined ? 'text-muted' : 'text-danger'}`}>
        {error ??
          (exact === null
            ? `was ${showConfig(config, config.value)}`
            : `= ${exact}, was ${showConfig(config, config.value)}`)}
      </p>
    </div>
  )
}
