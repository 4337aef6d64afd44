// Who may pass, for every route by its `needs`, decided once. What is wrong with a request that asks for a change from another
// site is decided before anybody is looked up (OWASP: cross-site request forgery; the cookie alone proves nothing).

import { type Accounts, ANYBODY, type SignInRefusal } from '../auth/accounts.ts'
import type { Identity } from '../auth/identity.ts'
import { type Clock, within } from '../base/clock.ts'
import { isStoreFailure } from '../store/store.ts'
import { type Problem, problem } from './problems.ts'
import { isMutation, type Needs, type Route } from './route.ts'
import { sessionTokenIn, visitorOf } from './session-cookie.ts'

/** What of a request decides. */
export interface Caller {
  readonly address: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly cookies: Readonly<Record<string, string | undefined>>
  header(name: string): string | undefined
  /** Aborts when nobody waits for the answer any more. */
  readonly ended: AbortSignal
}

/**
 * Why a change may not be asked for in this way, or null. It must come from a page of this server, or from a program, which
 * sends neither header; and whatever it brings must be called JSON, which no form of another site can do.
 */
export function checkOrigin(route: Pick<Route, 'method'>, caller: Caller): Problem | null {
  if (!isMutation(route)) return null
  const site = caller.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return problem('CROSS_SITE', `Sec-Fetch-Site is ${JSON.stringify(site)}; a change takes same-origin.`)
  const origin = caller.header('origin')
  if (origin !== undefined && !isOwn(origin, caller))
    return problem(
      'CROSS_SITE',
      `The Origin ${JSON.stringify(origin)} is not this server, ${caller.scheme}://${caller.host}.`,
    )
  const type = caller.header('content-type')
  if (type !== undefined ? !JSON_TYPE.test(type) : hasBody(caller))
    return problem(
      'UNSUPPORTED_MEDIA_TYPE',
      `The Content-Type is ${type === undefined ? 'missing' : JSON.stringify(type)}; a body takes application/json.`,
    )
  const encoding = caller.header('content-encoding')
  if (encoding !== undefined && encoding !== 'identity')
    return problem('UNSUPPORTED_MEDIA_TYPE', 'A body takes no Content-Encoding.')
  return null
}

/** RFC 8259 defines no charset, and clients send the one that JSON has anyway. */
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

/** A page that came by https, from a proxy in front that this server knows nothing of, is no worse than one by http. */
function isOwn(origin: string, { scheme, host }: Caller): boolean {
  const given = originOf(origin)
  return given !== null && [scheme, 'https'].some(each => given === originOf(`${each}://${host}`))
}

/** In the one way of writing it: in lower case, and without the port that the scheme has anyway (RFC 6454, 4). Null for what is none. */
function originOf(text: string): string | null {
  const url = URL.parse(text)
  return url !== null && url.href === `${url.origin}/` ? url.origin : null
}

function hasBody(caller: Caller): boolean {
  const length = caller.header('content-length')
  return caller.header('transfer-encoding') !== undefined || (length !== undefined && length !== '0')
}

export interface AccessRooms {
  readonly accounts: Accounts
  readonly clock: Clock
  /** Whoever scrapes the metrics is let in. */
  readonly isScrapeOpen: boolean
}

/** What a route that is for bad times waits for a store to say who calls: as long as health waits for each of its parts. */
const LOOKING_MS = 2_000

/** Who calls, null where that does not matter, or why the route is closed to them. Throws what the store throws. */
export async function admit(
  { needs, method, path, isForBadTimes }: Pick<Route, 'needs' | 'method' | 'path' | 'isForBadTimes'>,
  caller: Caller,
  { accounts, clock, isScrapeOpen }: AccessRooms,
): Promise<Identity | Problem | null> {
  if (!accounts.isSecured) return ANYBODY
  if (needs === 'nobody' || (needs === 'scrape' && isScrapeOpen)) return null
  const looking = takesBasic(needs) ? byBasic(caller, accounts) : bySession(caller, accounts)
  const identity = await (isForBadTimes
    ? within(clock, LOOKING_MS, looking.catch(nobodyWhileAway), () => null)
    : looking)
  if (identity === null || 'kind' in identity) return identity
  if (identity.mustChangePassword && !WAYS_OUT.has(`${method} ${path}`)) return problem('PASSWORD_CHANGE_REQUIRED')
  if ((needs === 'admin' || needs === 'basic-admin') && identity.role !== 'ADMIN') return problem('FORBIDDEN')
  return identity
}

/** What somebody may do who must change the password: that, of which the route itself sees that it is nothing else, and leave. */
const WAYS_OUT: ReadonlySet<string> = new Set(['PUT /api/v1/users/:username', 'POST /api/v1/auth/logout'])

/** By HTTP Basic in place of the session, as the specification has it for the actuator and the OpenAPI document. */
export function takesBasic(needs: Needs): boolean {
  return needs === 'basic-viewer' || needs === 'basic-admin' || needs === 'scrape'
}

/** While the store is away nobody is known. A store that says nothing is away. */
function nobodyWhileAway(error: unknown): null {
  if (isStoreFailure(error)) return null
  throw error
}

async function bySession(caller: Caller, accounts: Accounts): Promise<Identity | Problem> {
  const token = sessionTokenIn(caller.header('cookie'))
  const identity = token === null ? null : await accounts.identify(token, visitorOf(caller.address, caller.header))
  return identity ?? problem('UNAUTHENTICATED', 'A session is required.')
}

async function byBasic(caller: Caller, accounts: Accounts): Promise<Identity | Problem> {
  const headers = { 'www-authenticate': 'Basic realm="ketch", charset="UTF-8"' }
  const given = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(caller.header('authorization') ?? '')
  const [username, password] = splitOnce(Buffer.from(given?.[1] ?? '', 'base64').toString(), ':')
  if (password === null) return problem('UNAUTHENTICATED', 'A username and a password are required.', { headers })
  const visitor = visitorOf(caller.address, caller.header, caller.ended)
  const found = await accounts.checkPassword(username, password, visitor)
  return 'kind' in found ? fromSignIn(found, headers) : found
}

/** Why somebody who named himself is not let in; `headers` go with wrong credentials. */
export function fromSignIn(refusal: SignInRefusal, headers: Readonly<Record<string, string>> = {}): Problem {
  switch (refusal.kind) {
    case 'wrong-credentials':
      return problem('INVALID_CREDENTIALS', undefined, { headers })
    case 'locked-out': {
      const seconds = Math.ceil(refusal.retryAfterMs / 1000)
      const detail = `Too many attempts failed; the next one is looked at in ${seconds} s.`
      return problem('TOO_MANY_REQUESTS', detail, { headers: { 'retry-after': String(seconds) } })
    }
    case 'busy':
      return problem('BUSY')
  }
}

function splitOnce(text: string, at: string): readonly [before: string, after: string | null] {
  const index = text.indexOf(at)
  return index < 0 ? [text, null] : [text.slice(0, index), text.slice(index + at.length)]
}
