// The topics with the most traffic and the groups with the highest lag.

import type { z } from 'zod'
import type { GroupList, ListedGroup } from '../../../src/api/groups.ts'
import type { topicMetricsPageShape } from '../../../src/api/metrics.ts'
import type { Read } from '../../api/queries.ts'
import { Bytes, Count, Rate } from '../../parts/amount.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'

type TopicPage = z.output<typeof topicMetricsPageShape>
type TopicRow = TopicPage['topics'][number]

const TOP = 5

const TOPIC_COLUMNS: readonly Column<TopicRow>[] = [
  {
    id: 'name',
    head: 'Topic',
    cell: ({ name }) => (
      <PageLink page="topic" params={{ topic: name }} title={name}>
        <span className="line-clamp-3">{name}</span>
      </PageLink>
    ),
  },
  {
    id: 'bytes',
    head: 'In',
    unit: 'per second',
    isNumber: true,
    cell: row => <Bytes of={row.produce.bytesPerSecond} />,
  },
  {
    id: 'records',
    head: 'In',
    unit: 'records/s',
    isNumber: true,
    cell: row => <Rate of={row.produce.recordsPerSecond} />,
  },
  {
    id: 'out',
    head: 'Out',
    unit: 'per second',
    isNumber: true,
    isOnPhone: false,
    cell: row => <Bytes of={row.fetch.bytesPerSecond} />,
  },
]

const GROUP_COLUMNS: readonly Column<ListedGroup>[] = [
  {
    id: 'group',
    head: 'Consumer group',
    cell: ({ groupId }) => (
      <PageLink page="group" params={{ group: groupId }} title={groupId}>
        <span className="line-clamp-3">
          <VisibleText text={groupId} />
        </span>
      </PageLink>
    ),
  },
  {
    id: 'state',
    head: 'State',
    isOnPhone: false,
    cell: ({ state }) => <span className="whitespace-nowrap">{state}</span>,
  },
  {
    id: 'members',
    head: 'Members',
    isNumber: true,
    cell: ({ members }) => <Count of={members} why="The coordinator of the group does not answer." />,
  },
  {
    id: 'lag',
    head: 'Lag',
    unit: 'records',
    isNumber: true,
    cell: ({ lag }) => (
      <Count
        of={lag.totalLag}
        isAtLeast={lag.partitionsWithUnknownLag > 0}
        why="The lag of no partition of the group is known."
      />
    ),
  },
]

export function Tops({ topics, groups }: { readonly topics: Read<TopicPage>; readonly groups: Read<GroupList> }) {
  return (
    <div className="grid grid-cols-1 gap-x-6 lg:grid-cols-2">
      <Section title="Topics by bytes" actions={<PageLink page="topics">All topics</PageLink>}>
        <Loaded read={topics} of="The topics" rows={TOP + 1}>
          {({ topics: rows }) => (
            <DataTable name="Topics by bytes" rows={rows} keyOf={({ name }) => name} columns={TOPIC_COLUMNS} />
          )}
        </Loaded>
      </Section>
      <Section title="Consumer groups by lag" actions={<PageLink page="groups">All consumer groups</PageLink>}>
        <Loaded read={groups} of="The consumer groups" rows={TOP + 1}>
          {({ groups: rows }) => (
            <DataTable
              name="Consumer groups by lag"
              rows={rows.slice(0, TOP)}
              keyOf={({ groupId }) => groupId}
              columns={GROUP_COLUMNS}
              empty={
                <p className="rounded-card border border-dashed border-line p-4 text-muted">
                  No consumer group reads here yet. A group appears when its first consumer joins.
                </p>
              }
            />
          )}
        </Loaded>
      </Section>
    </div>
  )
}
