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
  /** False for a verb after which nothing is lost. */
  readonly isDanger?: boolean
  /** The text of the button that does nothing. */
  readonly keep?: string
  readonly isBusy: boolean
  readonly problem: Problem | null
  readonly onConfirm: () => void
  readonly onClose: () => void
}

export function Confirm(props: ConfirmProps) {
  const { name, children, isDanger = true, onConfirm, ...rest } = props
  const [typed, setTyped] = useState('')
  return (
    <FormDialog {...rest} isDanger={isDanger} isReady={name === null || isTyped(typed, name)} onSubmit={onConfirm}>
      {children}
      {name !== null && <TypedName name={name} value={typed} onChange={setTyped} />}
    </FormDialog>
  )
}
