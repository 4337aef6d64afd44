// A dialog with a form: the fields, the problem that belongs to none of them, and the two buttons.

import type { ReactNode } from 'react'
import type { Operation } from '../api/client.ts'
import type { Problem } from '../api/problem.ts'
import { Action, Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { ProblemNote } from './problem-note.tsx'

interface FormDialogProps {
  readonly operation: Operation
  readonly title: ReactNode
  /** The text of the button that sends the form. */
  readonly verb: string
  /** The text of the button that closes the dialog. */
  readonly keep?: string
  /** True for a form after which something is lost. */
  readonly isDanger?: boolean
  /** False while the form cannot be sent. */
  readonly isReady: boolean
  readonly isBusy: boolean
  /** The problem that no field shows; null without such a problem. */
  readonly problem: Problem | null
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

export function FormDialog(props: FormDialogProps) {
  const { operation, title, verb, keep = 'Cancel', isDanger = false, isReady, isBusy, problem } = props
  const { onSubmit, onClose, children } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isReady) onSubmit()
        }}
      >
        {children}
        {problem !== null && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>{keep}</Button>
          <Action
            operation={operation}
            type="submit"
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={isBusy}
            disabled={!isReady}
          >
            {verb}
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}
