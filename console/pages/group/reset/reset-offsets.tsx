// The dialog Reset offsets: the choice, the server's preview, the confirmation, and the offsets as read back. Until the
// user confirms, it sends dry runs alone. If the group moves meanwhile, the broker refuses the preview; the dialog then
// shows a new one with the changes marked, and asks again.

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { DescribedGroup } from '../../../../src/api/groups.ts'
import { ask } from '../../../api/client.ts'
import { asProblem, type Problem } from '../../../api/problem.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog, DialogActions } from '../../../parts/dialog.tsx'
import { VisibleText } from '../../../parts/visible-text.tsx'
import { toast } from '../../../shell/toasts.tsx'
import { counted } from '../../../text/format.ts'
import { ConfirmStep } from './confirm-step.tsx'
import type { Preview } from './preview.ts'
import { PreviewStep } from './preview-step.tsx'
import { changesBetween, keyOf, type Row } from './reset-effects.ts'
import type { Asked, Choices } from './reset-request.ts'
import { ResetTable } from './reset-table.tsx'
import { ScopeStep } from './scope-step.tsx'
import { Steps } from './steps.tsx'

const RESET = 'reset offsets of group'
const STEPS = ['Scope', 'Preview', 'Confirm']
const CHOICES: Choices = { scope: 'all', topic: '', chosen: new Map(), to: 'clear', offset: '', timestamp: null }

type Step =
  | {
      readonly at: 'scope'
      /** True if the broker refused the preview before, and could make no new one. */
      readonly isRefused?: true
    }
  | { readonly at: 'preview' | 'confirm'; readonly preview: Preview }
  | {
      readonly at: 'done'
      readonly rows: readonly Row[]
      readonly readBack: ReadonlyMap<string, number | null> | Problem
    }

const FIRST: Step = { at: 'scope' }

interface ResetOffsetsProps {
  readonly group: DescribedGroup
  readonly onClose: () => void
}

export function ResetOffsets({ group, onClose }: ResetOffsetsProps) {
  const { groupId } = group
  const params = { group: groupId }
  const client = useQueryClient()
  const [choices, setChoices] = useState(CHOICES)
  const [step, setStep] = useState(FIRST)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)

  /** Runs one piece of work at a time, and keeps the problem that it ends with. */
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setProblem(null)
    try {
      await work()
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  const showPreview = async (asked: Asked, before: readonly Row[] | null, isRefused = false) => {
    const answer = await ask(RESET, { params, body: { ...asked, dryRun: true } })
    const changes = before === null ? null : changesBetween(before, answer.rows)
    setStep({ at: 'preview', preview: { asked, answer, changes, isRefused } })
  }
  const apply = async ({ asked, answer: { rows, token } }: Preview) => {
    try {
      const { rows: applied } = await ask(RESET, { params, body: { ...asked, ...(token !== null && { token }) } })
      toast(`Reset ${counted(applied.length, 'offset')} of ${groupId}.`)
      setStep({ at: 'done', rows: applied, readBack: await readBack(groupId) })
      void client.invalidateQueries()
    } catch (error) {
      if (asProblem(error).status !== 409) throw error
      // The members and positions of the page are those from before the change.
      void client.invalidateQueries()
      try {
        await showPreview(asked, rows, true)
      } catch (why) {
        setStep({ at: 'scope', isRefused: true })
        throw why
      }
    }
  }
  const toScope = () => {
    setProblem(null)
    setStep({ at: 'scope' })
  }

  // The button that led to a step is gone: the focus goes to the next step, and there to the name that is to be typed.
  const content = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (step === FIRST) return
    const place = step.at === 'confirm' ? content.current?.querySelector('input') : content.current
    place?.focus({ preventScroll: true })
    content.current?.closest('dialog')?.scrollTo(0, 0)
  }, [step])

  const current = { scope: 0, preview: 1, confirm: 2, done: 3 }[step.at]
  return (
    <Dialog
      title={
        <>
          Reset offsets of <VisibleText text={groupId} />
        </>
      }
      onClose={onClose}
      isWide
    >
      <Steps steps={STEPS} current={current} />
      <div ref={content} tabIndex={-1} className="outline-none">
        {step.at === 'scope' && (
          <ScopeStep
            positions={group.positions}
            choices={choices}
            onChange={setChoices}
            isBusy={isBusy}
            problem={problem}
            isRefused={step.isRefused === true}
            onPreview={asked => void attempt(() => showPreview(asked, null))}
            onClose={onClose}
          />
        )}
        {step.at === 'preview' && (
          <PreviewStep
            group={group}
            preview={step.preview}
            isBusy={isBusy}
            problem={problem}
            onBack={toScope}
            onAgain={() => void attempt(() => showPreview(step.preview.asked, step.preview.answer.rows))}
            onNext={() => setStep({ ...step, at: 'confirm' })}
          />
        )}
        {step.at === 'confirm' && (
          <ConfirmStep
            groupId={groupId}
            preview={step.preview}
            isBusy={isBusy}
            problem={problem}
            onBack={() => setStep({ ...step, at: 'preview' })}
            onConfirm={() => void attempt(() => apply(step.preview))}
          />
        )}
        <div role="status">{step.at === 'done' && <DoneSentence readBack={step.readBack} />}</div>
        {step.at === 'done' && <Done rows={step.rows} readBack={step.readBack} onClose={onClose} />}
      </div>
    </Dialog>
  )
}

/** Asks the server for the committed offsets; the problem, if they cannot be read. */
async function readBack(group: string): Promise<ReadonlyMap<string, number | null> | Problem> {
  try {
    const { positions } = await ask('describe group', { params: { group } })
    return new Map(positions.map(position => [keyOf(position), position.committedOffset]))
  } catch (error) {
    return asProblem(error)
  }
}

type DoneStep = Extract<Step, { at: 'done' }>

function DoneSentence({ readBack: found }: Pick<DoneStep, 'readBack'>) {
  return (
    <p className="mb-3 rounded-card border border-line bg-ok-soft p-3">
      <span className="font-medium text-ok">The reset is done.</span>{' '}
      {found instanceof Map
        ? 'The table shows the offsets as the broker has them now.'
        : `The offsets could not be read back: ${(found as Problem).detail} The table shows the rows that were applied.`}
    </p>
  )
}

function Done({ rows, readBack: found, onClose }: Omit<DoneStep, 'at'> & { readonly onClose: () => void }) {
  return (
    <>
      <ResetTable rows={rows} readBack={found instanceof Map ? found : null} />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </DialogActions>
    </>
  )
}
