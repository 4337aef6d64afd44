// Authenticates the clients of SASL listeners: it carries tokens between a client and its mechanism, gives the session
// its identity, and delays, counts and logs failures. Its transitions are in connection/sasl-state.ts, and the
// mechanisms in auth/sasl/. It knows no frames (connection/) and no encoding (handlers/sasl-*.ts, raw-tokens.ts).
//
// If nothing can be decided, because the store or the identity provider is away, the connection closes without
// SASL_AUTHENTICATION_FAILED. The Java client takes that code for final and gives up.

import type { Policy } from '../auth/clients/policy.ts'
import { ProviderUnavailable } from '../auth/provider-fetch.ts'
import { type Authenticated, AuthenticationBusy, type Failure, type SaslMechanism } from '../auth/sasl/mechanism.ts'
import type { Clock } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import {
  because,
  ILLEGAL_SASL_STATE,
  type Refusal,
  SASL_AUTHENTICATION_FAILED,
  UNSUPPORTED_SASL_MECHANISM,
} from '../protocol/errors.ts'
import type { Settings } from '../settings/settings.ts'
import { isStoreFailure } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  choose,
  FAILED,
  MOST_TOKENS,
  prove,
  type SaslChange,
  type SaslState,
  takeToken,
} from './connection/sasl-state.ts'
import type { Session } from './connection/session.ts'
import { FailedLogins } from './failed-logins.ts'

export interface AuthenticationRooms {
  readonly settings: Settings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
  /** The mechanisms that the broker advertises, in the order of `broker.sasl.mechanisms`. */
  readonly mechanisms: readonly SaslMechanism[]
  /** Mechanisms that clients may choose and that the broker never advertises. */
  readonly hidden: readonly SaslMechanism[]
  /** Returns what the client may do; null if it may do everything. Throws what the store throws. */
  resolve(client: Authenticated): Promise<Policy | null>
}

/** The answer to a step of a client. `close`: the connection closes without an answer. */
export type Answered<Accepted> =
  | Accepted
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly closes: boolean }
  | { readonly kind: 'close' }

export type TokenAnswer = Answered<{
  readonly kind: 'token'
  readonly token: Uint8Array
  /** How long the session lasts; 0 if it does not end, or if the authentication is not over. */
  readonly lifetimeMs: number
}>

export interface Authentication {
  /** The names of the advertised mechanisms. */
  readonly advertised: readonly string[]
  /** How long an authentication may take. */
  readonly timeoutMs: number
  /** The client chooses a mechanism with SaslHandshake of this version. Never throws. */
  choose(session: Session, mechanism: string, version: number): Promise<Answered<{ readonly kind: 'chosen' }>>
  /** The client sends a token. Never throws. */
  take(session: Session, token: Uint8Array): Promise<TokenAnswer>
}

/**
 * The mechanisms whose tokens must come in SaslAuthenticate requests (specification, GSSAPI). SaslHandshake 0 for such
 * a mechanism gets UNSUPPORTED_SASL_MECHANISM: clients of every version know that error, and it is final.
 */
const NEVER_RAW: ReadonlySet<string> = new Set(['GSSAPI'])

/** The shortest time between two log lines about the same outside failure or defect. */
const LOG_EVERY_MS = 10_000

const LONGEST_NAME = 256

/** ':' is for the principals of groups, which rules name `group:name`. */
const FORBIDDEN_IN_NAMES = /[\p{Cc}\p{Cs}:]/u

const CLOSE = Object.freeze({ kind: 'close' })

export function openAuthentication(rooms: AuthenticationRooms): Authentication {
  const { settings, clock, metrics, mechanisms, hidden } = rooms
  const logger = rooms.logger.named('kafka.authentication')
  const failedLogins = new FailedLogins(clock, logger, settings.get('broker.failed-authentication-delay'))
  const maxSessionMs = settings.get('broker.sasl.oauth.max-reauth')
  const advertised = mechanisms.map(({ name }) => name)
  const known = new Map([...mechanisms, ...hidden].map(each => [each.name, each]))
  /** Mechanisms whose tokens may also come without Kafka headers. */
  const raw = new Set(advertised.filter(name => !NEVER_RAW.has(name)))
  /** Failures that are counted and logged, before the step that ends the exchange. */
  const told = new WeakSet<Failure>()

  interface Failed {
    readonly refusal: Refusal
    /** For the log. */
    readonly why: string
    /** The name that the client claims. */
    readonly claimed?: string | null
    /** For the log, and as a label if the broker knows it; null if the client chose none. */
    readonly mechanism: string | null
  }

  function tell(session: Session, { refusal, why, claimed = null, mechanism }: Failed): void {
    count(mechanism !== null && known.has(mechanism) ? mechanism : refusal.name)
    failedLogins.tell('an authentication failed', {
      ...lineOf(session),
      mechanism: mechanism === null ? undefined : cut(mechanism),
      user: claimed === null ? undefined : cut(claimed),
      why,
    })
  }

  async function fail(session: Session, failure: Failed) {
    tell(session, failure)
    return await close(session, failure.refusal)
  }

  async function close(session: Session, refusal: Refusal) {
    end(session)
    return (await failedLogins.delay(session.address)) ? ({ kind: 'refused', refusal, closes: true } as const) : CLOSE
  }

  function reject(session: Session, mechanism: string, why: string, message: string, claimed: string | null = null) {
    return fail(session, failureOf(mechanism, { message, why, claimed }))
  }

  /** The broker cannot decide, because of an outside failure or its own defect. */
  function giveUp(session: Session, mechanism: string, error: unknown): typeof CLOSE {
    end(session)
    const kind = error instanceof Error ? error.name : 'Error'
    count(kind)
    const limited = logger.limited(`undecided ${mechanism} ${kind}`, LOG_EVERY_MS)
    const fields = { ...lineOf(session), mechanism, error }
    const isOutside =
      isStoreFailure(error) || error instanceof ProviderUnavailable || error instanceof AuthenticationBusy
    if (isOutside) {
      limited.warn('a connection is closed, because its client cannot be authenticated now', fields)
    } else limited.error('a connection is closed, because a defect in the broker ended its authentication', fields)
    return CLOSE
  }

  /** Answers a step at the wrong time. */
  async function refuseStep(session: Session, { state }: SaslChange, what: string) {
    const refusal = because(ILLEGAL_SASL_STATE, what)
    if (state.at !== 'failed') return { kind: 'refused', refusal, closes: false } as const
    return await fail(session, { refusal, why: what, mechanism: mechanismOf(session.sasl) })
  }

  function count(errorType: string): void {
    metrics.count('svc.broker.failures', { operation: 'auth', error_type: errorType })
  }

  /** Gives the session the identity that its mechanism has found. */
  async function accept(
    session: Session,
    mechanism: string,
    client: Authenticated,
    token: Uint8Array,
  ): Promise<TokenAnswer> {
    const refuse = (why: string, message: string) => reject(session, mechanism, why, message, client.name)
    const { name, tenant, validUntilMs } = client
    if (name === '' || name.length > LONGEST_NAME || FORBIDDEN_IN_NAMES.test(name)) {
      const takes = `a name has 1 to ${LONGEST_NAME} characters, and no control character and no ':'`
      return await refuse('the name cannot be a principal', `The name cannot be used: ${takes}.`)
    }
    // A proof that only the clock skew makes valid ends at once. A lifetime of 0 would mean a session without an end.
    const lifetimeMs =
      validUntilMs === null ? null : Math.max(1, Math.floor(Math.min(validUntilMs - clock.now(), maxSessionMs)))
    const principal = `User:${name}`
    const before = session.principal
    const isAgain = session.sasl.at === 'exchange' && session.sasl.before !== null
    const change = prove(session.sasl, principal, lifetimeMs !== null)
    if (change.objection !== null) {
      const named = [before, principal].map(each => each.replace(':', '.')).join(': ')
      return await refuse('another principal', `Cannot change principals during re-authentication from ${named}`)
    }
    const policy = await rooms.resolve(client)
    const deadlineMs = lifetimeMs === null ? null : clock.monotonic() + lifetimeMs
    session.identify({ principal, tenant, deadlineMs, policy, isBroker: client.isBroker })
    session.sasl = change.state
    session.exchange = null
    metrics.count('svc.broker.authentications', { mechanism, kind: isAgain ? 'again' : 'first' })
    if (logger.isEnabled('DEBUG')) {
      logger.debug(isAgain ? 'a client has authenticated again' : 'a client has authenticated', {
        ...lineOf(session),
        mechanism,
        principal,
        tenant: tenant ?? undefined,
        lifetimeMs: lifetimeMs ?? undefined,
      })
    }
    return { kind: 'token', token, lifetimeMs: lifetimeMs ?? 0 }
  }

  return {
    advertised,
    timeoutMs: settings.get('broker.authentication-timeout'),

    async choose(session, mechanism, version) {
      const isServed = version === 0 ? raw.has(mechanism) : known.has(mechanism)
      const change = choose(session.sasl, { mechanism, version, isServed, nowMs: clock.monotonic() })
      if (change.objection === 'mechanism') {
        const why = known.has(mechanism)
          ? 'unsupported mechanism: its tokens must come in SaslAuthenticate requests'
          : 'unsupported mechanism'
        return await fail(session, { refusal: UNSUPPORTED_SASL_MECHANISM, why, mechanism })
      }
      if (change.objection !== null) return await refuseStep(session, change, 'SaslHandshake is not expected now')
      try {
        session.exchange = known.get(mechanism)!.begin(session.channel)
        session.sasl = change.state
        return { kind: 'chosen' }
      } catch (error) {
        return giveUp(session, mechanism, error)
      }
    },

    async take(session, token) {
      const { sasl } = session
      const change = takeToken(sasl)
      if (sasl.at !== 'exchange') return await refuseStep(session, change, 'SaslAuthenticate is not expected now')
      const { mechanism, before } = sasl
      if (change.objection === 'other-mechanism') {
        const message = `SASL mechanism '${mechanism}' requested by client is not supported for re-authentication of mechanism '${before?.mechanism}'`
        return await reject(session, mechanism, 'another mechanism', message, session.principal)
      }
      if (change.objection !== null) {
        return await reject(session, mechanism, 'too many tokens', `The exchange has more than ${MOST_TOKENS} tokens.`)
      }
      session.sasl = change.state
      try {
        const step = await session.exchange!.step(token)
        if (step.kind === 'failure') {
          const failure = failureOf(mechanism, step)
          return told.has(step) ? await close(session, failure.refusal) : await fail(session, failure)
        }
        if (step.kind === 'continue') {
          const { failed } = step
          if (failed !== undefined) {
            tell(session, failureOf(mechanism, failed))
            told.add(failed)
          }
          return { kind: 'token', token: step.token, lifetimeMs: 0 }
        }
        return await accept(session, mechanism, step.client, step.token)
      } catch (error) {
        return giveUp(session, mechanism, error)
      }
    },
  }
}

function failureOf(mechanism: string, { message, why, claimed }: Omit<Failure, 'kind'>) {
  return { refusal: because(SASL_AUTHENTICATION_FAILED, message), why, claimed, mechanism }
}

function mechanismOf(state: SaslState): string | null {
  return state.at === 'exchange' ? state.mechanism : null
}

function lineOf({ id, address, listener }: Session) {
  return { connection: id, address, listener: listener.name }
}

function end(session: Session): void {
  session.sasl = FAILED
  session.exchange = null
}
