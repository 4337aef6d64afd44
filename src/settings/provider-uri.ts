// Decides which addresses of an identity provider the broker trusts: https, and plain http only on a loopback
// address. The same rule applies to the settings at startup and later to the addresses in the provider's own
// document.

import { isLoopback } from './endpoints.ts'
import { isHttpUri } from './grammar.ts'

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
  return providerUriObjection(text) ?? (text.includes('?') ? 'has a query, which an issuer has not' : null)
}

/**
 * Returns the objection to the address to which the provider sends the browser back. It is our own, so http is
 * allowed.
 */
export function redirectUriObjection(text: string): string | null {
  return text.includes('?') ? 'has a query, which belongs to the answer of the provider' : null
}
