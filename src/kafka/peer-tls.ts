// Opens a TLS connection to another broker and accepts only a certificate of that broker's record in the store. So no
// authority has to sign it, and its names do not matter. The chain and the dates are still verified. If the other side
// demands a client certificate, this broker presents the certificate of its own listeners.

import { connect, type TLSSocket } from 'node:tls'
import type { Endpoint } from '../cluster/broker-record.ts'
import { fingerprintOf } from '../cluster/trust.ts'
import type { ServerCertificate } from '../tls/server-certificate.ts'

/** `pinned` are certificates in base64 of DER. Throws if the list is empty, or if one cannot be read. */
export function connectPinned(
  { host, port }: Endpoint,
  pinned: readonly string[],
  own: ServerCertificate | null,
): TLSSocket {
  // Without any, TLS would trust the authorities of the system.
  if (pinned.length === 0) throw new Error('the record has no certificate')
  const { cert, key } = own?.secureOptions ?? {}
  return connect({
    host,
    port,
    cert,
    key,
    // Not even the environment of the process switches this off (NODE_TLS_REJECT_UNAUTHORIZED).
    rejectUnauthorized: true,
    // In TLS 1.2 two connections can have the same exporter value (RFC 7627).
    minVersion: 'TLSv1.3',
    ca: pinned.map(
      each => `-----BEGIN CERTIFICATE-----\n${each.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    ),
    // The record has the certificate itself and not its issuer.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, { fingerprint256 }) =>
      pinned.some(each => fingerprintOf(each) === fingerprint256) ? undefined : new NotPinned(fingerprint256),
  }).setNoDelay(true)
}

class NotPinned extends Error {
  readonly code = 'NOT_PINNED'

  constructor(fingerprint256: string) {
    super(`the certificate with the SHA-256 fingerprint ${fingerprint256} is not in the record of the broker`)
  }
}

const OTHER = 'presents another certificate than the one in its record in the store'

/** By the code of the error of a TLS connection: the end of a sentence about the other broker. */
const PHRASES: Readonly<Record<string, string>> = {
  NOT_PINNED: OTHER,
  DEPTH_ZERO_SELF_SIGNED_CERT: OTHER,
  SELF_SIGNED_CERT_IN_CHAIN: OTHER,
  UNABLE_TO_GET_ISSUER_CERT: OTHER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: OTHER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: OTHER,
  CERT_HAS_EXPIRED: 'presents a certificate that has expired',
  CERT_NOT_YET_VALID: 'presents a certificate that is not valid yet',
}

/** Returns the end of a sentence about a broker with which the TLS handshake failed. */
export function phraseOf(error: Error & { readonly code?: string }): string {
  return PHRASES[error.code ?? ''] ?? 'does not complete the TLS handshake'
}
