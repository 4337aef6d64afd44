// The dialog before configs are saved: each change with its old and its new value, and the effect.

import { ArrowRight } from 'lucide-react'
import { useChange } from '../../api/queries.ts'
import { Action, Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import type { Change, ConfigStep } from './config-edits.ts'
import { effectOf } from './config-effects.ts'
import { exactConfig, showConfig } from './config-text.ts'
import { refusalsOf } from './refusals.ts'

interface SaveConfigsProps {
  readonly topic: string
  readonly change: Change
  /** The objections of the broker's check, by config. */
  readonly refused: Readonly<Record<string, string>>
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function SaveConfigs({ topic, change: { steps, body }, refused, onSaved, onClose }: SaveConfigsProps) {
  const save = useChange('alter topic configs')
  const { fields, rest } = refusalsOf(save.problem)
  const errors = { ...refused, ...fields }
  const run = async () => {
    const asked = { set: { ...body.set }, delete: [...body.delete] }
    if ((await save.run({ params: { topic }, body: asked })) === null) return
    toast(`Saved ${counted(steps.length, 'config')} of ${topic}.`)
    onSaved()
    onClose()
  }
  return (
    <Dialog title={`Save ${counted(steps.length, 'change')} of ${topic}`} isWide onClose={onClose}>
      <ul>
        {steps.map(step => (
          <Step key={step.config.name} step={step} error={errors[step.config.name]} />
        ))}
      </ul>
      <p className="mt-3 text-muted">The broker applies all changes or none.</p>
      {rest !== null && <ProblemNote problem={rest} />}
      <DialogActions>
        <Button onClick={onClose}>Go on editing</Button>
        <Action
          operation="alter topic configs"
          kind="primary"
          disabled={Object.keys(refused).length > 0}
          isBusy={save.isBusy}
          onClick={() => void run()}
        >
          Save {counted(steps.length, 'change')}
        </Action>
      </DialogActions>
    </Dialog>
  )
}

function Step({ step, error }: { readonly step: ConfigStep; readonly error: string | undefined }) {
  const { config, to } = step
  const effect = effectOf(step)
  return (
    <li className="border-b border-line py-3 first:pt-0 last:border-0">
      <code className="font-mono text-dense font-medium">{config.name}</code>
      <div className="mt-1 flex flex-wrap items-center gap-2 tabular-nums">
        <del className="text-muted" title={exactConfig(config, config.value) ?? undefined}>
          {showConfig(config, config.value)}
        </del>
        <ArrowRight size={16} aria-label="becomes" className="text-muted" />
        <ins className="font-medium no-underline">
          {to === null ? 'inherited' : showConfig(config, to)}
          {to !== null && exactConfig(config, to) !== null && (
            <span className="ml-2 font-normal text-muted">{exactConfig(config, to)}</span>
          )}
        </ins>
      </div>
      <p className={`mt-1 ${effect.isLoss ? 'text-warn' : 'text-muted'}`}>{effect.text}</p>
      {error !== undefined && <p className="mt-1 text-danger">{error}</p>}
    </li>
  )
}
