// Decides which client an access token stands for (specification, OAUTHBEARER; RFC 9068 where a token says that it is
// of that kind). signed-token.ts verifies signature, issuer, audience and times. This file checks the type of the token
// and reads the claims that the settings name: the principal, the groups and the tenant.
//
// An id_token is not an access token, even with the right audience: it goes through the browser and to other parties.
// Its type says so (Keycloak writes `ID` into the claim `typ`), or its nonce does, unless the type says that the token
// is an access token: Keycloak before version 24 wrote the nonce into those too.

import type { Settings } from '../../settings/settings.ts'
import { claimOf, isLabel, isName, MOST_STRINGS, NAME_CHARACTERS, stringsOf } from '../claims.ts'
import { type BadToken, badToken, type SignedToken } from '../signed-token.ts'
import type { Authenticated } from './mechanism.ts'

interface GoodToken {
  readonly kind: 'good'
  readonly client: Authenticated
}

/** Returns the client of a verified token, or why the token is not accepted. */
export function readAccessToken({ header, claims }: SignedToken, settings: Settings): GoodToken | BadToken {
  const objection = objectionToType(header.typ, claims.typ, claims.nonce)
  if (objection !== null) return badToken(objection)

  const nameClaim = settings.get('broker.sasl.oauth.principal-claim')
  const name = claimOf(claims, nameClaim)
  if (!isName(name))
    return badToken(`the claim ${nameClaim} takes 1 to ${NAME_CHARACTERS} characters without : and what cannot be seen`)

  const groupsClaim = settings.get('broker.sasl.oauth.groups-claim')
  const groups = groupsClaim === null ? [] : stringsOf(claimOf(claims, groupsClaim))
  if (groups === null || !groups.every(isLabel))
    return badToken(
      `the claim ${groupsClaim} takes a string or an array of at most ${MOST_STRINGS}, each of 1 to ${NAME_CHARACTERS} characters without controls`,
    )

  const tenantClaim = settings.get('broker.sasl.oauth.tenant-claim')
  const tenant = (tenantClaim === null ? null : claimOf(claims, tenantClaim)) ?? null
  if (tenant !== null && !isLabel(tenant))
    return badToken(`the claim ${tenantClaim} takes a string of 1 to ${NAME_CHARACTERS} characters without controls`)

  // As in Kafka without the skew, which decides only whether the token is accepted: the client computes with `exp` too,
  // and gets its next token before. So this time may lie in the past, by at most the skew.
  return { kind: 'good', client: { name, tenant, groups, validUntilMs: Math.floor(claims.exp * 1000) } }
}

/** Takes the types in the header and in the claims. Returns why the token is refused, or null. */
function objectionToType(header: unknown, claim: unknown, nonce: unknown): string | null {
  // The prefix may be missing (RFC 7515, section 4.1.9).
  const type = typeof header === 'string' ? header.toLowerCase().replace(/^application\//, '') : header
  if (type !== undefined && type !== 'jwt' && type !== 'at+jwt') return 'the type in its header is another one'
  if (claim !== undefined && claim !== 'Bearer' && claim !== 'JWT') return 'the type in its claims is another one'
  return nonce === undefined || type === 'at+jwt' || claim === 'Bearer'
    ? null
    : 'it is an id_token: it has a nonce, and no type of an access token'
}
