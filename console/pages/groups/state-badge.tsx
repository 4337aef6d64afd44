// The state of a group as a badge.

import type { ListedGroup } from '../../../src/api/groups.ts'
import { Badge } from '../../parts/badge.tsx'
import { shownState } from './group-state.ts'

export function StateBadge(group: Pick<ListedGroup, 'state' | 'lag'>) {
  const { tone, text, title } = shownState(group)
  return (
    <Badge tone={tone} title={title}>
      {text}
    </Badge>
  )
}
