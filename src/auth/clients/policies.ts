// Makes the policies of clients from the rules that the broker keeps (acl-keeper.ts) and from
// `broker.acl.super-users`. It does not authenticate clients, and it checks no request.

import { fullKey, type Settings, SettingsError } from '../../settings/settings.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { canonicalUsername } from '../user-rules.ts'
import type { AclKeeper, Acls } from './acl-keeper.ts'
import { objectionToPrincipal } from './acl-rules.ts'
import { type Client, type Policy, policyOf, principalsOf } from './policy.ts'

/** The client of a connection that does not authenticate, as Apache Kafka names it. */
export const ANONYMOUS: Client = Object.freeze({ name: 'ANONYMOUS', groups: [] })

export interface Policies {
  /** Returns the policy by the rules that this broker has read; null while `broker.acl.enabled` is false. */
  current(client: Client): Policy | null
  /**
   * Reads the rules that the client has now, and resolves to the policy by them. Throws what the store throws: then
   * nothing can be decided now. If the stored rules cannot be read, none of them counts.
   */
  resolve(client: Client): Promise<Policy | null>
}

const SUPER_USERS = 'broker.acl.super-users'

/** Throws SettingsError if a super-user is no valid principal. */
export function openPolicies({
  acls,
  settings,
}: {
  readonly acls: Pick<AclKeeper, 'current' | 'find'>
  readonly settings: Settings
}): Policies {
  const isEnforced = settings.get('broker.acl.enabled')
  const superUsers = new Set(settings.get(SUPER_USERS).map(canonicalUsername))
  for (const each of superUsers) checkSuperUser(settings, each)
  return {
    current: client => (isEnforced ? policyOf(acls.current().grants, superUsers, client) : null),
    async resolve(client) {
      if (!isEnforced) return null
      return policyOf(await acls.find(principalsOf(client)).catch(noneIfUnreadable), superUsers, client)
    },
  }
}

/** Super-users must be able to come in and repair the rules. */
function noneIfUnreadable(error: unknown): Acls['grants'] {
  if (error instanceof UnreadableDocument) return new Map()
  throw error
}

function checkSuperUser(settings: Settings, given: string): void {
  const objection = objectionToPrincipal(given)
  if (objection === null) return
  throw new SettingsError(
    `${fullKey(SUPER_USERS)}: got ${given} (${settings.origin(SUPER_USERS)}), but it ${objection}`,
  )
}
