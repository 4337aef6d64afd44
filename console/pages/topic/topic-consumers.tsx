// The consumer groups that read a topic, the one that is furthest behind first.

import type { ListedGroup } from '../../../src/api/groups.ts'
import { useRead } from '../../api/queries.ts'
import { Count } from '../../parts/amount.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { Recipes } from '../../parts/recipes.tsx'
import { SilentBrokers } from '../../parts/silent-brokers.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'

const LIMIT = 100
const UNKNOWN_LAG = 'The end of a partition, or the position of the group, is not known.'

export function TopicConsumers({ topic }: { readonly topic: string }) {
  const groups = useRead('list groups', {
    query: { topic, sort: 'topicLag.totalLag', order: 'desc', limit: LIMIT },
  })
  return (
    <Section title="Consumers">
      <Loaded read={groups} of="The consumers" rows={3}>
        {({ groups: rows, total, unavailableBrokers }) => (
          <>
            <SilentBrokers brokers={unavailableBrokers} of="groups" />
            <DataTable
              name={`Consumer groups of ${topic}`}
              rows={rows}
              keyOf={({ groupId }) => groupId}
              columns={columnsOf(topic)}
              empty={
                <Empty
                  title="No consumer group reads this topic"
                  action={
                    <Recipes task={{ do: 'consume', topic, group: 'my-group' }} tools={['kcat', "Kafka's tools"]} />
                  }
                >
                  A group appears here once it has a position in the topic.
                </Empty>
              }
            />
            {total > rows.length && (
              <p className="mt-2 text-muted">
                The {rows.length} groups with the largest lag of {counted(total, 'group')}.
              </p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function columnsOf(topic: string): readonly Column<ListedGroup>[] {
  return [
    {
      id: 'group',
      head: 'Group',
      isFixed: true,
      cell: ({ groupId }) => (
        <PageLink page="group" params={{ group: groupId }} search={{ topic }}>
          <VisibleText text={groupId} />
        </PageLink>
      ),
    },
    { id: 'state', head: 'State', cell: ({ state }) => state },
    {
      id: 'members',
      head: 'Members',
      isNumber: true,
      isOnPhone: false,
      cell: ({ members }) => <Count of={members} why="The coordinator of the group does not answer." />,
    },
    {
      id: 'lag',
      head: 'Lag here',
      unit: 'records',
      isNumber: true,
      cell: ({ topicLag }) => (
        <Count of={topicLag?.totalLag} isAtLeast={(topicLag?.partitionsWithUnknownLag ?? 0) > 0} why={UNKNOWN_LAG} />
      ),
    },
    {
      id: 'max-lag',
      head: 'Largest of a partition',
      unit: 'records',
      isNumber: true,
      isOnPhone: false,
      cell: ({ topicLag }) => <Count of={topicLag?.maxLag} why={UNKNOWN_LAG} />,
    },
    {
      id: 'commit',
      head: 'Last commit',
      isNumber: true,
      isOnPhone: false,
      cell: ({ topicLag }) => <Time ms={topicLag?.lastCommitTimestamp} />,
    },
  ]
}
