// The dialog that checks a schema, and registers it once the check of exactly this draft has passed. A user who may not
// register can check.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { CheckedSchema, SchemaVersion } from '../../../src/api/schemas.ts'
import { SCHEMA_TYPES } from '../../../src/api/words.ts'
import { useChange } from '../../api/queries.ts'
import { Action, Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { SelectField, SwitchField, TextField } from '../../parts/field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { TextEditor } from '../../parts/text-block.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { toast } from '../../shell/toasts.tsx'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { CheckResult } from './check-result.tsx'
import { References } from './reference-fields.tsx'
import { draftOf, keyOf, requestOf, type SchemaDraft } from './schema-draft.ts'
import { typeOf } from './words.ts'

interface RegisterSchemaProps {
  /** Null lets the user name the subject. */
  readonly subject: string | null
  /** The version whose text the draft begins with. */
  readonly like?: SchemaVersion
  readonly onClose: () => void
}

const TYPE_OPTIONS = SCHEMA_TYPES.map(each => [each, TYPE_NAMES[each]] as const)

export function RegisterSchema({ subject, like, onClose }: RegisterSchemaProps) {
  const go = useGo()
  const mayRegister = useMay('register schema')
  const [first] = useState(() => draftOf(subject ?? '', like))
  const [draft, setDraft] = useState(first)
  const [checked, setChecked] = useState<{ readonly key: string; readonly answer: CheckedSchema } | null>(null)
  const [isAsked, setAsked] = useState(false)
  const region = useRef<HTMLDivElement>(null)
  const check = useChange('check schema')
  const register = useChange('register schema')
  const { body, objections } = requestOf(draft)
  const shown = isAsked ? objections : {}
  const params = { subject: draft.subject }
  const key = keyOf(draft)
  const result = checked?.key === key ? checked.answer : null
  const isReady = result?.compatible === true && result.mode === 'READWRITE'
  const problem = register.problem ?? check.problem
  // The answer may be below the edge of the dialog.
  useEffect(() => {
    if (checked !== null) region.current?.scrollIntoView({ block: 'nearest' })
  }, [checked])

  const change = (values: Partial<SchemaDraft>) => {
    check.clear()
    register.clear()
    setDraft({ ...draft, ...values })
  }
  const runCheck = async () => {
    setAsked(true)
    register.clear()
    if (Object.keys(objections).length > 0) return
    const made = await check.run({ params, body })
    if (made !== null) setChecked({ key, answer: made.answer })
  }
  const submit = async () => {
    if (!isReady) return await runCheck()
    const made = await register.run({ params, body })
    if (made === null) return
    const { version, id } = made.answer
    toast(`${draft.subject} has this schema as version ${version}, with the id ${id}.`)
    onClose()
    go({ page: 'subject', params, search: { version } })
  }

  return (
    <Dialog title={titleOf(subject, mayRegister)} isWide isDismissable={draft === first} onClose={onClose}>
      <form
        noValidate
        aria-label="Schema"
        onSubmit={event => {
          event.preventDefault()
          void submit()
        }}
      >
        <div className="grid gap-x-6 sm:grid-cols-2">
          {subject === null && (
            <TextField
              label="Subject"
              value={draft.subject}
              onChange={text => change({ subject: text })}
              error={shown.subject ?? problem?.fields.subject}
              hint="orders-value judges the values of the topic orders, and orders-key its keys."
              autoComplete="off"
              spellCheck={false}
              isMono
            />
          )}
          <SelectField
            label="Type"
            value={draft.type}
            options={TYPE_OPTIONS}
            onChange={text => change({ type: typeOf(text) })}
            data-first={subject === null ? undefined : ''}
          />
        </div>
        <div className="my-3">
          <p className="mb-1 font-medium">Schema</p>
          <TextEditor
            text={draft.text}
            label="Schema"
            isJson={draft.type !== 'PROTOBUF'}
            onChange={text => change({ text })}
            className="h-80"
          />
          {(shown.text ?? problem?.fields.schema) !== undefined && (
            <p className="mt-1 text-danger">{shown.text ?? problem?.fields.schema}</p>
          )}
        </div>
        <References draft={draft} objections={shown} onChange={references => change({ references })} />
        <SwitchField
          label="Normalize"
          isOn={draft.normalize}
          onChange={normalize => change({ normalize })}
          hint="Schemas with the same meaning become the same text, for example with another order of members."
        />
        <div role="status" ref={region} className="scroll-mb-20">
          {result !== null && <CheckResult of={result} text={draft.text} />}
        </div>
        {problem !== null && <ProblemNote problem={problem} />}
        <DialogActions>
          {mayRegister && !isReady && (
            <span className="mr-auto self-center text-muted">
              {result === null ? 'A check comes first.' : 'This schema cannot be registered.'}
            </span>
          )}
          <Button onClick={onClose}>{mayRegister ? 'Cancel' : 'Close'}</Button>
          <Action operation="check schema" isBusy={check.isBusy} onClick={() => void runCheck()}>
            Check
          </Action>
          <Action operation="register schema" type="submit" kind="primary" isBusy={register.isBusy} disabled={!isReady}>
            Register
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}

function titleOf(subject: string | null, mayRegister: boolean): ReactNode {
  if (!mayRegister) return 'Check a schema'
  if (subject === null) return 'Register a schema'
  return (
    <>
      New version of <VisibleText text={subject} />
    </>
  )
}
