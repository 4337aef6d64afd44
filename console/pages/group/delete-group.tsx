// The dialog that deletes a group: what is lost, or why it is not possible now.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo } from '../../shell/address.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { MemberList } from './member-list.tsx'

interface DeleteGroupProps {
  readonly group: DescribedGroup
  readonly onClose: () => void
}

const TITLE = 'Delete group'

export function DeleteGroup({ group, onClose }: DeleteGroupProps) {
  const { groupId, members, positions } = group
  const change = useChange('delete group', { isShown: false })
  const go = useGo()
  if (members.length > 0)
    return (
      <Dialog title={TITLE} onClose={onClose}>
        <p>
          <span className="font-medium">
            <VisibleText text={groupId} />
          </span>{' '}
          has {counted(members.length, 'member')}, so it cannot be deleted. Stop these consumers first:
        </p>
        <MemberList members={members} />
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
        </DialogActions>
      </Dialog>
    )
  const kept = positions.filter(({ committedOffset }) => committedOffset !== null).length
  const remove = async () => {
    if ((await change.run({ params: { group: groupId } })) === null) return
    toast(`Deleted the group ${groupId}.`)
    go({ page: 'groups' }, { replace: true })
  }
  return (
    <Confirm
      operation="delete group"
      title={TITLE}
      name={groupId}
      verb="Delete group"
      isBusy={change.isBusy}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>
        This deletes the group{' '}
        <span className="font-medium">
          <VisibleText text={groupId} />
        </span>{' '}
        with its committed offsets in {counted(kept, 'partition')}. The offsets are lost. The records of the topics
        stay.
      </p>
      <p className="mt-2">
        A consumer that joins a group of this name later begins where its own auto.offset.reset says: it may read
        records again, or skip them.
      </p>
    </Confirm>
  )
}
