// The second step of a reset: the rows of the server's dry run, what they do in total, and what stands in the way.

import { TriangleAlert } from 'lucide-react'
import type { DescribedGroup } from '../../../../src/api/groups.ts'
import type { Problem } from '../../../api/problem.ts'
import { Button } from '../../../parts/button.tsx'
import { DialogActions } from '../../../parts/dialog.tsx'
import { ProblemNote } from '../../../parts/problem-note.tsx'
import { Empty } from '../../../parts/states.tsx'
import { MemberList } from '../member-list.tsx'
import type { Preview } from './preview.ts'
import { ResetCommands } from './reset-commands.tsx'
import { changesSentence, totalsSentence } from './reset-effects.ts'
import { ResetTable } from './reset-table.tsx'

interface PreviewStepProps {
  readonly group: DescribedGroup
  readonly preview: Preview
  readonly isBusy: boolean
  readonly problem: Problem | null
  readonly onBack: () => void
  /** Asks for a new preview of the same reset. */
  readonly onAgain: () => void
  readonly onNext: () => void
}

export function PreviewStep({ group, preview, isBusy, problem, onBack, onAgain, onNext }: PreviewStepProps) {
  const { asked, answer, changes, isRefused } = preview
  const { rows, blockedBy } = answer
  return (
    <>
      {changes !== null && (
        <p role="alert" className="mb-3 rounded-card border border-warn bg-warn-soft p-3 text-warn">
          {changesSentence(changes, isRefused, blockedBy !== null)}
        </p>
      )}
      {blockedBy !== null && (
        <div role="alert" className="mb-3 flex gap-3 rounded-card border border-warn bg-warn-soft p-3">
          <TriangleAlert size={20} aria-hidden className="mt-px shrink-0 text-warn" />
          <div className="min-w-0">
            <p className="font-medium">
              {blockedBy.detail} <span className="font-mono text-dense text-muted">{blockedBy.code}</span>
            </p>
            {group.members.length > 0 && <MemberList members={group.members} />}
          </div>
        </div>
      )}
      {rows.length === 0 ? (
        <Empty title="There is nothing to reset">The group has no position in the chosen partitions.</Empty>
      ) : (
        <>
          <p className="mb-3 font-medium" data-totals>
            {totalsSentence(rows)}
          </p>
          <ResetTable rows={rows} {...(changes !== null && { marked: changes.marked })} />
          <ResetCommands groupId={group.groupId} asked={asked} />
        </>
      )}
      {problem !== null && <ProblemNote problem={problem} />}
      <DialogActions>
        <p className="mr-auto self-center text-muted">Nothing is written yet.</p>
        <Button onClick={onBack}>Back</Button>
        <Button onClick={onAgain} isBusy={isBusy}>
          Preview again
        </Button>
        {blockedBy === null && rows.length > 0 && (
          <Button kind="primary" onClick={onNext} disabled={isBusy}>
            Continue
          </Button>
        )}
      </DialogActions>
    </>
  )
}
