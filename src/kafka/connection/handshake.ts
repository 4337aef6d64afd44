// Makes accepted sockets of TLS listeners into encrypted ones, and decides about client certificates, before any Kafka
// byte is read. It counts no connections and knows no frame: connections.ts does the one and connection.ts the other.
//
//   accepted ──> handshake in progress ──> secured ──> the Kafka protocol
//                        │                    (certificate accepted)
//                        └──> failed: closed, with a reason, unless the client has just left
//
// OpenSSL checks the chain, the times and the purpose of a client's certificate. The broker decides afterwards, because
// a certificate that no authority has signed may be the pinned one of another broker (`acceptsPeer`). So a client with
// a wrong certificate sees that the connection is closed, and no TLS alert.

import type { Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Settings } from '../../settings/settings.ts'
import { distinguishedName } from '../../tls/distinguished-name.ts'
import type { ServerCertificate } from '../../tls/server-certificate.ts'
import { openHandshakeLine } from './handshake-line.ts'
import { watchUnaskedBytes } from './unasked-bytes.ts'

export interface HandshakeFailure {
  /** Words for the metric of failures. */
  readonly operation: 'connection' | 'auth'
  readonly reason: 'plaintext' | 'tls-handshake' | 'tls-handshake-timeout' | 'client-certificate' | 'tls-flood'
  /** A sentence for the log. It has no byte that the client chose. */
  readonly message: string
}

export interface HandshakeTold {
  /** The handshake is complete and the certificate of the client accepted. */
  secured(socket: TLSSocket, client: ClientCertificate): void
  /** The connection is closed. The failure is null if the client left, or if the broker ends. */
  failed(failure: HandshakeFailure | null): void
  /** A connection that was secured is closed because of its TLS messages, such as endless requests for new keys. */
  flooded(failure: HandshakeFailure): void
}

/** The certificate that a client has shown. */
export interface ClientCertificate {
  /**
   * The distinguished name. Null if no authority of the trust file has signed the certificate, or if the client has
   * shown no certificate.
   */
  readonly name: string | null
}

export interface HandshakeRooms {
  readonly settings: Settings
  readonly clock: Clock
  readonly certificate: ServerCertificate
  /**
   * Returns whether a client certificate is accepted although no authority has signed it, by its SHA-256 fingerprint
   * (upper-case hex with colons).
   */
  readonly acceptsPeer: (fingerprint256: string) => boolean
}

export interface Handshakes {
  /** The number of handshakes in progress. */
  readonly size: number
  /** Takes a socket that was accepted with pauseOnConnect. */
  begin(accepted: Socket, told: HandshakeTold): void
  /** Closes the connections whose handshake is in progress. */
  destroy(): void
}

/**
 * The longest time until a client has sent its first byte, and then again for its handshake, if
 * `broker.authentication-timeout` is not shorter. The time in line between the two does not count.
 */
const HANDSHAKE_MS = 10_000

/** The accepted socket below an encrypted one. Node does not document the field. */
interface Inner {
  readonly _parent: Socket
}

interface Handshake {
  readonly told: HandshakeTold
  timer: Timer
}

export function openHandshakes({ settings, clock, certificate, acceptsPeer }: HandshakeRooms): Handshakes {
  const authenticationMs = settings.get('broker.authentication-timeout')
  const timeoutMs = Math.min(HANDSHAKE_MS, authenticationMs)
  const timedOut: HandshakeFailure = {
    operation: 'connection',
    reason: 'tls-handshake-timeout',
    message: `the TLS handshake was not complete after ${timeoutMs} ms`,
  }
  const isCertificateRequired = settings.get('broker.client-auth-required')
  const inProgress = new Map<Socket, Handshake>()
  const watch = watchUnaskedBytes(clock)
  const line = openHandshakeLine(clock)
  // This server listens to no port. Handshakes are made for it, so that they share its context and its ticket keys. A
  // new context has new keys. So no session from before can be resumed when the certificate has changed.
  const server = createServer({
    ...certificate.secureOptions,
    requestCert: isCertificateRequired,
    rejectUnauthorized: false,
  })
  certificate.watch(secureOptions => server.setSecureContext(secureOptions))
  server.on('tlsClientError', (error: OpenSslError, socket) => fail(accepted(socket), failureOf(error)))
  server.on('secureConnection', socket => {
    const below = accepted(socket)
    const told = take(below)
    if (told === undefined) return
    const judged = isCertificateRequired ? judge(socket) : { name: null }
    if ('reason' in judged) {
      socket.destroy()
      told.failed(judged)
      return
    }
    watch(socket, () => {
      told.flooded(FLOODED)
      socket.destroy()
    })
    told.secured(socket, judged)
  })

  function take(socket: Socket): HandshakeTold | undefined {
    const found = inProgress.get(socket)
    found?.timer.cancel()
    inProgress.delete(socket)
    line.remove(socket)
    return found?.told
  }

  function fail(socket: Socket, failure: HandshakeFailure | null): void {
    const told = take(socket)
    socket.destroy()
    told?.failed(failure)
  }

  function judge(socket: TLSSocket): ClientCertificate | HandshakeFailure {
    const shown = socket.getPeerX509Certificate()
    if (shown === undefined) return refusal('the client has shown no certificate')
    if (!socket.authorized)
      return acceptsPeer(shown.fingerprint256)
        ? { name: null }
        : refusal(`the certificate of the client is refused: ${sentenceOf(String(socket.authorizationError))}`)
    try {
      return { name: distinguishedName(shown.raw) }
    } catch (error) {
      return refusal(`the name in the certificate of the client cannot be read: ${(error as Error).message}`)
    }
  }

  return {
    get size() {
      return inProgress.size
    },
    begin(socket, told) {
      const acceptedAtMs = clock.monotonic()
      const failIn = (ms: number) =>
        clock.timer(ms, () => {
          const found = inProgress.get(socket)!
          const leftMs = acceptedAtMs + authenticationMs - clock.monotonic()
          // The client has done its part if it only waits for its turn.
          if (line.isWaiting(socket) && leftMs > 0) found.timer = failIn(leftMs)
          else fail(socket, timedOut)
        })
      inProgress.set(socket, { told, timer: failIn(timeoutMs) })
      socket.on('close', () => fail(socket, null))
      line.add(socket, () => {
        const found = inProgress.get(socket)!
        found.timer.cancel()
        found.timer = failIn(Math.min(timeoutMs, acceptedAtMs + authenticationMs - clock.monotonic()))
        server.emit('connection', socket)
      })
    },
    destroy() {
      for (const socket of [...inProgress.keys()]) fail(socket, null)
    },
  }
}

function accepted(socket: TLSSocket): Socket {
  return (socket as unknown as Inner)._parent
}

interface OpenSslError extends NodeJS.ErrnoException {
  /** OpenSSL's own words, such as `no shared cipher`. */
  readonly reason?: string
}

/** Codes of OpenSSL for first bytes that are not TLS. */
const PLAINTEXT: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_HTTPS_PROXY_REQUEST',
])

/** Matches the alerts that a client sends if it does not accept a certificate (RFC 8446, section 6.2). */
const REFUSED_CERTIFICATE =
  /alert (unknown ca|bad certificate|certificate (unknown|expired|revoked)|unsupported certificate)/

function failureOf({ code = '', reason }: OpenSslError): HandshakeFailure | null {
  if (PLAINTEXT.has(code)) {
    const message = 'plaintext on a TLS port of the Kafka protocol: this listener uses TLS, the client does not'
    return { operation: 'connection', reason: 'plaintext', message }
  }
  // Errors of the socket: the client has closed or reset the connection.
  if (reason === undefined) return null
  // OpenSSL names an alert only if the other side has sent it.
  const refused = REFUSED_CERTIFICATE.test(reason)
    ? ', so the client does not accept the certificate of the broker'
    : ''
  const message = `the TLS handshake has failed: ${reason}${refused}`
  return { operation: 'connection', reason: 'tls-handshake', message }
}

const FLOODED: HandshakeFailure = {
  operation: 'connection',
  reason: 'tls-flood',
  message: 'the client asks for new TLS keys again and again, and takes no answer',
}

function refusal(message: string): HandshakeFailure {
  return { operation: 'auth', reason: 'client-certificate', message }
}

const SENTENCES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'svc.broker.trust-cert-file does not have its authority',
  UNABLE_TO_GET_ISSUER_CERT: 'svc.broker.trust-cert-file does not have its authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'svc.broker.trust-cert-file does not have its authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'svc.broker.trust-cert-file does not have its authority',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  INVALID_PURPOSE: 'it is not for clients (extended key usage)',
}

/** Returns the words for a code of OpenSSL's check; an uncommon code is its own word. */
function sentenceOf(code: string): string {
  return SENTENCES[code] ?? code
}
