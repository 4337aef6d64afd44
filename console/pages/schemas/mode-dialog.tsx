// The dialog that sets the mode of one subject, or of all that have none of their own.

import { type ReactNode, useState } from 'react'
import type { ShownSchemaMode } from '../../../src/api/schemas.ts'
import { SCHEMA_MODES } from '../../../src/api/words.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Action } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, SwitchField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { toast } from '../../shell/toasts.tsx'
import { MODE_SENTENCES, modeOf } from './words.ts'

interface ModeDialogProps {
  /** Null: the global mode. */
  readonly subject: string | null
  readonly onClose: () => void
}

const OPTIONS = SCHEMA_MODES.map(each => [each, each] as const)

export function ModeDialog(props: ModeDialogProps) {
  const { subject, onClose } = props
  const params = { subject: subject ?? '' }
  const own = useRead('show schema mode', { params }, { isWanted: subject !== null })
  const global = useRead('show global schema mode', {}, { isWanted: subject === null })
  const read = subject === null ? global : own
  if (read.data !== undefined) return <Form {...props} shown={read.data} />
  return (
    <Dialog title={titleOf(subject)} onClose={onClose}>
      <Loaded read={read} of="The mode" rows={4}>
        {() => null}
      </Loaded>
    </Dialog>
  )
}

function titleOf(subject: string | null): ReactNode {
  if (subject === null) return 'Global mode'
  return (
    <>
      Mode of <VisibleText text={subject} />
    </>
  )
}

function Form({ subject, shown, onClose }: ModeDialogProps & { readonly shown: ShownSchemaMode }) {
  const [mode, setMode] = useState(shown.mode)
  const [force, setForce] = useState(false)
  const setOwn = useChange('set schema mode')
  const setGlobal = useChange('set global schema mode')
  const resetOwn = useChange('reset schema mode')
  const resetGlobal = useChange('reset global schema mode')
  const changes = [setOwn, setGlobal, resetOwn, resetGlobal]
  const isBusy = changes.some(each => each.isBusy)
  const whose = subject === null ? 'The global mode' : `The mode of ${subject}`
  const hasOwn = shown.origin === (subject === null ? 'global' : 'subject')
  const done = (answer: ShownSchemaMode) => {
    toast(`${whose} is ${answer.mode}.`)
    onClose()
  }
  const submit = async () => {
    const body = { mode, force: mode === 'IMPORT' && force }
    const made = await (subject === null ? setGlobal.run({ body }) : setOwn.run({ params: { subject }, body }))
    if (made !== null) done(made.answer)
  }
  const reset = async () => {
    const made = await (subject === null ? resetGlobal.run({}) : resetOwn.run({ params: { subject } }))
    if (made !== null) done(made.answer)
  }
  const clear = () => {
    for (const each of changes) each.clear()
  }
  return (
    <FormDialog
      operation={subject === null ? 'set global schema mode' : 'set schema mode'}
      title={titleOf(subject)}
      verb="Set mode"
      isReady={mode !== shown.mode || !hasOwn}
      isBusy={isBusy}
      problem={changes.find(({ problem }) => problem !== null)?.problem ?? null}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <SelectField
        label="Mode"
        value={mode}
        options={OPTIONS}
        onChange={text => {
          clear()
          setMode(modeOf(text))
        }}
        hint={MODE_SENTENCES[mode]}
      />
      {mode === 'IMPORT' && (
        <SwitchField
          label="Although there are versions"
          isOn={force}
          onChange={isOn => {
            clear()
            setForce(isOn)
          }}
          hint="The broker refuses this mode while versions are there, because an import could give their numbers to other schemas."
        />
      )}
      <p className="text-muted">
        {subject === null
          ? `It holds for every subject without a mode of its own. The default is ${shown.fallback}.`
          : hasOwn
            ? `The subject has a mode of its own. The global mode is ${shown.fallback}.`
            : `The subject follows the global mode, ${shown.fallback}.`}{' '}
        Readers notice nothing of a mode.
      </p>
      {hasOwn && (
        <div className="mt-3">
          <Action
            operation={subject === null ? 'reset global schema mode' : 'reset schema mode'}
            isBusy={isBusy}
            onClick={() => void reset()}
          >
            {subject === null ? 'Reset to the default' : 'Follow the global mode'}
          </Action>
        </div>
      )}
    </FormDialog>
  )
}
