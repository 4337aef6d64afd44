// The headers of every answer of the HTTP port, whichever face answers. The console has the same policy.

export const SECURITY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
})

/**
 * The header that keeps a browser on TLS. It is sent only over TLS, because browsers ignore it elsewhere (RFC 6797,
 * 7.2).
 */
const TRANSPORT_SECURITY = Object.freeze({ 'strict-transport-security': 'max-age=31536000' })

/**
 * Returns the headers. `scheme` is the one by which the client reached this server or a trusted proxy in front of it,
 * `host` is the Host header. Browsers ignore Cross-Origin-Opener-Policy over plain HTTP from another machine, and write
 * an error into their console, so that it is left out there (HTML, 7.1.3).
 */
export function securityHeaders(scheme: string, host = ''): Readonly<Record<string, string>> {
  if (scheme === 'https') return { ...SECURITY_HEADERS, ...TRANSPORT_SECURITY }
  if (LOOPBACK.test(host)) return SECURITY_HEADERS
  const { 'cross-origin-opener-policy': _, ...others } = SECURITY_HEADERS
  return others
}

/** The hosts that browsers trust without TLS (W3C Secure Contexts, 3.1). */
const LOOPBACK = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i
