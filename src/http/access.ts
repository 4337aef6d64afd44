// Decides which callers may call a route, by its `needs`. A change that another site sends is refused before the
// caller is identified (OWASP: cross-site request forgery; the cookie alone proves nothing).

import { isUtf8 } from 'node:buffer'
import { type Accounts, ANYBODY, type SignInRefusal } from '../auth/console/accounts.ts'
import type { Identity } from '../auth/console/identity.ts'
import { type Clock, within } from '../base/clock.ts'
import { isStoreFailure } from '../store/store.ts'
import { type Problem, problem } from './problems.ts'
import { isMutation, type Route } from './route.ts'
import { sessionTokenIn, visitorOf } from './session-cookie.ts'

/** The parts of a request that decide whether it is allowed. */
export interface Caller {
  readonly address: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly cookies: Readonly<Record<string, string | undefined>>
  /** The parameters of the query, unchecked. */
  readonly query: Readonly<Record<string, unknown>>
  header(name: string): string | undefined
  /** Aborts when the client no longer waits for the answer. */
  readonly ended: AbortSignal
}

/**
 * Returns why a change is refused because of its origin, or null. A change must come from a page of this server, or
 * from a program, which sends neither Sec-Fetch-Site nor Origin.
 */
export function checkOrigin(route: Pick<Route, 'method'>, caller: Caller): Problem | null {
  return isMutation(route) ? checkSite(caller) : null
}

/** Returns why a request is refused because a page of another site sent it, or null. */
export function checkSite(caller: Caller): Problem | null {
  const site = caller.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return problem('CROSS_SITE', `Sec-Fetch-Site is ${JSON.stringify(site)}, and must be same-origin.`)
  const origin = caller.header('origin')
  if (origin !== undefined && !isOwn(origin, caller))
    return problem(
      'CROSS_SITE',
      `The Origin ${JSON.stringify(origin)} is not this server, ${caller.scheme}://${caller.host}.`,
    )
  return null
}

/**
 * Returns why the body of a change must not be read, from its headers, or null. The type of the body must be one that
 * the face reads, and no form of another site can send such a type. An empty body needs no type, and no body does if
 * the type is optional.
 */
export function checkBodyType(
  route: Pick<Route, 'method'>,
  caller: Pick<Caller, 'header'>,
  { types, isOptional = false }: { readonly types: readonly string[]; readonly isOptional?: boolean },
): Problem | null {
  if (!isMutation(route)) return null
  const type = caller.header('content-type')
  if (type !== undefined ? !types.some(each => isTyped(type, each)) : !isOptional && hasBody(caller))
    return problem(
      'UNSUPPORTED_MEDIA_TYPE',
      `The Content-Type is ${type === undefined ? 'missing' : JSON.stringify(type)}; a body takes ${types.join(' or ')}.`,
    )
  const encoding = caller.header('content-encoding')
  if (encoding !== undefined && encoding !== 'identity')
    return problem('UNSUPPORTED_MEDIA_TYPE', 'A body takes no Content-Encoding.')
  return null
}

/**
 * Returns whether the Content-Type is this type. RFC 8259 defines no charset, but clients send UTF-8, which is the
 * charset of JSON.
 */
function isTyped(given: string, type: string): boolean {
  const [, media, parameters] = /^([^\s;]*)\s*(.*)$/s.exec(given.trimEnd())!
  return media!.toLowerCase() === type && /^(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(parameters!)
}

/**
 * Returns whether the origin is this server, also by https: a proxy that this server does not know may have served
 * the page by https. Such a page is as good as one by http.
 */
function isOwn(origin: string, { scheme, host }: Caller): boolean {
  const given = originOf(origin)
  return given !== null && [scheme, 'https'].some(each => given === originOf(`${each}://${host}`))
}

/**
 * Returns the origin in one spelling: lower case, and without the default port of the scheme (RFC 6454, 4); null if
 * the text is not an origin.
 */
function originOf(text: string): string | null {
  const url = URL.parse(text)
  return url !== null && url.href === `${url.origin}/` ? url.origin : null
}

function hasBody(caller: Pick<Caller, 'header'>): boolean {
  const length = caller.header('content-length')
  return caller.header('transfer-encoding') !== undefined || (length !== undefined && length !== '0')
}

export interface AccessRooms {
  readonly accounts: Accounts
  readonly clock: Clock
  /** True if any client may read the scrape of the metrics. */
  readonly isScrapeOpen: boolean
}

/**
 * The time in ms that a route for outages waits for the store to identify the caller: as long as health waits for
 * each of its parts.
 */
const LOOKING_MS = 2_000

/** Identifies the caller for a face. Throws what the store throws. */
export type Authenticate = (caller: Caller, accounts: Accounts) => Promise<Identity | Problem>

/**
 * Resolves with the caller, null if the route does not need one, or the problem if the caller may not call the route.
 * Throws what the store throws.
 */
export async function admit(
  { needs, method, path, isForBadTimes }: Pick<Route, 'needs' | 'method' | 'path' | 'isForBadTimes'>,
  caller: Caller,
  { accounts, clock, isScrapeOpen }: AccessRooms,
  authenticate: Authenticate,
): Promise<Identity | Problem | null> {
  if (!accounts.isSecured) return ANYBODY
  if (needs === 'anybody' || (needs === 'scrape' && isScrapeOpen)) return null
  const looking = authenticate(caller, accounts)
  const identity = await (isForBadTimes
    ? within(clock, LOOKING_MS, looking.catch(unknownWhileAway), () => null)
    : looking)
  if (identity === null || 'kind' in identity) return identity
  if (identity.mustChangePassword && !WAYS_OUT.has(`${method} ${path}`)) return problem('PASSWORD_CHANGE_REQUIRED')
  if ((needs === 'admin' || needs === 'basic-admin') && identity.role !== 'ADMIN') {
    return problem('FORBIDDEN', `The role of this user is ${identity.role}; it must be ADMIN.`)
  }
  return identity
}

/**
 * The routes for a user who must change the password: the change, whose route checks that it changes nothing else,
 * and signing out.
 */
const WAYS_OUT: ReadonlySet<string> = new Set(['PUT /api/v1/users/:username', 'POST /api/v1/auth/logout'])

/** Returns null for a failure of the store, because no caller can be identified then. Throws any other error. */
export function unknownWhileAway(error: unknown): null {
  if (isStoreFailure(error)) return null
  throw error
}

/** Resolves to the caller whom the session cookie names; null without a session. Throws what the store throws. */
export async function sessionOf(
  address: string,
  header: (name: string) => unknown,
  accounts: Accounts,
): Promise<Identity | null> {
  const token = sessionTokenIn(header('cookie') as string | undefined)
  return token === null ? null : await accounts.identify(token, visitorOf(address, header))
}

/** Identifies the caller by the session cookie. */
export async function bySession(caller: Caller, accounts: Accounts): Promise<Identity | Problem> {
  return (
    (await sessionOf(caller.address, caller.header, accounts)) ?? problem('UNAUTHENTICATED', 'A session is required.')
  )
}

/** Identifies the caller by HTTP Basic, which the specification requires for the actuator and the OpenAPI document. */
export async function byBasic(caller: Caller, accounts: Accounts): Promise<Identity | Problem> {
  const given = basicOf(caller)
  if (given === null)
    return problem('UNAUTHENTICATED', 'A username and a password are required.', { headers: BASIC_CHALLENGE })
  const visitor = visitorOf(caller.address, caller.header, caller.ended)
  const found = await accounts.checkPassword(given.username, given.password, visitor)
  return 'kind' in found ? fromSignIn(found, BASIC_CHALLENGE) : found
}

/** The headers of an answer that asks for HTTP Basic. */
export const BASIC_CHALLENGE = Object.freeze({ 'www-authenticate': 'Basic realm="ketch", charset="UTF-8"' })

/** Returns the name and the password of HTTP Basic (RFC 7617); null without them, or if they are not UTF-8. */
export function basicOf(caller: Caller): { readonly username: string; readonly password: string } | null {
  const given = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(caller.header('authorization') ?? '')
  const bytes = Buffer.from(given?.[1] ?? '', 'base64')
  if (!isUtf8(bytes)) return null
  const [username, password] = splitOnce(bytes.toString(), ':')
  return password === null ? null : { username, password }
}

/**
 * Returns the scheme of the Authorization header in lower case, and the text behind it; null without the header. A
 * header has up to 80 KB, and anybody may send it: the time that this takes must grow no faster than its length.
 */
export function credentialsOf(
  caller: Pick<Caller, 'header'>,
): { readonly scheme: string; readonly text: string } | null {
  const [, scheme, text] = /^(\S+)(.*)$/s.exec((caller.header('authorization') ?? '').trim()) ?? []
  return scheme === undefined ? null : { scheme: scheme.toLowerCase(), text: text!.trim() }
}

/** Returns the problem for a refused name and password. `headers` are sent if the credentials are wrong. */
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
