// Signs users in to the console at an identity provider: OpenID Connect, authorization code flow with PKCE (RFC
// 7636), state, nonce and the issuer of the answer (RFC 9207). It returns where to send the browser and which user
// came back. It sets no cookie and issues no session. It verifies the provider's tokens and drops them: no token
// leaves this folder.
//
//   begin ──> provider ──> finish: the sealed login ─ state ─ answer ─ code for id_token ─ id_token ─ claims ─ spent
//                                        └───────┴───────┴────────────┴─────────────────┴──────────┴──────┴──> failed

import { createHash, timingSafeEqual } from 'node:crypto'
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  calculatePKCECodeChallenge,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { ProviderUnavailable } from '../provider-fetch.ts'
import { readConsoleClaims } from './console-claims.ts'
import { verifyIdToken } from './id-token.ts'
import type { Role } from './identity.ts'
import { createDiscovery, type IdentityProvider } from './identity-provider.ts'
import { createLoginSeal, LOGIN_MS, type Login } from './sealed-login.ts'

/**
 * The reason of a failed sign-in for the login page. Whatever the provider or the browser sent, it is one of these
 * words.
 * - `sso-unavailable`: the provider does not answer, or its answer cannot be used.
 * - `sso-expired`: the login did not begin in this browser, was finished before, or took longer than 10 minutes.
 * - `sso-refused`: the provider or the user refused.
 * - `sso-invalid`: the provider's answer is not valid.
 * - `sso-no-role`: the user is in neither group.
 */
export type SignOnError = 'sso-unavailable' | 'sso-expired' | 'sso-refused' | 'sso-invalid' | 'sso-no-role'

export interface SignOnFailed {
  readonly kind: 'failed'
  readonly error: SignOnError
  /** True if the answer belongs to another login. Then the login in this browser is still in progress. */
  readonly isOther: boolean
}

interface SignOnBegun {
  readonly kind: 'begun'
  /** Where to send the browser. */
  readonly url: string
  /**
   * The cookie value that the browser must send back within `LOGIN_MS`: one line of ASCII without quotes and
   * semicolons.
   */
  readonly login: string
}

interface SignedOn {
  readonly kind: 'signed-on'
  readonly username: string
  readonly role: Role
  readonly returnTo: string
}

export interface SingleSignOn {
  /** The text of the button. */
  readonly label: string
  /** Begins a login. Takes both URIs unchecked: the second must be a path of this server. */
  begin(redirectUri: string, returnTo: string): Promise<SignOnBegun | SignOnFailed>
  /**
   * Finishes a login. `login` is the cookie value that `begin` returned, null without a cookie. `answer` is the query
   * with which the provider sent the browser back.
   */
  finish(login: string | null, answer: URLSearchParams): Promise<SignedOn | SignOnFailed>
}

export interface SingleSignOnRooms {
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'count'>
  /**
   * Resolves with true for the first call with this name before the time (milliseconds since 1970), over all brokers.
   */
  spend(name: string, untilMs: number): Promise<boolean>
}

/** Each kind of failure is logged at most this often, because any client can cause one. */
const LOG_EVERY_MS = 1_000
/** The length in bytes of state, nonce and verifier. */
const SECRET_BYTES = 32
/** The most logins that may wait for the provider at once. Further logins fail as `sso-unavailable`. */
const MOST_UNDER_WAY = 64

/**
 * Opens single sign-on. Sends no request to the provider until the first login, so that the broker starts, and
 * passwords work, while the provider is down.
 */
export function openSingleSignOn(rooms: SingleSignOnRooms): SingleSignOn {
  const { settings, clock, random, metrics } = rooms
  const logger = rooms.logger.named('sso')
  const seal = createLoginSeal(settings.get('admin.jwt.secret'), clock, random)
  const discover = createDiscovery(settings, clock)
  let underWay = 0

  function failed(error: SignOnError, reason: string, isOther = false): SignOnFailed {
    logger.limited(error, LOG_EVERY_MS).warn('single sign-on failed', { error, reason })
    metrics.count('svc.broker.failures', { operation: 'auth', error_type: error })
    return { kind: 'failed', error, isOther }
  }

  async function asking<T>(work: () => Promise<T>): Promise<T | SignOnFailed> {
    if (underWay >= MOST_UNDER_WAY) return failed('sso-unavailable', `${underWay} logins wait for the provider`)
    underWay++
    try {
      return await work()
    } catch (error) {
      const unavailable = unavailabilityIn(error)
      if (unavailable === null) throw error
      return failed('sso-unavailable', unavailable.message)
    } finally {
      underWay--
    }
  }

  async function redeem({ client, keys }: IdentityProvider, login: Login, answer: URLSearchParams) {
    const callback = new URL(login.redirectUri)
    callback.search = answer.toString()
    const tokens = await authorizationCodeGrant(client, callback, {
      pkceCodeVerifier: login.verifier,
      expectedState: login.state,
      expectedNonce: login.nonce,
      idTokenExpected: true,
    })
    const expected = {
      issuer: settings.get('admin.oauth.issuer-uri')!,
      audience: settings.get('admin.oauth.audience')!,
      clientId: settings.get('admin.oauth.client-id')!,
      nonce: login.nonce,
      skewMs: settings.get('admin.oauth.clock-skew'),
    }
    return await verifyIdToken(tokens.id_token ?? '', expected, keys, clock)
  }

  return {
    label: settings.get('admin.oauth.provider-name'),

    begin: (redirectUri, returnTo) =>
      asking(async (): Promise<SignOnBegun> => {
        const { client } = await discover()
        const secret = () => random.bytes(SECRET_BYTES).toString('base64url')
        const login: Login = {
          state: secret(),
          nonce: secret(),
          verifier: secret(),
          redirectUri: new URL(redirectUri).href,
          returnTo,
          expiresAtMs: clock.now() + LOGIN_MS,
        }
        const url = buildAuthorizationUrl(client, {
          redirect_uri: login.redirectUri,
          scope: settings.get('admin.oauth.scopes'),
          state: login.state,
          nonce: login.nonce,
          code_challenge: await calculatePKCECodeChallenge(login.verifier),
          code_challenge_method: 'S256',
        })
        return { kind: 'begun', url: url.href, login: seal.seal(login) }
      }),

    finish: (sealed, answer) =>
      asking(async (): Promise<SignedOn | SignOnFailed> => {
        const login = sealed === null ? null : seal.open(sealed)
        if (login === null)
          return failed('sso-expired', 'the browser sends no login that began here and is still valid')
        const states = answer.getAll('state')
        if (states.length !== 1 || !isSame(states[0]!, login.state))
          return failed('sso-expired', 'the answer belongs to a login of another browser', true)
        const provider = await discover()
        let verified: Awaited<ReturnType<typeof verifyIdToken>>
        try {
          verified = await redeem(provider, login, answer)
        } catch (error) {
          const refusal = refusalIn(error)
          if (refusal === null) throw error
          return failed(...refusal)
        }
        if (verified.kind === 'bad') return failed('sso-invalid', `the id_token is not valid: ${verified.why}`)
        const claims = readConsoleClaims(verified.claims, settings)
        if (claims.kind !== 'claims')
          return failed(claims.kind === 'no-role' ? 'sso-no-role' : 'sso-invalid', claims.why)
        if (!(await rooms.spend(digest(login.state).toString('hex'), login.expiresAtMs)))
          return failed('sso-expired', 'the login was finished before')
        const { username, role } = claims
        return { kind: 'signed-on', username, role, returnTo: login.returnTo }
      }),
  }
}

/**
 * Returns the ProviderUnavailable for an error, or null. openid-client wraps the errors of its fetch, and has codes
 * for answers that are not those of a token endpoint.
 */
function unavailabilityIn(error: unknown): ProviderUnavailable | null {
  if (error instanceof ProviderUnavailable) return error
  if (!(error instanceof ClientError)) return null
  if (error.cause instanceof ProviderUnavailable) return error.cause
  return NO_ANSWER.has(error.code ?? '') ? new ProviderUnavailable(error.message, { cause: error }) : null
}

const NO_ANSWER: ReadonlySet<string> = new Set([
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_TIMEOUT',
])

/**
 * Returns the failure for an error of openid-client about an answer, or null. The causes of such errors contain
 * tokens, so only these words are logged.
 */
function refusalIn(error: unknown): [SignOnError, string] | null {
  if (unavailabilityIn(error) !== null) return null
  if (error instanceof AuthorizationResponseError)
    return ['sso-refused', `the provider answered ${wordIn(error.error)}`]
  if (error instanceof WWWAuthenticateChallengeError) return ['sso-refused', 'the provider does not know this client']
  if (error instanceof ResponseBodyError) {
    const reason = `the provider refused the code: ${wordIn(error.error)}`
    // A code that was used or has expired (RFC 6749, section 5.2).
    return [error.error === 'invalid_grant' ? 'sso-expired' : 'sso-refused', reason]
  }
  return error instanceof ClientError ? ['sso-invalid', `${error.message} (${error.code})`] : null
}

/** Returns the code of an error. Codes are single words: any other text comes from outside and is not logged. */
function wordIn(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'an error that is no word'
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
