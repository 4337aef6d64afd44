// Checks whether a request comes from the member that it names.

import { FENCED_INSTANCE_ID, ILLEGAL_GENERATION, type Refusal, UNKNOWN_MEMBER_ID } from '../../protocol/errors.ts'
import type { ClassicGroup } from './group.ts'
import type { Claim } from './requests.ts'

export function checkMember(group: ClassicGroup, memberId: string, instanceId: string | null): Refusal | null {
  if (instanceId !== null) {
    const current = group.staticMembers.get(instanceId)
    if (current === undefined) return UNKNOWN_MEMBER_ID
    if (current !== memberId) return FENCED_INSTANCE_ID
  }
  return group.members.has(memberId) ? null : UNKNOWN_MEMBER_ID
}

export function checkClaim(group: ClassicGroup, claim: Claim): Refusal | null {
  const stranger = checkMember(group, claim.memberId, claim.instanceId)
  if (stranger !== null) return stranger
  return claim.generation === group.generation ? null : ILLEGAL_GENERATION
}
