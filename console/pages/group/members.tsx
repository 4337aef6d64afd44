// The members of a group with the partitions that each reads.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { rangesOf } from './partition-ranges.ts'

type Member = DescribedGroup['members'][number]

export function Members({ group: { members, state } }: { readonly group: DescribedGroup }) {
  return (
    <DataTable
      name="Members of the group"
      rows={members}
      keyOf={({ memberId }) => memberId}
      columns={[
        {
          id: 'client',
          head: 'Client',
          isFixed: true,
          cell: ({ clientId, memberId }) => (
            <div className="min-w-32">
              <span className="line-clamp-2 font-medium">
                <VisibleText text={clientId} />
              </span>
              <span className="line-clamp-2 font-mono text-dense text-muted" title={memberId}>
                <VisibleText text={memberId} />
              </span>
            </div>
          ),
        },
        { id: 'host', head: 'Host', isOnPhone: false, cell: ({ host }) => <VisibleText text={host} /> },
        {
          id: 'instance',
          head: 'Instance id',
          isOnPhone: false,
          cell: ({ instanceId }) =>
            instanceId === null ? (
              <span title="The member is not a static member.">—</span>
            ) : (
              <VisibleText text={instanceId} />
            ),
        },
        {
          id: 'partitions',
          head: 'Partitions',
          isNumber: true,
          cell: ({ assignment }) => assignment.reduce((sum, { partitions }) => sum + partitions.length, 0),
        },
        { id: 'assignment', head: 'Assignment', cell: member => <Assignment member={member} state={state} /> },
      ]}
      empty={
        <Empty title="The group has no members">
          No consumer is in the group. Its committed offsets are kept until their retention ends.
        </Empty>
      }
    />
  )
}

function Assignment({ member, state }: { readonly member: Member; readonly state: string }) {
  // Some clients also name the topics of which a member reads no partition.
  const assignment = member.assignment.filter(({ partitions }) => partitions.length > 0)
  if (assignment.length === 0)
    return (
      <span className="text-muted">
        {state === 'Stable' ? 'Idle: there are fewer partitions than members' : 'Not shared out yet'}
      </span>
    )
  return (
    <ul>
      {assignment.map(({ topic, partitions }) => (
        <li key={topic}>
          <PageLink page="topic" params={{ topic }} className="text-accent underline underline-offset-2">
            {topic}
          </PageLink>{' '}
          <span className="text-muted tabular-nums">{rangesOf(partitions)}</span>
        </li>
      ))}
    </ul>
  )
}
