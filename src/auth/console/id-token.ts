// Verifies an id_token (OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725): signature, issuer, audience, times,
// type, and the nonce of the login. console-claims.ts makes a console user from its claims.

import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../../base/clock.ts'
import { ALGORITHMS, type KeySet } from '../key-set.ts'

export interface ExpectedToken {
  readonly issuer: string
  readonly audience: string
  readonly clientId: string
  /** The values that this broker sent with the login. */
  readonly nonce: string
  readonly skewMs: number
}

interface GoodToken {
  readonly kind: 'good'
  readonly claims: JWTPayload & { readonly sub: string }
}

interface BadToken {
  readonly kind: 'bad'
  /** For the log; it contains no part of the token. */
  readonly why: string
}

/** Verifies the token. Throws ProviderUnavailable if there are no keys to verify it with. */
export async function verifyIdToken(
  token: string,
  { issuer, audience, clientId, nonce, skewMs }: ExpectedToken,
  keys: KeySet,
  clock: Clock,
): Promise<GoodToken | BadToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
      algorithms: [...ALGORITHMS],
      issuer,
      audience: [audience],
      requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
      currentDate: new Date(clock.now()),
      clockTolerance: skewMs / 1000,
    })
    const { sub, aud, azp, iat, exp } = payload
    const audiences = Array.isArray(aud) ? aud : [aud]
    const latestMs = clock.now() + skewMs
    if (!isIdTokenType(protectedHeader.typ, payload.typ)) return bad('it is a token of another type')
    if (typeof sub !== 'string' || sub === '') return bad('"sub" is not a name')
    if (!audiences.includes(clientId)) return bad('"aud" does not name this client')
    if (azp === undefined ? audiences.length > 1 : azp !== clientId) return bad('"azp" does not name this client')
    if (typeof iat !== 'number' || iat * 1000 > latestMs) return bad('"iat" lies in the future')
    if (iat > exp!) return bad('"iat" lies after "exp"')
    if (payload.nonce !== nonce) return bad('"nonce" is not the one of this login')
    return { kind: 'good', claims: { ...payload, sub } }
  } catch (error) {
    if (error instanceof errors.JOSEError) return bad(error.message)
    throw error
  }
}

function bad(why: string): BadToken {
  return { kind: 'bad', why }
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
