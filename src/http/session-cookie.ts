// Writes the cookie that carries a session, and finds it in a request. It does not read the token in the cookie.

import type { Session } from '../auth/console/accounts.ts'
import type { Visitor } from '../auth/console/identity.ts'
import { isLoopback } from '../settings/endpoints.ts'

export const SESSION_COOKIE = 'svc-admin-session'

/** The parts of a request that say where it comes from. */
export interface Origin {
  readonly address: string
  readonly scheme: 'http' | 'https'
}

/**
 * Returns the token of the Cookie header; null if the header has no token, or several: the broker cannot tell which
 * one the client means.
 */
export function sessionTokenIn(header: string | undefined): string | null {
  const prefix = `${SESSION_COOKIE}=`
  const found = (header ?? '').split(';').flatMap(each => {
    const pair = each.trim()
    return pair.startsWith(prefix) ? [pair.slice(prefix.length)] : []
  })
  return found.length === 1 ? found[0]!.replace(/^"(.*)"$/, '$1') : null
}

/**
 * Returns the Set-Cookie header that begins the session. Scripts never see the cookie, other sites cannot send it,
 * and a session that began over TLS stays on TLS.
 */
export function sessionCookie({ token, identity }: Session, scheme: Origin['scheme'], nowMs: number): string {
  const seconds = Math.max(0, Math.ceil(((identity.session?.expiresAtMs ?? nowMs) - nowMs) / 1000))
  return `${SESSION_COOKIE}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure(scheme)}`
}

/** Returns the Set-Cookie header that deletes the cookie. */
export function noSessionCookie(scheme: Origin['scheme']): string {
  return `${SESSION_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secure(scheme)}`
}

/**
 * Returns the attributes of the cookie. It is Lax and not Strict, because a Strict cookie is not sent with the
 * navigation that ends a single sign-on.
 */
function secure(scheme: Origin['scheme']): string {
  return scheme === 'https' ? '; Secure' : ''
}

/** Headers by which proxies and content delivery networks name the client that they pass on. */
const FORWARDING = Object.freeze([
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
])

/** Matches a Host header that names this machine, by names that DNS cannot give to another site. */
const LOOPBACK_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i

/**
 * Returns the visitor behind a request. A client that comes by loopback through a proxy is not on this machine. Nor
 * is a page whose name was made to resolve to this machine after it was loaded (DNS rebinding): the browser sends
 * that name as the Host.
 */
export function visitorOf(address: string, header: (name: string) => unknown, ended?: AbortSignal): Visitor {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const isDirect = LOOPBACK_HOST.test(String(header('host'))) && FORWARDING.every(name => header(name) === undefined)
  return { address: plain, isLocal: isLoopback(plain) && isDirect, ended }
}
