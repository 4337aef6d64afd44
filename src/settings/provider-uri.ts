// Which addresses of an identity provider the broker trusts: https, and plain http only where it never leaves the
// machine. One rule for the settings at start and for what a provider's own document names later.

import { isLoopback } from './endpoints.ts'
import { isHttpUri } from './grammar.ts'

/**
 * Completes "… got <uri>, but it "; null when there is no objection. For keys, tokens and whatever else is asked for.
 */
export function providerUriObjection(text: string): string | null {
  if (!isHttpUri(text)) return 'is not an https:// URI without credentials and without #'
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
    ? null
    : 'is plain http, which is taken from loopback addresses only; use https'
}

/** The same for an issuer, which has no query either (OpenID Connect Discovery 1.0, section 3). */
export function issuerObjection(text: string): string | null {
  return providerUriObjection(text) ?? (text.includes('?') ? 'has a query, which an issuer has not' : null)
}

/** The same for the address that the provider sends the browser back to. It is our own, so http is allowed. */
export function redirectUriObjection(text: string): string | null {
  return text.includes('?') ? 'has a query, which belongs to the answer of the provider' : null
}
