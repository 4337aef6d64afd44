// The certificate authorities that a command trusts for https: those of Node, those of this machine, and the one that
// the operator names.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { CommandFailed, EXIT } from './exit-status.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Makes this process trust the authorities. Throws CommandFailed if the file contains no certificate. */
export function trustAuthorities(file: string | undefined): void {
  const named = file === undefined ? [] : readAuthorities(file)
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system'), ...named])
}

function readAuthorities(file: string): readonly string[] {
  const refuse = (why: string, cause: unknown) =>
    new CommandFailed(EXIT.USAGE, `--ca-file: ${JSON.stringify(file)} ${why}`, { cause })
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`, error)
  }
  const found = text.match(PEM) ?? []
  try {
    for (const each of found) new X509Certificate(each)
  } catch (error) {
    throw refuse('holds a certificate that cannot be read', error)
  }
  if (found.length === 0) throw refuse('holds no PEM certificate', null)
  return found
}

const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const INVALID: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** The codes of OpenSSL for an answer that is not TLS. */
const NO_TLS: ReadonlySet<unknown> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

/** The codes for a connection that the server closed. A TLS port does that if the client does not speak TLS. */
const CLOSED: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET'])

/**
 * Returns in one sentence why a request to `url` failed. If TLS is the reason, the sentence also says how to correct
 * it.
 */
export function failureOf(url: string, error: unknown, reason: string): string {
  if (hasCode(error, UNTRUSTED))
    return `no authority that is trusted signed the certificate of ${url}; name one with --ca-file: ${reason}`
  if (hasCode(error, INVALID)) return `the certificate of ${url} is not valid: ${reason}`
  if (hasCode(error, NO_TLS)) return `the port of ${url} does not speak TLS; use http:// in place of https://`
  const isPlain = url.startsWith('http:') && hasCode(error, CLOSED)
  return `no broker answers at ${url}: ${reason}${isPlain ? '; if the port speaks TLS, use https://' : ''}`
}

/** Returns whether the error or one of its causes has such a code. */
function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return codes.has(code) || (cause instanceof Error && hasCode(cause, codes))
}
