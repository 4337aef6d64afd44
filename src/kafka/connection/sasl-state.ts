// Decides how far the client of one connection has authenticated, and which request it may send next (KIP-43, KIP-152,
// KIP-368). Pure and synchronous: it reads no clock, calls no mechanism and writes no answer. authentication.ts does.
//
//   not-needed   the listener has no SASL
//
//                choose               token, at most MOST_TOKENS
//   handshake ────────────> exchange ──┐     (at most MOST_VERSIONS requests for versions before)
//                            │   ^     │
//                            │   └─────┘
//                      prove │
//                            v           choose, if the identity expires
//                      authenticated ─────────────────────────────────────> exchange with `before`: a re-authentication
//                            ^                                                │
//                            └────────────────── prove, as the same ──────────┘
//
//   Every state except not-needed and authenticated goes to `failed` if the client does something else. Nothing leaves
//   `failed`: the connection closes.

import { assert } from '../../base/assert.ts'

export type SaslState =
  | { readonly at: 'not-needed' }
  | Unchosen
  | Exchanging
  | ({ readonly at: 'authenticated' } & Proven)
  | { readonly at: 'failed' }

interface Unchosen {
  readonly at: 'handshake'
  /** How often the client has asked for versions. */
  readonly versions: number
}

interface Exchanging {
  readonly at: 'exchange'
  readonly mechanism: string
  /** True if the tokens come without Kafka headers, because the client sent SaslHandshake 0. */
  readonly isRaw: boolean
  /** The tokens that the client has sent. */
  readonly tokens: number
  /** On Clock.monotonic(): the time of the SaslHandshake. */
  readonly sinceMs: number
  /** The identity that a re-authentication must keep; null in the first authentication. */
  readonly before: Proven | null
}

interface Proven {
  readonly mechanism: string
  /** Kafka's form, `User:name`. */
  readonly principal: string
  readonly expires: boolean
  /** On Clock.monotonic(): the time of the SaslHandshake of the last re-authentication; null before the first one. */
  readonly renewedAtMs: number | null
}

/** The part that an API has in an authentication; `other` for all APIs that have none. */
export type SaslPart = 'versions' | 'handshake' | 'authenticate' | 'other'

/** Why the client's step is refused. If the state after it is not `failed`, the connection stays open. */
export type SaslObjection = 'state' | 'mechanism' | 'tokens' | 'other-mechanism' | 'other-principal'

export interface SaslChange {
  readonly state: SaslState
  /** Null if the step is allowed. */
  readonly objection: SaslObjection | null
}

/** The most tokens of a client in one exchange. GSSAPI needs up to four. */
export const MOST_TOKENS = 5

/**
 * How often a client may ask for versions before it chooses a mechanism. In Apache Kafka once, and once more for each
 * version of the request that is not served.
 */
export const MOST_VERSIONS = 10

/** The shortest time between two re-authentications of a connection, as in Apache Kafka. */
const RENEW_EVERY_MS = 1000

export const NOT_NEEDED: SaslState = Object.freeze({ at: 'not-needed' })
export const HANDSHAKE: SaslState = Object.freeze({ at: 'handshake', versions: 0 })
export const FAILED: SaslState = Object.freeze({ at: 'failed' })

/** Returns whether the client has an identity, or needs none. */
export function hasIdentity(state: SaslState): boolean {
  return state.at === 'not-needed' || state.at === 'authenticated' || (state.at === 'exchange' && state.before !== null)
}

/** Returns whether the next frame is a token without a Kafka header. */
export function awaitsRawToken(state: SaslState): boolean {
  return state.at === 'exchange' && state.isRaw
}

/**
 * Returns whether a request may go to its handler. `refuse`: the client gets ILLEGAL_SASL_STATE, and the connection
 * closes. `close`: it closes without an answer. SaslHandshake and SaslAuthenticate at the wrong time go to their
 * handlers, which answer with the objection of choose() and takeToken().
 */
export function gate(state: SaslState, part: SaslPart): 'pass' | 'refuse' | 'close' {
  switch (state.at) {
    case 'not-needed':
    case 'authenticated':
      return 'pass'
    case 'handshake':
      if (part === 'versions') return state.versions < MOST_VERSIONS ? 'pass' : 'close'
      return part === 'other' ? 'close' : 'pass'
    case 'exchange':
      if (part === 'versions') return 'refuse'
      return part === 'other' ? 'close' : 'pass'
    case 'failed':
      return 'close'
  }
}

/** The client asks for versions, and gate() lets it. */
export function askVersions(state: SaslState): SaslState {
  return state.at === 'handshake' ? { ...state, versions: state.versions + 1 } : state
}

export interface Choice {
  readonly mechanism: string
  /** The version of SaslHandshake. */
  readonly version: number
  /** False if the broker does not serve the mechanism in this version. */
  readonly isServed: boolean
  /** On Clock.monotonic(). */
  readonly nowMs: number
}

/** The client sends SaslHandshake. */
export function choose(state: SaslState, choice: Choice): SaslChange {
  if (state.at === 'not-needed') return { state, objection: 'state' }
  // A raw token has no header to tell it from a request, so version 0 cannot begin a re-authentication.
  const { mechanism, version, isServed, nowMs } = choice
  if (state.at === 'authenticated') {
    const isSoon = state.renewedAtMs !== null && nowMs - state.renewedAtMs < RENEW_EVERY_MS
    if (!state.expires || version === 0 || isSoon) return { state, objection: 'state' }
  } else if (state.at !== 'handshake') return failed('state')
  if (!isServed) return failed('mechanism')
  const before = state.at === 'authenticated' ? state : null
  const exchange = { at: 'exchange', mechanism, isRaw: version === 0, tokens: 0, sinceMs: nowMs, before } as const
  return { state: exchange, objection: null }
}

/** The client sends a token, raw or in SaslAuthenticate. */
export function takeToken(state: SaslState): SaslChange {
  if (state.at === 'not-needed' || state.at === 'authenticated') return { state, objection: 'state' }
  if (state.at !== 'exchange') return failed('state')
  if (state.before !== null && state.before.mechanism !== state.mechanism) return failed('other-mechanism')
  if (state.tokens === MOST_TOKENS) return failed('tokens')
  return { state: { ...state, tokens: state.tokens + 1 }, objection: null }
}

/** The mechanism has accepted the client. */
export function prove(state: SaslState, principal: string, expires: boolean): SaslChange {
  assert(state.at === 'exchange', `a client in state ${state.at} cannot be accepted`)
  const { mechanism, before, sinceMs } = state
  if (before !== null && before.principal !== principal) return failed('other-principal')
  const renewedAtMs = before === null ? null : sinceMs
  return { state: { at: 'authenticated', mechanism, principal, expires, renewedAtMs }, objection: null }
}

function failed(objection: SaslObjection): SaslChange {
  return { state: FAILED, objection }
}
