// The dialog before something is lost: it names the thing, the effect and what is lost, and asks for the name.

import { type ReactNode, useState } from 'react'
import type { Operation } from '../api/client.ts'
import type { Problem } from '../api/problem.ts'
import { isTyped } from '../text/visible.ts'
import { FormDialog } from './form-dialog.tsx'
import { TypedName } from './typed-name.tsx'

interface ConfirmProps {
  readonly operation: Operation
  /** The title, which is the verb and the thing: `Delete topic`. */
  readonly title: string
  /** The name that the user has to type; null if one press is enough, because nothing is lost. */
  readonly name: string | null
  /** The sentences that say what happens and what is lost. */
  readonly children: ReactNode
  /** The text of the button. */
  readonly verb: string
  readonly isBusy: boolean
  readonly problem: Problem | null
  readonly onConfirm: () => void
  readonly onClose: () => void
}

export function Confirm(props: ConfirmProps) {
  const { operation, title, name, children, verb, isBusy, problem, onConfirm, onClose } = props
  const [typed, setTyped] = useState('')
  return (
    <FormDialog
      operation={operation}
      title={title}
      verb={verb}
      isDanger
      isReady={name === null || isTyped(typed, name)}
      isBusy={isBusy}
      problem={problem}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {children}
      {name !== null && <TypedName name={name} value={typed} onChange={setTyped} />}
    </FormDialog>
  )
}
