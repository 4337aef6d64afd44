// Grants rights to principals of Kafka clients and takes them back. If two operators change the same principal at the
// same time, no rule is lost: a change is stored only if the rules have not changed since it was decided
// (auth/clients/acl-keeper.ts). auth/clients/acl-rules.ts says what a rule is.

import type { AclRule } from '../api/acls.ts'
import type { ResourceType } from '../api/words.ts'
import type { AclKeeper } from '../auth/clients/acl-keeper.ts'
import { type Grant, isSameGrant, matches, objectionToPrincipal } from '../auth/clients/acl-rules.ts'
import { canonicalUsername } from '../auth/user-rules.ts'
import { checkGroupId, checkTopicName } from '../protocol/names.ts'
import { UnreadableDocument } from '../store/store.ts'

interface AclRooms {
  readonly acls: AclKeeper
}

/** Says why a rule cannot be granted: the wrong field, and the objection to it as a phrase. */
export interface InvalidRule {
  readonly kind: 'invalid'
  readonly field: 'principal' | 'resource'
  readonly message: string
}

export interface ListedAcls {
  /** Sorted by principal. */
  readonly rules: readonly AclRule[]
  /** Principals whose stored rules this version cannot read, because another program or a later version wrote them. */
  readonly unreadable: readonly string[]
}

/** Returns all rules. Throws what the store throws. */
export async function listAcls({ acls }: AclRooms): Promise<ListedAcls> {
  await acls.catchUp()
  const { grants, unreadable } = acls.current()
  const rules = [...grants].flatMap(([principal, of]) => of.map(grant => ({ principal, ...grant })))
  return { rules, unreadable: [...unreadable.keys()] }
}

/**
 * Returns the rules of one principal; empty if it has no rule. Throws what the store throws, or UnreadableDocument.
 */
export async function describeAcls({ acls }: AclRooms, given: string): Promise<readonly AclRule[]> {
  const principal = canonicalUsername(given)
  await acls.catchUp()
  const { grants, unreadable } = acls.current()
  const failure = unreadable.get(principal)
  if (failure !== undefined) throw failure
  return (grants.get(principal) ?? []).map(grant => ({ principal, ...grant }))
}

/** Returns the rules of all principals that match the topic or the group with this name. */
export async function matchAcls(rooms: AclRooms, resourceType: ResourceType, name: string): Promise<ListedAcls> {
  const { rules, unreadable } = await listAcls(rooms)
  return { rules: rules.filter(rule => rule.resourceType === resourceType && matches(rule.resource, name)), unreadable }
}

/**
 * Grants the rule. Changes nothing if the principal already has it. Throws what the store throws, or
 * UnreadableDocument.
 */
export async function createAcl(
  { acls }: AclRooms,
  { principal: given, ...grant }: AclRule,
): Promise<{ readonly kind: 'granted'; readonly isNew: boolean; readonly rule: AclRule } | InvalidRule> {
  const principal = canonicalUsername(given)
  const objection = objectionTo({ principal, ...grant })
  if (objection !== null) return objection
  const isNew = await acls.change(principal, grants => {
    return grants.some(each => isSameGrant(each, grant)) ? null : [...grants, grant]
  })
  return { kind: 'granted', isNew, rule: { principal, ...grant } }
}

/**
 * The most rules of a cluster while super-users add to them over the Kafka port. Operators who sign in have no such
 * bound.
 */
export const MOST_RULES = 20_000

/** A rule that is not granted, because there are MOST_RULES. */
const FULL = Object.freeze({ kind: 'full', message: `There are ${MOST_RULES} rules, the most that clients may make.` })

export type NotGranted = InvalidRule | UnreadableDocument | typeof FULL

/**
 * Grants these rules, with one change for each principal. Resolves to one outcome for each rule, in order: null if the
 * principal has it, else why not. Throws what the store throws; some principals may have their rules then.
 */
export async function createAcls(rooms: AclRooms, rules: readonly AclRule[]): Promise<readonly (NotGranted | null)[]> {
  const outcomes = rules.map((rule): NotGranted | null => objectionTo(rule))
  refuseBeyondBound(rooms, rules, outcomes)
  await changeEach(rooms, rules, outcomes, (grants, asked) => {
    const all = new Map([...grants, ...asked].map(grant => [keyOf(grant), grant]))
    return all.size === grants.length ? null : [...all.values()]
  })
  return outcomes
}

/** Refuses new rules beyond the bound. A rule that a principal has already needs no room. */
function refuseBeyondBound({ acls }: AclRooms, rules: readonly AclRule[], outcomes: (NotGranted | null)[]): void {
  const { grants } = acls.current()
  let left = MOST_RULES
  for (const of of grants.values()) left -= of.length
  if (left >= rules.length) return
  const known = new Set([...grants].flatMap(([principal, of]) => of.map(grant => `${principal} ${keyOf(grant)}`)))
  for (const [at, rule] of rules.entries()) {
    if (outcomes[at] !== null || known.has(`${canonicalUsername(rule.principal)} ${keyOf(rule)}`)) continue
    if (left-- <= 0) outcomes[at] = FULL
  }
}

/**
 * Deletes these rules, with one change for each principal. Resolves to one outcome for each rule, in order: null if
 * the principal no longer has it. Throws what the store throws; some rules may be deleted then.
 */
export async function deleteAcls(
  rooms: AclRooms,
  rules: readonly AclRule[],
): Promise<readonly (UnreadableDocument | null)[]> {
  const outcomes = rules.map((): UnreadableDocument | null => null)
  await changeEach(rooms, rules, outcomes, (grants, asked) => {
    const doomed = new Set(asked.map(keyOf))
    const left = grants.filter(each => !doomed.has(keyOf(each)))
    return left.length === grants.length ? null : left
  })
  return outcomes
}

/** Changes the rules of each principal that is named by a rule without an outcome. */
async function changeEach<Outcome>(
  { acls }: AclRooms,
  rules: readonly AclRule[],
  outcomes: (Outcome | UnreadableDocument | null)[],
  decide: (grants: readonly Grant[], asked: readonly Grant[]) => readonly Grant[] | null,
): Promise<void> {
  const open = [...rules.keys()].filter(at => outcomes[at] === null)
  for (const [principal, places] of Map.groupBy(open, at => canonicalUsername(rules[at]!.principal))) {
    const asked = places.map(at => {
      const { principal: _, ...grant } = rules[at]!
      return grant
    })
    try {
      await acls.change(principal, grants => decide(grants, asked))
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      for (const at of places) outcomes[at] = error
    }
  }
}

function keyOf({ resourceType, resource, operation }: Grant): string {
  return `${resourceType} ${operation} ${resource}`
}

/** Deletes the rule. Resolves to true if the rule existed. Throws what the store throws, or UnreadableDocument. */
export async function deleteAcl({ acls }: AclRooms, { principal, ...grant }: AclRule): Promise<boolean> {
  return await acls.change(canonicalUsername(principal), grants => {
    const left = grants.filter(each => !isSameGrant(each, grant))
    return left.length === grants.length ? null : left
  })
}

function objectionTo({ principal, ...grant }: AclRule): InvalidRule | null {
  const message = objectionToPrincipal(canonicalUsername(principal))
  if (message !== null) return { kind: 'invalid', field: 'principal', message }
  const objection = objectionToResource(grant)
  return objection === null ? null : { kind: 'invalid', field: 'resource', message: objection }
}

/** Returns the objection to the name or pattern as a phrase; null if it is valid. */
function objectionToResource({ resourceType, resource }: Grant): string | null {
  if (resource === '*') return null
  const name = resource.endsWith('*') ? resource.slice(0, -1) : resource
  if (name.includes('*')) return "has '*' elsewhere than at its end"
  // A prefix of a valid name need not be a valid name: `.` is a valid prefix, but not a valid name.
  const whole = name === resource ? name : `${name}x`
  return resourceType === 'TOPIC' ? checkTopicName(whole) : checkGroupId(whole)
}
