// The columns of the list of consumer groups.

import type { ListedGroup } from '../../../src/api/groups.ts'
import { Count } from '../../parts/amount.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { StateBadge } from './state-badge.tsx'
import { TrendMark } from './trend-mark.tsx'

type Samples = ReadonlyMap<string, readonly (number | null)[]>

const SHOWN_TOPICS = 2

/** `samples` are the last lags of each group. */
export function groupColumns(samples: Samples): readonly Column<ListedGroup>[] {
  return [
    {
      id: 'group',
      head: 'Group',
      sort: 'groupId',
      isFixed: true,
      cell: group => (
        <div className="min-w-32 sm:min-w-48">
          <PageLink page="group" params={{ group: group.groupId }} title={group.groupId}>
            <span className="line-clamp-3">
              <VisibleText text={group.groupId} />
            </span>
          </PageLink>
          <div className="sm:hidden">
            <StateBadge {...group} />
          </div>
        </div>
      ),
    },
    { id: 'state', head: 'State', sort: 'state', isOnPhone: false, cell: StateBadge },
    {
      id: 'members',
      head: 'Members',
      isNumber: true,
      isOnPhone: false,
      cell: ({ members, coordinatorId }) => (
        <Count of={members} why={`Broker ${coordinatorId}, which coordinates the group, does not answer.`} />
      ),
    },
    { id: 'topics', head: 'Topics', isOnPhone: false, cell: Topics },
    {
      id: 'lag',
      head: 'Total lag',
      sort: 'lag.totalLag',
      isNumber: true,
      cell: ({ lag }) => (
        <span title={unknownLag(lag)}>
          <Count of={lag.totalLag} isAtLeast={lag.partitionsWithUnknownLag > 0} />
        </span>
      ),
    },
    {
      id: 'trend',
      head: 'Trend',
      isOnPhone: false,
      cell: ({ groupId }) => <TrendMark lags={samples.get(groupId) ?? []} />,
    },
    {
      id: 'max-lag',
      head: 'Max lag',
      isNumber: true,
      isOnPhone: false,
      cell: ({ lag }) => <Count of={lag.maxLag} why="The lag of no partition is known." />,
    },
    {
      id: 'last-commit',
      head: 'Last commit',
      isOnPhone: false,
      cell: ({ lag }) =>
        lag.lastCommitTimestamp === null ? (
          <span title="The group has no committed offset.">—</span>
        ) : (
          <Time ms={lag.lastCommitTimestamp} />
        ),
    },
  ]
}

function unknownLag({ totalLag, partitionsWithUnknownLag }: ListedGroup['lag']): string | undefined {
  if (totalLag === null) return 'The lag of no partition is known.'
  if (partitionsWithUnknownLag === 0) return undefined
  return `The lag of ${counted(partitionsWithUnknownLag, 'partition')} is not known.`
}

function Topics({ topics, topicCount }: ListedGroup) {
  if (topicCount === 0) return <span title="The group has read nothing, and no member owns a partition.">—</span>
  const rest = topicCount - Math.min(topics.length, SHOWN_TOPICS)
  return (
    <span title={topics.join('\n')} className="line-clamp-3 min-w-28">
      {topics.slice(0, SHOWN_TOPICS).map((topic, at) => (
        <span key={topic}>
          {at > 0 && ', '}
          <PageLink page="topic" params={{ topic }} className="text-text underline-offset-2 hover:underline">
            {topic}
          </PageLink>
        </span>
      ))}
      {rest > 0 && <span className="text-muted"> and {rest} more</span>}
    </span>
  )
}
