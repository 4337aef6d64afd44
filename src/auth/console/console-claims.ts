// Turns the claims of a verified id_token into a console user with a name and a role, or refuses them. Claims come from
// another system, so every one is checked before use.

import type { Settings } from '../../settings/settings.ts'
import { claimOf, isName, MOST_STRINGS, NAME_CHARACTERS, stringsOf } from '../claims.ts'
import type { Role } from './identity.ts'

export interface ConsoleClaims {
  readonly kind: 'claims'
  readonly username: string
  readonly role: Role
}

/**
 * `no-role`: the provider knows the user, but the console gives the user no role. `unusable`: the claims have a wrong
 * form.
 */
interface RefusedClaims {
  readonly kind: 'no-role' | 'unusable'
  /** For the log. */
  readonly why: string
}

export function readConsoleClaims(
  claims: Readonly<Record<string, unknown>>,
  settings: Settings,
): ConsoleClaims | RefusedClaims {
  const nameClaim = settings.get('admin.oauth.username-claim')
  const username = claimOf(claims, nameClaim)
  if (!isName(username)) {
    const takes = `takes 1 to ${NAME_CHARACTERS} characters without : and what cannot be seen`
    return { kind: 'unusable', why: `the claim ${nameClaim} ${takes}` }
  }
  const groupsClaim = settings.get('admin.oauth.roles.claim')
  const groups = stringsOf(claimOf(claims, groupsClaim))
  if (groups === null) {
    const takes = `takes a string or an array of at most ${MOST_STRINGS} strings`
    return { kind: 'unusable', why: `the claim ${groupsClaim} ${takes}` }
  }
  const isIn = (group: string | null) => group !== null && groups.includes(group)
  if (isIn(settings.get('admin.oauth.roles.admin-group'))) return { kind: 'claims', username, role: 'ADMIN' }
  if (isIn(settings.get('admin.oauth.roles.viewer-group'))) return { kind: 'claims', username, role: 'VIEWER' }
  return { kind: 'no-role', why: `the claim ${groupsClaim} holds neither the group of admins nor that of viewers` }
}
