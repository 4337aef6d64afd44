// Decides which addresses of an identity provider the broker trusts: https, and plain http only on a loopback
// address. The same rule applies to the settings at startup and later to the addresses in the provider's own
// document.

import { isLoopback } from './endpoints.ts'
import { isHttpUri } from './grammar.ts'

/** The path below an issuer that has its discovery document (OpenID Connect Discovery 1.0, section 4). */
const DISCOVERY_PATH = '/.well-known/openid-configuration'

/**
 * Returns the objection to an address of the provider, such as that of its keys or tokens; null if the broker accepts
 * it. It completes "… got <uri>, but it ".
 */
export function providerUriObjection(text: string): string | null {
  if (!isHttpUri(text)) return 'is not an https:// URI without credentials and without #'
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
    ? null
    : 'is plain http, which is taken from loopback addresses only; use https'
}

/** Returns the objection to an issuer, which must not have a query either (OpenID Connect Discovery 1.0, section 3). */
export function issuerObjection(text: string): string | null {
  const objection = providerUriObjection(text)
  if (objection !== null) return objection
  if (text.includes('?')) return 'has a query, which an issuer has not'
  return text.endsWith(DISCOVERY_PATH)
    ? `is a discovery document; the issuer is the part before ${DISCOVERY_PATH}`
    : null
}

/**
 * Returns the objection to the address to which the provider sends the browser back. It is our own, so http is
 * allowed.
 */
export function redirectUriObjection(text: string): string | null {
  return text.includes('?') ? 'has a query, which belongs to the answer of the provider' : null
}
