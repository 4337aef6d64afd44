// The position of a group in each partition: committed, delivered, the ends of the log, the lag, and the member that
// reads it.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { Count } from '../../parts/amount.tsx'
import { Badge } from '../../parts/badge.tsx'
import { type Column, ColumnChoice, DataTable, Pager } from '../../parts/data-table.tsx'
import { CONTROL } from '../../parts/field.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { count, counted } from '../../text/format.ts'
import { hasRecordAtCommit, isBeyondEnd, isUnassigned, lossSentence, type Position } from './position-notes.ts'

const NAME = 'Positions of the group'
const LIMIT = 200

export function Partitions({ group }: { readonly group: DescribedGroup }) {
  const { search, set } = useHere('group')
  const { positions } = group
  if (positions.length === 0)
    return (
      <Empty title="The group has no position">
        No offset is committed, and no member reads a partition. A position appears when a consumer of the group reads a
        topic.
      </Empty>
    )
  const topics = [...new Set(positions.map(({ topic }) => topic))]
  const chosen = positions.filter(({ topic }) => search.topic === '' || topic === search.topic)
  const offset = Math.min(search.offset ?? 0, Math.floor((chosen.length - 1) / LIMIT) * LIMIT)
  const columns = columnsOf(group)
  const lost = positions.filter(position => lossSentence(position) !== null).length
  const unassigned = positions.filter(position => isUnassigned(position, group)).length
  return (
    <>
      <div role="status">
        {lost > 0 && (
          <p className="mb-3 rounded-card border border-danger bg-danger-soft p-3">
            Retention or a deletion has overtaken the group in {counted(lost, 'partition')}: the records after the
            committed offset are gone.
          </p>
        )}
        {unassigned > 0 && (
          <p className="mb-3 rounded-card border border-warn bg-warn-soft p-3 text-warn">
            No member reads {counted(unassigned, 'partition')} in which the group has an offset.
          </p>
        )}
      </div>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        {topics.length > 1 && (
          <select
            aria-label="Topic"
            value={topics.includes(search.topic) ? search.topic : ''}
            onChange={({ target }) => set({ topic: target.value, offset: null }, { isStep: true })}
            className={`${CONTROL} sm:max-w-64`}
          >
            <option value="">All {topics.length} topics</option>
            {topics.map(topic => (
              <option key={topic} value={topic}>
                {topic}
              </option>
            ))}
          </select>
        )}
        <div className="ml-auto">
          <ColumnChoice name={NAME} columns={columns} />
        </div>
      </div>
      <DataTable
        name={NAME}
        rows={chosen.slice(Math.max(0, offset), offset + LIMIT)}
        keyOf={({ topic, partition }) => `${topic}-${partition}`}
        columns={columns}
        empty={
          <Empty title={`The group has no position in ${search.topic}`}>
            <PageLink page="group" params={{ group: group.groupId }}>
              Show all topics
            </PageLink>
          </Empty>
        }
      />
      <Pager
        total={chosen.length}
        offset={Math.max(0, offset)}
        limit={LIMIT}
        of="partitions"
        onPage={to => set({ offset: to === 0 ? null : to }, { isStep: true })}
      />
    </>
  )
}

function columnsOf(group: DescribedGroup): readonly Column<Position>[] {
  const clients = new Map(group.members.map(member => [member.memberId, member]))
  return [
    {
      id: 'topic',
      head: 'Topic',
      isFixed: true,
      cell: position => (
        <div className="flex min-w-28 flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0">
            <PageLink page="topic" params={{ topic: position.topic }}>
              {position.topic}
            </PageLink>
            <span className="text-muted sm:hidden"> · {position.partition}</span>
          </span>
          <Flags position={position} group={group} />
        </div>
      ),
    },
    { id: 'partition', head: 'Partition', isNumber: true, isOnPhone: false, cell: ({ partition }) => partition },
    { id: 'committed', head: 'Committed', isNumber: true, cell: Committed },
    {
      id: 'delivered',
      head: 'Delivered',
      isNumber: true,
      isOnPhone: false,
      cell: ({ deliveredOffset }) => (
        <Count of={deliveredOffset} why="The broker has delivered no record to the group since it started." />
      ),
    },
    {
      id: 'start',
      head: 'Start',
      isNumber: true,
      isOnPhone: false,
      cell: ({ startOffset }) => <Count of={startOffset} why="The partition does not answer." />,
    },
    {
      id: 'end',
      head: 'End',
      isNumber: true,
      isOnPhone: false,
      cell: ({ endOffset }) => <Count of={endOffset} why="The partition does not answer." />,
    },
    {
      id: 'lag',
      head: 'Lag',
      // Elsewhere the lag counts from the committed offset.
      unit: 'to deliver',
      isNumber: true,
      cell: ({ lag }) => <Count of={lag} why="The position or the end of the partition is not known." />,
    },
    {
      id: 'member',
      head: 'Member',
      isOnPhone: false,
      cell: ({ memberId }) =>
        memberId === null ? (
          <span title="No member reads this partition.">—</span>
        ) : (
          <span title={memberId} className="line-clamp-2 min-w-24">
            <VisibleText text={clients.get(memberId)?.clientId ?? memberId} />
          </span>
        ),
    },
  ]
}

function Flags({ position, group }: { readonly position: Position; readonly group: DescribedGroup }) {
  const loss = lossSentence(position)
  return (
    <>
      {loss !== null && (
        <Badge tone="danger" title={loss}>
          Overtaken by retention
        </Badge>
      )}
      {isBeyondEnd(position) && (
        <Badge
          tone="warn"
          title={`The log ends at offset ${position.endOffset}. A consumer that asks for the committed offset begins where its own auto.offset.reset says.`}
        >
          Beyond the end
        </Badge>
      )}
      {isUnassigned(position, group) && (
        <Badge tone="warn" title="The group has members, but none of them reads this partition.">
          Unassigned
        </Badge>
      )}
    </>
  )
}

/** The committed offset, as a link to the record that the group reads next. */
function Committed(position: Position) {
  const { topic, partition, committedOffset } = position
  if (committedOffset === null) return <span title="The group has committed no offset here.">—</span>
  if (!hasRecordAtCommit(position))
    return <span title="The log has no record at this offset.">{count(committedOffset)}</span>
  return (
    <PageLink
      page="messages"
      params={{ topic }}
      search={{ partition, from: 'offset', offset: committedOffset, at: `${partition}-${committedOffset}` }}
      title="Show the record that the group reads next"
    >
      {count(committedOffset)}
    </PageLink>
  )
}
