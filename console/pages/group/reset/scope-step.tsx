// The first step of a reset: which partitions, and which offset they get.

import { useState } from 'react'
import type { DescribedGroup } from '../../../../src/api/groups.ts'
import { RESET_TARGETS } from '../../../../src/api/words.ts'
import type { Problem } from '../../../api/problem.ts'
import { Action, Button } from '../../../parts/button.tsx'
import { DialogActions } from '../../../parts/dialog.tsx'
import { SelectField, TextField } from '../../../parts/field.tsx'
import { ProblemNote } from '../../../parts/problem-note.tsx'
import { TimeField } from '../../../parts/time-field.tsx'
import { counted } from '../../../text/format.ts'
import { PartitionChoice } from './partition-choice.tsx'
import { RadioCard } from './radio-card.tsx'
import { type Asked, byTopic, type Choices, type Chosen, requestOf, stillOffered, TARGETS } from './reset-request.ts'

interface ScopeStepProps {
  readonly positions: DescribedGroup['positions']
  readonly choices: Choices
  readonly onChange: (choices: Choices) => void
  readonly isBusy: boolean
  readonly problem: Problem | null
  /** True if the broker refused the preview of these choices, and the problem says why it made no new one. */
  readonly isRefused: boolean
  readonly onPreview: (asked: Asked) => void
  readonly onClose: () => void
}

export function ScopeStep({
  positions,
  onChange,
  isBusy,
  problem,
  isRefused,
  onPreview,
  onClose,
  ...props
}: ScopeStepProps) {
  const [missing, setMissing] = useState<string | null>(null)
  const offered = byTopic(positions)
  const choices = stillOffered(props.choices, offered)
  const topics = [...offered.keys()]
  const change = (values: Partial<Choices>) => {
    setMissing(null)
    onChange({ ...choices, ...values })
  }
  const fields = problem?.fields ?? {}
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        const asked = requestOf(choices)
        if (typeof asked === 'string') setMissing(asked)
        else onPreview(asked)
      }}
    >
      <div className="grid gap-x-8 gap-y-4 md:grid-cols-2">
        <fieldset className="min-w-0">
          <legend className="mb-1 font-semibold">Which partitions</legend>
          <RadioCard name="scope" label="All" isOn={choices.scope === 'all'} onChoose={() => change({ scope: 'all' })}>
            Every partition in which the group has a position: {counted(positions.length, 'partition')} of{' '}
            {counted(topics.length, 'topic')}.
          </RadioCard>
          <RadioCard
            name="scope"
            label="One topic"
            isOn={choices.scope === 'topic'}
            onChoose={() => change({ scope: 'topic', topic: choices.topic || (topics[0] ?? '') })}
          />
          {choices.scope === 'topic' && (
            <div className="pl-8">
              <SelectField
                label="Topic"
                value={choices.topic}
                onChange={topic => change({ topic })}
                options={[
                  ...(choices.topic === '' ? [['', 'Choose a topic'] as const] : []),
                  ...topics.map(topic => [topic, topic] as const),
                ]}
              />
            </div>
          )}
          <RadioCard
            name="scope"
            label="Chosen partitions"
            isOn={choices.scope === 'partitions'}
            onChoose={() => change({ scope: 'partitions' })}
          />
          {choices.scope === 'partitions' && (
            <div className="pl-8 max-sm:pl-0">
              <PartitionChoice
                offered={offered}
                chosen={choices.chosen}
                onChange={(chosen: Chosen) => change({ chosen })}
              />
            </div>
          )}
        </fieldset>
        <fieldset className="min-w-0">
          <legend className="mb-1 font-semibold">New offset</legend>
          {RESET_TARGETS.map(to => (
            <div key={to}>
              <RadioCard
                name="target"
                label={TARGETS[to].label}
                isOn={choices.to === to}
                onChoose={() => change({ to })}
              >
                {TARGETS[to].effect}
              </RadioCard>
              {to === 'offset' && choices.to === to && (
                <div className="pl-8">
                  <TextField
                    label="Offset to set"
                    inputMode="numeric"
                    value={choices.offset}
                    error={fields.offset}
                    onChange={offset => change({ offset })}
                  />
                </div>
              )}
              {to === 'timestamp' && choices.to === to && (
                <div className="pl-8">
                  <TimeField
                    label="Time to set"
                    value={choices.timestamp}
                    error={fields.timestamp}
                    onChange={timestamp => change({ timestamp })}
                  />
                </div>
              )}
            </div>
          ))}
        </fieldset>
      </div>
      {missing !== null && (
        <p role="alert" className="mt-3 text-danger">
          {missing}
        </p>
      )}
      {isRefused && problem !== null && (
        <p role="alert" className="mt-3 font-medium">
          Nothing was written: the broker no longer takes the preview, and cannot make a new one.
        </p>
      )}
      {problem !== null && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Action operation="reset offsets of group" type="submit" kind="primary" isBusy={isBusy}>
          Preview
        </Action>
      </DialogActions>
    </form>
  )
}
