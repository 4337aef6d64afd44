// The members that stand in the way of a change, by client and host.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { VisibleText } from '../../parts/visible-text.tsx'

const SHOWN = 10

export function MemberList({ members }: Pick<DescribedGroup, 'members'>) {
  return (
    <ul className="mt-1 list-disc pl-5">
      {members.slice(0, SHOWN).map(({ memberId, clientId, host }) => (
        <li key={memberId} title={memberId}>
          <span className="font-medium">
            <VisibleText text={clientId} />
          </span>{' '}
          at <VisibleText text={host} />
        </li>
      ))}
      {members.length > SHOWN && <li>and {members.length - SHOWN} more</li>}
    </ul>
  )
}
