// Verifies an id_token (OpenID Connect Core 1.0, section 3.1.3.7): what signed-token.ts checks of every token, and its
// type, its client and the nonce of the login. console-claims.ts makes a console user from its claims.

import type { JWTPayload } from 'jose'
import type { Clock } from '../../base/clock.ts'
import type { KeySet } from '../key-set.ts'
import { type BadToken, badToken, type ExpectedToken, verifySignedToken } from '../signed-token.ts'

export interface ExpectedIdToken extends ExpectedToken {
  readonly clientId: string
  /** The value that this broker sent with the login. */
  readonly nonce: string
}

interface GoodToken {
  readonly kind: 'good'
  readonly claims: JWTPayload & { readonly sub: string }
}

/** Verifies the token. Throws ProviderUnavailable if there are no keys to verify it with. */
export async function verifyIdToken(
  token: string,
  expected: ExpectedIdToken,
  keys: KeySet,
  clock: Clock,
): Promise<GoodToken | BadToken> {
  const verified = await verifySignedToken(token, expected, keys, clock)
  if (verified.kind === 'bad') return verified
  const { header, claims } = verified
  const { sub, aud, azp, iat, nonce } = claims
  const audiences = Array.isArray(aud) ? aud : [aud]
  if (!isIdTokenType(header.typ, claims.typ)) return badToken('it is a token of another type')
  if (typeof sub !== 'string' || sub === '') return badToken('"sub" is not a name')
  if (!audiences.includes(expected.clientId)) return badToken('"aud" does not name this client')
  if (azp === undefined ? audiences.length > 1 : azp !== expected.clientId)
    return badToken('"azp" does not name this client')
  if (iat === undefined) return badToken('"iat" is missing')
  if (nonce !== expected.nonce) return badToken('"nonce" is not the one of this login')
  return { kind: 'good', claims: { ...claims, sub } }
}

/**
 * Returns whether the token is an id_token. A provider that writes a type into the header writes JWT. Keycloak writes
 * the type into a claim, and access tokens have `Bearer` there.
 */
function isIdTokenType(header: unknown, claim: unknown): boolean {
  return (
    (header === undefined || (typeof header === 'string' && header.toUpperCase() === 'JWT')) &&
    (claim === undefined || claim === 'ID' || claim === 'JWT')
  )
}
