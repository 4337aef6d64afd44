// Verifies what must hold for every token of an identity provider (RFC 7519, RFC 8725): signature, issuer, audience and
// times. Its callers check the rest: id-token.ts for the console, access-token.ts for Kafka clients.

import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../base/clock.ts'
import { ALGORITHMS, type KeySet } from './key-set.ts'

export interface ExpectedToken {
  readonly issuer: string
  readonly audience: string
  readonly skewMs: number
}

export interface SignedToken {
  readonly kind: 'good'
  readonly header: JWTHeaderParameters
  readonly claims: JWTPayload & { readonly exp: number }
}

export interface BadToken {
  readonly kind: 'bad'
  /** For the log; it contains no part of the token. */
  readonly why: string
}

/** The most levels of arrays and objects in the claims. Providers use two or three. */
const MOST_LEVELS = 16

/** Verifies the token. Throws ProviderUnavailable if there are no keys to verify it with. */
export async function verifySignedToken(
  token: string,
  { issuer, audience, skewMs }: ExpectedToken,
  keys: KeySet,
  clock: Clock,
): Promise<SignedToken | BadToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
      algorithms: [...ALGORITHMS],
      issuer,
      audience: [audience],
      requiredClaims: ['exp'],
      currentDate: new Date(clock.now()),
      clockTolerance: skewMs / 1000,
    })
    const { iat, exp } = payload
    // The library accepts the extension b64 (RFC 7797), which no token needs (RFC 7519, section 8).
    if (protectedHeader.crit !== undefined) return badToken('its header has "crit"')
    if (!isShallow(payload, MOST_LEVELS)) return badToken(`its claims have more than ${MOST_LEVELS} levels`)
    if (iat !== undefined && iat * 1000 > clock.now() + skewMs) return badToken('"iat" lies in the future')
    if (iat !== undefined && iat > exp!) return badToken('"iat" lies after "exp"')
    return { kind: 'good', header: protectedHeader, claims: { ...payload, exp: exp! } }
  } catch (error) {
    // The message names the extension, which is a part of the token.
    if (error instanceof errors.JOSENotSupported) return badToken('its header demands an unknown extension')
    if (error instanceof errors.JOSEError) return badToken(error.message)
    throw error
  }
}

export function badToken(why: string): BadToken {
  return { kind: 'bad', why }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every(each => isShallow(each, levels - 1))
}
