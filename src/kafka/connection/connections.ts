// Manages the connections of all listeners: it accepts or refuses them, has them encrypted (handshake.ts), passes each
// its bytes, counts them, and drains them. At DEBUG it logs each connection that opens, and each that closes with the
// reason. A connection counts from the moment when it is accepted, before its TLS handshake.
//
// Two settings limit the number of all connections and the number from one address. A connection above a limit is
// closed at once, before the broker reads from it. A connected client stays connected, even if it is idle. The same
// holds if the process runs out of descriptors. Apache Kafka instead leaves connections above the total limit
// unaccepted. If an address connects more often than its quota allows, the connection waits and is then closed
// (KIP-612).

import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { usesSasl, usesTls } from '../../settings/endpoints.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Descriptors } from '../../telemetry/descriptors.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { canonicalAddress } from '../address.ts'
import type { Dispatch } from '../dispatch.ts'
import type { Throttle } from '../throttle.ts'
import type { Admission } from './admission.ts'
import { type CloseReason, Connection, type ConnectionLimits } from './connection.ts'
import type { HandshakeFailure, Handshakes } from './handshake.ts'
import { READ_BUFFER_BYTES, readSecuredThrough, readThrough } from './reading.ts'
import { type Listener, Session } from './session.ts'
import { Transport } from './transport.ts'

export interface ConnectionRooms {
  readonly settings: Settings
  readonly dispatch: Dispatch
  readonly admission: Admission
  readonly throttle: Throttle
  readonly descriptors: Descriptors
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
  /** Null if no listener uses TLS. */
  readonly handshakes: Handshakes | null
  /**
   * Sets the identity of a client that has shown a certificate on a listener without SASL. Its argument is the
   * distinguished name. By default the name becomes the principal, without a policy.
   */
  readonly certified?: (session: Session, name: string) => void
}

export interface Connections {
  /** Takes a socket that was accepted with pauseOnConnect. */
  accept(socket: Socket, listener: Listener): void
  /** Lets each connection finish its requests in flight. Resolves when all are closed. */
  drain(): Promise<void>
  /** Closes the connections that are still open. */
  destroy(): void
}

/** The shortest time between two log lines with the same reason for closing. */
const LOG_EVERY_MS = 10_000

/** The time between two checks for connections that do not release memory, while all connections wait for memory. */
const LOOK_EVERY_MS = 150

/** Reasons that are normal for a quiet client. They are logged only at DEBUG. */
const ORDINARY: ReadonlySet<CloseReason> = new Set(['idle'])

/** Reasons that mean that the client does not speak the protocol. */
const FOREIGN: ReadonlySet<CloseReason> = new Set([
  'negative-size',
  'short-frame',
  'too-large',
  'too-large-unauthenticated',
  'http',
  'tls',
  'ssh',
  'proxy-protocol',
])

export function openConnections(rooms: ConnectionRooms): Connections {
  const { settings, metrics, clock, admission, descriptors, handshakes, certified = identifyByName } = rooms
  const logger = rooms.logger.named('kafka.connection')
  const limits = limitsOf(settings)
  const most = settings.get('broker.max-connections')
  const mostOfAddress = settings.get('broker.max-connections-per-address')
  const backpressured = metrics.child('svc.broker.backpressure_connections', {})
  const connections = new Set<Connection>()
  /** The number of connections of each address. No entry is 0. */
  const addresses = new Map<string, number>()
  const turnedAway = new Set<Socket>()
  const count = () => connections.size + (handshakes?.size ?? 0)
  let onLastClosed = (): void => {}
  let nextId = 1
  const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  metrics.sample('svc.broker.connections', {}, count)
  warnOfLimit(settings, descriptors, logger)
  metrics.sample('svc.broker.pending_bytes', {}, () => admission.pendingBytes)
  admission.whenTight(lookLater)

  function lookLater(): void {
    clock.timer(LOOK_EVERY_MS, () => {
      // The sockets are read first: a pause of this process must not look like a pause of its clients.
      clock.soon(() => {
        admission.look()
        if (admission.isTight) lookLater()
      })
    })
  }

  function accept(accepted: Socket, listener: Listener): void {
    // An IPv4 client of a listener on `::` has the same address as on other listeners.
    const address = canonicalAddress(accepted.remoteAddress ?? 'unknown')
    const ofAddress = addresses.get(address) ?? 0
    if (descriptors.leftAfter(accepted) < descriptors.kept) {
      const { kept, limit } = descriptors
      const message = `a connection was closed: of ${limit} descriptors the last ${kept} are kept for files (ulimit -n)`
      refuse(accepted, 'descriptors', message, address)
      return
    }
    if (count() >= most) {
      const message = `a connection was closed: there are ${most}, as svc.broker.max-connections allows`
      refuse(accepted, 'max-connections', message, address)
      return
    }
    if (ofAddress >= mostOfAddress) {
      const message = `a connection was closed: its address has ${mostOfAddress}, as svc.broker.max-connections-per-address allows`
      refuse(accepted, 'max-connections-per-address', message, address)
      return
    }
    const delayMs = rooms.throttle.connected(address)
    if (delayMs > 0) {
      turnAway(accepted, delayMs)
      return
    }
    const acceptedAtMs = clock.monotonic()
    let encrypted: Transport | null = null
    const session = new Session(nextId++, listener, address, label => encrypted?.exportKey(label) ?? null)
    addresses.set(address, ofAddress + 1)
    if (logger.isEnabled('DEBUG')) {
      logger.debug('a connection is opened', { connection: session.id, address, listener: listener.name })
    }
    if (!usesTls(listener.security)) {
      const socket = readThrough(buffer, accepted, bytes => connection.read(bytes))
      const connection = serve(session, new Transport(socket), acceptedAtMs)
      return
    }
    handshakes!.begin(accepted, {
      secured(socket, { name }) {
        if (name !== null && !usesSasl(listener.security)) certified(session, name)
        readSecuredThrough(buffer, socket, bytes => connection.read(bytes))
        encrypted = new Transport(socket, accepted)
        const connection = serve(session, encrypted, acceptedAtMs)
      },
      failed(failure) {
        if (failure !== null) complain(failure, session)
        forget(session, failure?.reason ?? 'closed in its TLS handshake')
      },
      flooded: failure => complain(failure, session),
    })
  }

  function serve(session: Session, transport: Transport, acceptedAtMs: number): Connection {
    const { address } = session
    const connection = new Connection({
      transport,
      session,
      acceptedAtMs,
      limits,
      clock,
      dispatch: rooms.dispatch,
      admission,
      onClosed: leave,
      onRefused(reason, message) {
        metrics.count('svc.broker.failures', { operation: 'connection', error_type: reason })
        if (FOREIGN.has(reason)) metrics.count('svc.broker.malformed_frames', {})
        if (ORDINARY.has(reason)) logger.debug(message, { address, reason })
        else logger.limited(`closed ${reason}`, LOG_EVERY_MS).warn(message, { address, reason })
      },
      onBackpressure: isPaused => (isPaused ? backpressured.inc() : backpressured.dec()),
    })
    connections.add(connection)
    return connection
  }

  function leave(connection: Connection, reason: string): void {
    connections.delete(connection)
    forget(connection.session, reason)
    if (connections.size === 0) onLastClosed()
  }

  function forget({ id, address }: Session, reason: string): void {
    if (logger.isEnabled('DEBUG')) logger.debug('a connection is closed', { connection: id, address, reason })
    const others = addresses.get(address)! - 1
    if (others === 0) addresses.delete(address)
    else addresses.set(address, others)
  }

  function complain({ operation, reason, message }: HandshakeFailure, { address, listener }: Session): void {
    metrics.count('svc.broker.failures', { operation, error_type: reason })
    if (reason === 'plaintext') metrics.count('svc.broker.malformed_frames', {})
    logger.limited(`closed ${reason}`, LOG_EVERY_MS).warn(message, { address, listener: listener.name, reason })
  }

  function refuse(socket: Socket, reason: string, message: string, address: string): void {
    metrics.count('svc.broker.failures', { operation: 'connection', error_type: reason })
    logger.limited(`refused ${reason}`, LOG_EVERY_MS).warn(message, { address, reason })
    socket.on('error', () => {})
    socket.destroy()
  }

  function turnAway(socket: Socket, delayMs: number): void {
    metrics.count('svc.broker.failures', { operation: 'connection', error_type: 'connection-rate' })
    turnedAway.add(socket)
    const timer = clock.timer(delayMs, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => {
      timer.cancel()
      turnedAway.delete(socket)
    })
  }

  return {
    accept,
    async drain() {
      for (const socket of turnedAway) socket.destroy()
      handshakes?.destroy()
      if (connections.size === 0) return
      const closed = new Promise<void>(resolve => {
        onLastClosed = resolve
      })
      for (const connection of [...connections]) connection.drain()
      await closed
    },
    destroy() {
      for (const socket of turnedAway) socket.destroy()
      handshakes?.destroy()
      for (const connection of [...connections]) connection.destroy()
    },
  }
}

function identifyByName(session: Session, name: string): void {
  session.identify({ principal: `User:${name}`, tenant: null, deadlineMs: null, policy: null })
}

/**
 * If the settings do not set the number of connections, the broker warns only if the limit of the process is below
 * this.
 */
const LOW_LIMIT = 4_096

function warnOfLimit(settings: Settings, { limit, kept }: Descriptors, logger: Logger): void {
  if (limit === null || settings.get('broker.max-connections') <= limit - kept) return
  if (!settings.isSet('broker.max-connections') && limit >= LOW_LIMIT) return
  logger.warn(
    `svc.broker.max-connections is ${settings.show('broker.max-connections')} (${settings.origin('broker.max-connections')}), and the process may have ${limit} descriptors: ` +
      `when ${limit - kept} are open, files and HTTP included, new connections are closed; raise the limit (ulimit -n, LimitNOFILE)`,
    { limit, kept },
  )
}

function limitsOf(settings: Settings): ConnectionLimits {
  const inFlightLimit = settings.get('broker.in-flight-limit')
  return {
    maxRequestBytes: settings.get('broker.max-request-bytes'),
    inFlightLimit,
    // Reactor requests more elements when three quarters of the requested ones are done.
    inFlightResume: settings.get('broker.stack') === 'netty' ? inFlightLimit - 1 : Math.floor(inFlightLimit / 4),
    maxPendingBytes: settings.get('broker.max-pending-bytes'),
    resumePendingBytes: settings.get('broker.resume-pending-bytes'),
    responseQueueTimeoutMs: settings.get('broker.response-queue-timeout'),
    frameTimeoutMs: settings.get('broker.frame-timeout'),
    idleTimeoutMs: settings.get('broker.idle-timeout'),
    authenticationTimeoutMs: settings.get('broker.authentication-timeout'),
  }
}
