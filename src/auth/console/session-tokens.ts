// Makes and reads the session tokens that browsers carry: JWTs signed with HMAC-SHA256 (RFC 7515, RFC 7519). No other
// file does that. The algorithm is fixed: a token cannot choose another (RFC 8725). accounts.ts checks whether a
// session was ended before it expired.
//
//   { "sub": "ada", "role": "ADMIN", "jti": "…", "iat": 1700000000.123, "exp": 1700028800, "stamp": "…" }
//
// `stamp` is the stamp of the user in the store. Tokens of single sign-on have `"sso": true` instead, because their
// users are not in the store. A change of a stored user with the same name does not affect them.

import { errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../base/clock.ts'
import { type Random, randomUuid } from '../../base/random.ts'
import type { Role } from './identity.ts'

export interface SessionClaims {
  readonly username: string
  /** ADMIN if the token names no role: it was issued before roles existed. */
  readonly role: Role
  readonly jti: string
  /** Milliseconds since 1970; null if the token has no such time. */
  readonly issuedAtMs: number | null
  readonly expiresAtMs: number
  readonly stamp: string | null
  readonly isFederated: boolean
}

export interface SessionTokens {
  /** Makes a token. A token without a stamp belongs to single sign-on. */
  issue(
    username: string,
    role: Role,
    stamp: string | null,
  ): Promise<{ readonly token: string; readonly claims: SessionClaims }>
  /**
   * Resolves with the claims; null if the token was signed with another secret, has expired, or lacks a required
   * claim.
   */
  read(token: string): Promise<SessionClaims | null>
}

export interface SessionTokensRooms {
  readonly clock: Clock
  readonly random: Random
  /** The secret of the signatures; if null, a random one that no other broker has. */
  readonly secret: string | null
  readonly expiryMs: number
}

const ALGORITHM = 'HS256'
const SECRET_BYTES = 32
/** The tokens of this broker have some 300 characters. */
const MAX_TOKEN_CHARACTERS = 8_192
const MAX_CLAIM_CHARACTERS = 1_024
/**
 * The number of verified tokens that are remembered. The result of a verification cannot change, and a console sends
 * several requests a second.
 */
const REMEMBERED = 256

export function createSessionTokens({ clock, random, secret, expiryMs }: SessionTokensRooms): SessionTokens {
  const key = secret === null ? random.bytes(SECRET_BYTES) : Buffer.from(secret)
  const remembered = new Map<string, SessionClaims>()

  function remember(token: string, claims: SessionClaims): void {
    remembered.set(token, claims)
    const [oldest] = remembered.keys()
    if (remembered.size > REMEMBERED) remembered.delete(oldest!)
  }

  /** Returns whether the session has expired, in whole seconds like the times of a token. */
  function isOver({ expiresAtMs }: SessionClaims): boolean {
    return Math.floor(clock.now() / 1000) * 1000 >= expiresAtMs
  }

  return {
    async issue(username, role, stamp) {
      const nowMs = clock.now()
      const expiresAt = Math.floor((nowMs + expiryMs) / 1000)
      const jti = randomUuid(random)
      const token = await new SignJWT({
        role,
        ...(stamp === null ? { sso: true } : { stamp }),
        iat: nowMs / 1000,
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(username)
        .setJti(jti)
        .setExpirationTime(expiresAt)
        .sign(key)
      const expiresAtMs = expiresAt * 1000
      const isFederated = stamp === null
      return { token, claims: { username, role, jti, issuedAtMs: nowMs, expiresAtMs, stamp, isFederated } }
    },

    async read(token) {
      if (token.length > MAX_TOKEN_CHARACTERS) return null
      const known = remembered.get(token)
      if (known !== undefined) return isOver(known) ? null : known
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          currentDate: new Date(clock.now()),
          requiredClaims: ['sub', 'jti', 'exp'],
        })
        const claims = claimsOf(payload)
        if (claims !== null) remember(token, claims)
        return claims
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    },
  }
}

function claimsOf(payload: Record<string, unknown>): SessionClaims | null {
  const { sub, jti, iat, exp, role = 'ADMIN', stamp = null, sso = false } = payload
  if (!isText(sub) || !isText(jti) || typeof exp !== 'number') return null
  if (role !== 'ADMIN' && role !== 'VIEWER') return null
  if (stamp !== null && !isText(stamp)) return null
  const issuedAtMs = typeof iat === 'number' ? iat * 1000 : null
  if (typeof sso !== 'boolean' || (sso && stamp !== null)) return null
  return { username: sub, role, jti, issuedAtMs, expiresAtMs: exp * 1000, stamp, isFederated: sso }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_CLAIM_CHARACTERS
}
