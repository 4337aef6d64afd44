// The dialog Add partitions. The broker checks the number while it is typed.

import { useState } from 'react'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { TextField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSettled } from '../../parts/settled.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { refusalsOf } from './refusals.ts'

const CHECK_REST_MS = 200

interface AddPartitionsProps {
  readonly topic: TopicDescription
  readonly onClose: () => void
}

export function AddPartitions({ topic: { name, partitions }, onClose }: AddPartitionsProps) {
  const limits = useCapabilities()?.limits
  const add = useChange('add partitions')
  const [typed, setTyped] = useState(String(partitions + 1))
  /** Once the number is sent, a late check would only find that the topic has it. */
  const [isSent, setSent] = useState(false)
  const isNumber = /^\d{1,9}$/.test(typed.trim())
  const settled = useSettled(typed.trim(), CHECK_REST_MS)
  const params = { topic: name }
  const check = useRead(
    'add partitions',
    { params, body: { count: Number(settled), validateOnly: true } },
    { isWanted: isNumber && settled === typed.trim() && !isSent, everyMs: 0 },
  )
  const { fields, rest } = refusalsOf(add.problem ?? check.problem)
  const more = Number(typed) - partitions

  const submit = async () => {
    if (!isNumber) return
    setSent(true)
    const done = await add.run({ params, body: { count: Number(typed) } })
    if (done === null) {
      setSent(false)
      return
    }
    toast(`${name} has ${counted(done.answer.partitions, 'partition')} now.`)
    onClose()
  }
  return (
    <FormDialog
      operation="add partitions"
      title={`Add partitions to ${name}`}
      verb="Add partitions"
      isReady={true}
      isBusy={add.isBusy}
      problem={rest}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>
        The topic has {counted(partitions, 'partition')}
        {limits !== undefined && `; ${limits.maxPartitionsPerTopic} at most are allowed here`}. Partitions cannot be
        removed later.
      </p>
      <TextField
        label="Partitions afterwards"
        value={typed}
        onChange={text => {
          add.clear()
          setTyped(text)
        }}
        error={isNumber ? (fields.partitions ?? fields.count) : `Expected a whole number above ${partitions}.`}
        hint={isNumber && more > 0 ? `Adds ${counted(more, 'empty partition')}.` : undefined}
        inputMode="numeric"
        autoFocus
      />
      <div className="rounded-control bg-warn-soft p-3 text-warn">
        <p className="font-medium">Keys move.</p>
        <p>
          Producers choose the partition of a key from the number of partitions. New records of a key may go to another
          partition than its older ones, so that consumers no longer see them in order. Existing records stay where they
          are.
        </p>
      </div>
    </FormDialog>
  )
}
