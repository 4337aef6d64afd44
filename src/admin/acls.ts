// Grants rights to principals of Kafka clients and takes them back. A principal's rules change together with what was known of
// them, so that two operators at once lose nothing of each other. What a rule is says auth/acl-rules.ts.

import {
  type AclRule,
  type Grant,
  grantsOf,
  isSameGrant,
  KIND,
  matches,
  objectionToPrincipal,
  type ResourceType,
  rowOf,
  sortGrants,
} from '../auth/acl-rules.ts'
import { canonicalUsername } from '../auth/user-rules.ts'
import { cut } from '../base/cut.ts'
import { checkGroupId, checkTopicName } from '../protocol/names.ts'
import { type ContentionRooms, contend, LOST } from '../store/contention.ts'
import { type Store, UnreadableDocument } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'

type AclRooms = { readonly store: Store; readonly unreadable?: NameUnreadable | undefined }
type AclChangeRooms = AclRooms & ContentionRooms

/** What cannot be granted: the member of the rule, and what is wrong with it, as a phrase. */
export interface InvalidRule {
  readonly kind: 'invalid'
  readonly field: 'principal' | 'resource'
  readonly message: string
}

export interface ListedAcls {
  /** By principal. */
  readonly rules: readonly AclRule[]
  /** Principals whose rules somebody else wrote in a form that is not read here. */
  readonly unreadable: readonly string[]
}

/** Every rule there is. Throws what the store throws. */
export async function listAcls({ store, unreadable: tell }: AclRooms): Promise<ListedAcls> {
  const documents = [...(await store.list(KIND))].sort((one, other) => (one.name < other.name ? -1 : 1))
  const rules: AclRule[] = []
  const unreadable: string[] = []
  for (const { name, fields } of documents) {
    try {
      for (const grant of grantsOf(name, fields)) rules.push({ principal: name, ...grant })
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      unreadable.push(name)
      tell?.({
        kind: KIND,
        what: `the rules of ${JSON.stringify(cut(name))}`,
        why: error,
        result: 'they count for nothing',
      })
    }
  }
  return { rules, unreadable }
}

/** The rules of one principal; none for one that nobody knows. Throws what the store throws, or UnreadableDocument. */
export async function describeAcls({ store }: AclRooms, principal: string): Promise<readonly AclRule[]> {
  const name = canonicalUsername(principal)
  const document = await store.load(KIND, name)
  return document === null ? [] : grantsOf(name, document.fields).map(grant => ({ principal: name, ...grant }))
}

/** The rules of all principals that say something of the topic, or of the group, of this name. */
export async function matchAcls(rooms: AclRooms, resourceType: ResourceType, name: string): Promise<ListedAcls> {
  const { rules, unreadable } = await listAcls(rooms)
  return { rules: rules.filter(rule => rule.resourceType === resourceType && matches(rule.resource, name)), unreadable }
}

/** Grants what the rule says; one that is there stays. Throws what the store throws, or UnreadableDocument. */
export async function createAcl(
  rooms: AclChangeRooms,
  { principal: given, ...grant }: AclRule,
): Promise<{ readonly kind: 'granted'; readonly isNew: boolean; readonly rule: AclRule } | InvalidRule> {
  const principal = canonicalUsername(given)
  const message = objectionToPrincipal(principal)
  if (message !== null) return { kind: 'invalid', field: 'principal', message }
  const objection = objectionToResource(grant)
  if (objection !== null) return { kind: 'invalid', field: 'resource', message: objection }
  const isNew = await change(rooms, principal, grants => {
    return grants.some(each => isSameGrant(each, grant)) ? null : [...grants, grant]
  })
  return { kind: 'granted', isNew, rule: { principal, ...grant } }
}

/** Whether there was such a rule. Throws what the store throws, or UnreadableDocument. */
export async function deleteAcl(rooms: AclChangeRooms, { principal, ...grant }: AclRule): Promise<boolean> {
  return await change(rooms, canonicalUsername(principal), grants => {
    const left = grants.filter(each => !isSameGrant(each, grant))
    return left.length === grants.length ? null : left
  })
}

/** Stores what `decide` makes of the grants; false when it answers null: nothing is to be changed. */
async function change(
  { store, ...rooms }: AclChangeRooms,
  principal: string,
  decide: (grants: readonly Grant[]) => readonly Grant[] | null,
): Promise<boolean> {
  return await contend(rooms, 'the list of rules of a principal', async () => {
    const document = await store.load(KIND, principal)
    const grants = decide(document === null ? [] : grantsOf(principal, document.fields))
    if (grants === null) return false
    const remove = grants.length === 0
    const changes = remove ? [] : [rowOf(sortGrants(grants))]
    const expect = document?.version ?? 0
    const outcome = await store.commit({ kind: KIND, name: principal, expect, changes, remove })
    return outcome.kind === 'committed' ? true : LOST
  })
}

/** What is wrong with the name or pattern, as a phrase; null when nothing is. */
function objectionToResource({ resourceType, resource }: Grant): string | null {
  if (resource === '*') return null
  const name = resource.endsWith('*') ? resource.slice(0, -1) : resource
  if (name.includes('*')) return "has '*' elsewhere than at its end"
  // A beginning of names need not be a name: `.` is none.
  const whole = name === resource ? name : `${name}x`
  return resourceType === 'TOPIC' ? checkTopicName(whole) : checkGroupId(whole)
}
