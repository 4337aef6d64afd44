// Grants rights to principals of Kafka clients and takes them back. Two operators can change the same principal at once
// without losing a rule: a change is written only over the rules that it was decided on (auth/clients/acl-keeper.ts).
// auth/clients/acl-rules.ts says what a rule is.

import type { AclRule } from '../api/acls.ts'
import type { ResourceType } from '../api/words.ts'
import type { AclKeeper } from '../auth/clients/acl-keeper.ts'
import { type Grant, isSameGrant, matches, objectionToPrincipal } from '../auth/clients/acl-rules.ts'
import { canonicalUsername } from '../auth/user-rules.ts'
import { checkGroupId, checkTopicName } from '../protocol/names.ts'

interface AclRooms {
  readonly acls: AclKeeper
}

/** The member of a rule that cannot be granted, and the objection to it as a phrase. */
export interface InvalidRule {
  readonly kind: 'invalid'
  readonly field: 'principal' | 'resource'
  readonly message: string
}

export interface ListedAcls {
  /** By principal. */
  readonly rules: readonly AclRule[]
  /** Principals whose stored rules this version cannot read, because another program or a later version wrote them. */
  readonly unreadable: readonly string[]
}

/** Every rule there is. Throws what the store throws. */
export async function listAcls({ acls }: AclRooms): Promise<ListedAcls> {
  await acls.catchUp()
  const { grants, unreadable } = acls.current()
  const rules = [...grants].flatMap(([principal, of]) => of.map(grant => ({ principal, ...grant })))
  return { rules, unreadable: [...unreadable.keys()] }
}

/** The rules of one principal; empty if it has no rule. Throws what the store throws, or UnreadableDocument. */
export async function describeAcls({ acls }: AclRooms, given: string): Promise<readonly AclRule[]> {
  const principal = canonicalUsername(given)
  await acls.catchUp()
  const { grants, unreadable } = acls.current()
  const failure = unreadable.get(principal)
  if (failure !== undefined) throw failure
  return (grants.get(principal) ?? []).map(grant => ({ principal, ...grant }))
}

/** The rules of all principals that say something of the topic, or of the group, of this name. */
export async function matchAcls(rooms: AclRooms, resourceType: ResourceType, name: string): Promise<ListedAcls> {
  const { rules, unreadable } = await listAcls(rooms)
  return { rules: rules.filter(rule => rule.resourceType === resourceType && matches(rule.resource, name)), unreadable }
}

/**
 * Grants the rule; changes nothing if the principal has it already. Throws what the store throws, or
 * UnreadableDocument.
 */
export async function createAcl(
  { acls }: AclRooms,
  { principal: given, ...grant }: AclRule,
): Promise<{ readonly kind: 'granted'; readonly isNew: boolean; readonly rule: AclRule } | InvalidRule> {
  const principal = canonicalUsername(given)
  const message = objectionToPrincipal(principal)
  if (message !== null) return { kind: 'invalid', field: 'principal', message }
  const objection = objectionToResource(grant)
  if (objection !== null) return { kind: 'invalid', field: 'resource', message: objection }
  const isNew = await acls.change(principal, grants => {
    return grants.some(each => isSameGrant(each, grant)) ? null : [...grants, grant]
  })
  return { kind: 'granted', isNew, rule: { principal, ...grant } }
}

/** True if the rule existed. Throws what the store throws, or UnreadableDocument. */
export async function deleteAcl({ acls }: AclRooms, { principal, ...grant }: AclRule): Promise<boolean> {
  return await acls.change(canonicalUsername(principal), grants => {
    const left = grants.filter(each => !isSameGrant(each, grant))
    return left.length === grants.length ? null : left
  })
}

/** The objection to the name or pattern, as a phrase; null without one. */
function objectionToResource({ resourceType, resource }: Grant): string | null {
  if (resource === '*') return null
  const name = resource.endsWith('*') ? resource.slice(0, -1) : resource
  if (name.includes('*')) return "has '*' elsewhere than at its end"
  // The prefix of a name need not be a valid name: `.` is a prefix and no name.
  const whole = name === resource ? name : `${name}x`
  return resourceType === 'TOPIC' ? checkTopicName(whole) : checkGroupId(whole)
}
