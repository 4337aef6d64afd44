// The third step of a reset: what is lost, and the name of the group.

import { useState } from 'react'
import type { Problem } from '../../../api/problem.ts'
import { Action, Button } from '../../../parts/button.tsx'
import { DialogActions } from '../../../parts/dialog.tsx'
import { ProblemNote } from '../../../parts/problem-note.tsx'
import { TypedName } from '../../../parts/typed-name.tsx'
import { VisibleText } from '../../../parts/visible-text.tsx'
import { isTyped } from '../../../text/visible.ts'
import type { Preview } from './preview.ts'
import { totalsSentence } from './reset-effects.ts'

interface ConfirmStepProps {
  readonly groupId: string
  readonly preview: Preview
  readonly isBusy: boolean
  readonly problem: Problem | null
  readonly onBack: () => void
  readonly onConfirm: () => void
}

export function ConfirmStep({ groupId, preview, isBusy, problem, onBack, onConfirm }: ConfirmStepProps) {
  const [typed, setTyped] = useState('')
  const isReady = isTyped(typed, groupId)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (isReady) onConfirm()
      }}
    >
      <p className="font-medium">{totalsSentence(preview.answer.rows)}</p>
      <p className="mt-2">
        This replaces the offsets of the group{' '}
        <span className="font-medium">
          <VisibleText text={groupId} />
        </span>
        . The current offsets are lost: note them first if you may need them. The broker applies all rows of the
        preview, or none.
      </p>
      <TypedName name={groupId} value={typed} onChange={setTyped} />
      {problem !== null && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onBack}>Back</Button>
        <Action operation="reset offsets of group" type="submit" kind="danger" disabled={!isReady} isBusy={isBusy}>
          Reset offsets
        </Action>
      </DialogActions>
    </form>
  )
}
