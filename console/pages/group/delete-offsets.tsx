// The dialog that deletes the committed offsets of a group in one topic.

import { useState } from 'react'
import type { DescribedGroup } from '../../../src/api/groups.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/field.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'

interface DeleteOffsetsProps {
  readonly group: DescribedGroup
  readonly onClose: () => void
}

const TITLE = 'Delete offsets of a topic'

export function DeleteOffsets({ group: { groupId, positions, members }, onClose }: DeleteOffsetsProps) {
  const change = useChange('delete offsets of group')
  const committed = positions.filter(({ committedOffset }) => committedOffset !== null)
  const topics = [...new Set(committed.map(({ topic }) => topic))]
  const [topic, setTopic] = useState(topics[0] ?? '')
  if (topics.length === 0)
    return (
      <Dialog title={TITLE} onClose={onClose}>
        <p>The group has no committed offset.</p>
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
        </DialogActions>
      </Dialog>
    )
  const partitions = committed.filter(each => each.topic === topic).length
  const remove = async () => {
    const done = await change.run({ params: { group: groupId }, query: { topic } })
    if (done === null) return
    toast(`Deleted the offsets of ${groupId} in ${topic}.`)
    onClose()
  }
  return (
    <Confirm
      operation="delete offsets of group"
      title={TITLE}
      name={topic}
      verb="Delete offsets"
      isBusy={change.isBusy}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <SelectField
        label="Topic"
        value={topic}
        onChange={chosen => {
          change.clear()
          setTopic(chosen)
        }}
        options={topics.map(each => [each, each])}
      />
      <p>
        This deletes the committed offsets of the group{' '}
        <span className="font-medium">
          <VisibleText text={groupId} />
        </span>{' '}
        in {counted(partitions, 'partition')} of{' '}
        <span className="font-medium">
          <VisibleText text={topic} />
        </span>
        . They are lost. A consumer of the group then begins there where its own auto.offset.reset says.
      </p>
      {members.length > 0 && (
        <p className="mt-2 text-warn">
          The group has {counted(members.length, 'member')}. The broker refuses this while one of them reads the topic.
        </p>
      )}
    </Confirm>
  )
}
