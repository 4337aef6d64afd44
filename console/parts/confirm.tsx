// The dialog before something is lost: it names the thing, the effect and what is lost, and asks for the name.

import { type ReactNode, useState } from 'react'
import type { Operation } from '../api/client.ts'
import type { Problem } from '../api/problem.ts'
import { Action, Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { TextField } from './field.tsx'
import { ProblemNote } from './problem-note.tsx'
import { VisibleText } from './visible-text.tsx'

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
  const isReady = name === null || typed === name
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isReady) onConfirm()
        }}
      >
        {children}
        {name !== null && (
          <TextField
            label={
              <>
                Type <VisibleText text={name} /> to confirm
              </>
            }
            value={typed}
            onChange={setTyped}
            autoComplete="off"
            spellCheck={false}
            isMono
          />
        )}
        {problem !== null && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Action operation={operation} type="submit" kind="danger" disabled={!isReady} isBusy={isBusy}>
            {verb}
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}
