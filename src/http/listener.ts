// The sockets of the HTTP port: its addresses, with or without TLS, the limits for clients, and the drain. It knows no
// path.

import { lookup } from 'node:dns/promises'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerCertificate } from '../tls/server-certificate.ts'
import { type HttpConnections, watchConnections } from './connections.ts'
import { PLACE_LIMITS, type PlaceLimits, type Places } from './places.ts'

// An import of these two reads every name that they export, which loads Node's HTTP client: 3 MB that a broker keeps.
const { createServer } = process.getBuiltinModule('node:http')
const { createServer: createSecureServer } = process.getBuiltinModule('node:https')

/** The limits for clients. */
export interface HttpLimits extends PlaceLimits {
  /**
   * The time in ms for a TLS handshake and for the head of a request, and the time for the whole request. A request
   * that takes longer is answered 408.
   */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** The time in ms between two checks of the connections against these limits. */
  readonly checkIntervalMs: number
  /**
   * The most bytes of a request's line and headers; more are answered 431. That is Node's own 16 KB, and 64 KB for
   * cookies: a browser also sends the cookies of every other server on the host, and these must not prevent a user
   * from signing in here.
   */
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
  /** The most bytes of a body, unless the route has its own limit; more are answered 413. */
  readonly bodyBytes: number
  /** The time in ms between two checks of the session of a client that reads a stream. */
  readonly recheckMs: number
  /** A client that reads nothing of a waiting answer for this time in ms is cut off (connections.ts). */
  readonly stallMs: number
}

export const HTTP_LIMITS: HttpLimits = Object.freeze({
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  maxHeaderBytes: (16 + 64) * 1024,
  maxHeaders: 100,
  bodyBytes: 1024 * 1024,
  ...PLACE_LIMITS,
  recheckMs: 5_000,
  stallMs: 60_000,
})

/**
 * The time in ms for which a connection without a request stays open. It is longer than proxies keep one, so that
 * they close it first.
 */
const KEEP_ALIVE_MS = 72_000

export interface HttpListenerRooms {
  readonly limits: HttpLimits
  readonly places: Places
  /** Null without TLS. */
  readonly certificate: ServerCertificate | null
  /** Answers a connection whose bytes are not a valid request. */
  refuse(error: NodeJS.ErrnoException, socket: Duplex): void
}

export interface HttpListener {
  readonly scheme: 'http' | 'https'
  /** Returns one more server with the same limits, for the requests of this handler. */
  serve(handler: RequestListener): Server
  /**
   * Binds the addresses of `localhost` that `bound` is not bound to, if this machine has them: the name may have two.
   */
  bindTwins(host: string, bound: Server, handler: RequestListener): Promise<void>
  /** Accepts no more connections on the twins, and closes each connection once nothing on it waits for an answer. */
  drain(): void
  destroy(): void
}

export function createListener({ limits, places, certificate, refuse }: HttpListenerRooms): HttpListener {
  const opened: { readonly server: Server; readonly connections: HttpConnections }[] = []
  const twins: Server[] = []

  function serve(handler: RequestListener): Server {
    const options = {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: limits.checkIntervalMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node would refuse in its own form; server.ts refuses instead.
      requireHostHeader: false,
    }
    const server = certificate === null ? createServer(options, handler) : secure(certificate, options, handler)
    server.timeout = limits.stallMs
    server.maxConnections = limits.maxConnections + limits.maxNew
    // Node would answer 417 in its own form. An unknown expectation may be ignored (RFC 9110, 10.1.1).
    server.on('checkExpectation', (request, answer) => server.emit('request', request, answer))
    server.on('clientError', refuse)
    opened.push({ server, connections: watchConnections(server, places) })
    return server
  }

  function secure(given: ServerCertificate, options: object, handler: RequestListener): Server {
    const server = createSecureServer(
      { ...options, ...given.secureOptions, handshakeTimeout: limits.headersTimeoutMs },
      handler,
    )
    given.watch(secureOptions => server.setSecureContext(secureOptions))
    // Without a handshake no answer can be sent.
    server.removeAllListeners('tlsClientError').on('tlsClientError', (_error, socket) => socket.destroy())
    return server
  }

  return {
    scheme: certificate === null ? 'http' : 'https',
    serve,
    async bindTwins(host, bound, handler) {
      if (host !== 'localhost') return
      const { address: first, port } = bound.address() as AddressInfo
      const addresses = new Set((await lookup(host, { all: true })).map(({ address }) => address))
      addresses.delete(first)
      for (const address of addresses) {
        const server = serve(handler)
        const isBound = await new Promise<boolean>(resolve => {
          // The name has this address but the machine does not, such as ::1 without IPv6.
          server.once('error', () => resolve(false))
          server.listen({ host: address, port }, () => resolve(true))
        })
        if (isBound) twins.push(server)
      }
    },
    drain() {
      for (const twin of twins) twin.close()
      for (const { connections } of opened) connections.drain()
    },
    destroy() {
      for (const twin of twins) twin.close()
      for (const { server } of opened) server.closeAllConnections()
    },
  }
}
