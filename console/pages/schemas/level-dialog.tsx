// The dialog that sets the level of compatibility of one subject, or of all that have none of their own.

import { type ReactNode, useState } from 'react'
import type { ShownSchemaLevel } from '../../../src/api/schemas.ts'
import { SCHEMA_LEVELS } from '../../../src/api/words.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Action } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { toast } from '../../shell/toasts.tsx'
import { LEVEL_SENTENCES, levelOf } from './words.ts'

interface LevelDialogProps {
  /** Null: the global level. */
  readonly subject: string | null
  readonly onClose: () => void
}

const OPTIONS = SCHEMA_LEVELS.map(each => [each, each] as const)

export function LevelDialog(props: LevelDialogProps) {
  const { subject, onClose } = props
  const params = { subject: subject ?? '' }
  const own = useRead('show schema level', { params }, { isWanted: subject !== null })
  const global = useRead('show global schema level', {}, { isWanted: subject === null })
  const read = subject === null ? global : own
  if (read.data !== undefined) return <Form {...props} shown={read.data} />
  return (
    <Dialog title={titleOf(subject)} onClose={onClose}>
      <Loaded read={read} of="The level" rows={4}>
        {() => null}
      </Loaded>
    </Dialog>
  )
}

function titleOf(subject: string | null): ReactNode {
  if (subject === null) return 'Global level'
  return (
    <>
      Level of <VisibleText text={subject} />
    </>
  )
}

function Form({ subject, shown, onClose }: LevelDialogProps & { readonly shown: ShownSchemaLevel }) {
  const [level, setLevel] = useState(shown.level)
  const setOwn = useChange('set schema level')
  const setGlobal = useChange('set global schema level')
  const resetOwn = useChange('reset schema level')
  const resetGlobal = useChange('reset global schema level')
  const changes = [setOwn, setGlobal, resetOwn, resetGlobal]
  const isBusy = changes.some(each => each.isBusy)
  const whose = subject === null ? 'The global level' : `The level of ${subject}`
  const hasOwn = shown.origin === (subject === null ? 'global' : 'subject')
  const done = (answer: ShownSchemaLevel) => {
    toast(`${whose} is ${answer.level}.`)
    onClose()
  }
  const submit = async () => {
    const body = { level }
    const made = await (subject === null ? setGlobal.run({ body }) : setOwn.run({ params: { subject }, body }))
    if (made !== null) done(made.answer)
  }
  const reset = async () => {
    const made = await (subject === null ? resetGlobal.run({}) : resetOwn.run({ params: { subject } }))
    if (made !== null) done(made.answer)
  }
  return (
    <FormDialog
      operation={subject === null ? 'set global schema level' : 'set schema level'}
      title={titleOf(subject)}
      verb="Set level"
      isReady={level !== shown.level || !hasOwn}
      isBusy={isBusy}
      problem={changes.find(({ problem }) => problem !== null)?.problem ?? null}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <SelectField
        label="Level"
        value={level}
        options={OPTIONS}
        onChange={text => {
          for (const each of changes) each.clear()
          setLevel(levelOf(text))
        }}
        hint={LEVEL_SENTENCES[level]}
      />
      <p className="text-muted">
        {subject === null
          ? `It holds for every subject without a level of its own. The default is ${shown.fallback}.`
          : hasOwn
            ? `The subject has a level of its own. The global level is ${shown.fallback}.`
            : `The subject follows the global level, ${shown.fallback}. A level of its own holds also when that one changes.`}{' '}
        Versions that are there are not compared again.
      </p>
      {hasOwn && (
        <div className="mt-3">
          <Action
            operation={subject === null ? 'reset global schema level' : 'reset schema level'}
            isBusy={isBusy}
            onClick={() => void reset()}
          >
            {subject === null ? 'Reset to the default' : 'Follow the global level'}
          </Action>
        </div>
      )}
    </FormDialog>
  )
}
