// The dialog that takes the start position from a consumer group: the committed offset of one partition.

import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { Count } from '../../parts/amount.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/field.tsx'
import { Loaded } from '../../parts/states.tsx'
import { count } from '../../text/format.ts'
import type { Place } from './selection.ts'

interface GroupStartProps {
  readonly topic: string
  readonly onClose: () => void
  readonly onChoose: (place: Place) => void
}

/** The most groups that the choice offers. */
const MOST_GROUPS = 1_000

export function GroupStart({ topic, onClose, onChoose }: GroupStartProps) {
  const groups = useRead('list groups', { query: { topic, limit: MOST_GROUPS, sort: 'groupId' } }, { everyMs: 0 })
  const [chosen, setChosen] = useState('')
  return (
    <Dialog title="Start at a group’s position" onClose={onClose}>
      <Loaded read={groups} of="The consumer groups" rows={2}>
        {({ groups: found }) =>
          found.length === 0 ? (
            <p>No consumer group has committed an offset in this topic.</p>
          ) : (
            <>
              <SelectField
                label="Consumer group"
                value={chosen}
                options={[['', 'Choose a group'], ...found.map(({ groupId }) => [groupId, groupId] as const)]}
                onChange={setChosen}
              />
              {chosen !== '' && <Positions topic={topic} group={chosen} onChoose={onChoose} />}
            </>
          )
        }
      </Loaded>
    </Dialog>
  )
}

function Positions({ topic, group, onChoose }: Omit<GroupStartProps, 'onClose'> & { readonly group: string }) {
  const read = useRead('describe group', { params: { group } }, { everyMs: 0 })
  return (
    <Loaded read={read} of="The positions of the group" rows={3}>
      {({ positions }) => (
        <DataTable
          name="Positions of the group"
          rows={positions.filter(each => each.topic === topic)}
          keyOf={({ partition }) => String(partition)}
          empty={<p>The group has no position in this topic.</p>}
          columns={[
            { id: 'partition', head: 'Partition', isNumber: true, cell: ({ partition }) => partition },
            {
              id: 'offset',
              head: 'Committed offset',
              isNumber: true,
              cell: ({ committedOffset }) => <Count of={committedOffset} why="The group has committed nothing here." />,
            },
            { id: 'lag', head: 'Lag', isNumber: true, cell: ({ lag }) => <Count of={lag} /> },
            {
              id: 'start',
              head: 'Start',
              cell: ({ partition, committedOffset }) =>
                committedOffset !== null && (
                  <Button
                    isSmall
                    aria-label={`Start at offset ${count(committedOffset)} of partition ${partition}`}
                    onClick={() => onChoose({ partition, offset: committedOffset })}
                  >
                    Start here
                  </Button>
                ),
            },
          ]}
        />
      )}
    </Loaded>
  )
}
