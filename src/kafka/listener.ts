// One listening socket of the Kafka protocol and the connections that came by it. It binds, counts and drains; what a
// connection does is in connection.ts.

import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { advertisedEndpoint } from '../settings/advertised.ts'
import type { Settings } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Budget } from './budget.ts'
import { type CloseReason, Connection, type ConnectionLimits } from './connection.ts'
import type { Dispatch } from './dispatch.ts'
import type { Listener, Peer } from './handlers/handler.ts'
import { READ_BUFFER_BYTES, readThrough } from './reading.ts'
import type { Throttle } from './throttle.ts'

/** The address cannot be bound. The message is ready to print and says what to change. */
export class ListenFailed extends Error {
  override readonly name = 'ListenFailed'
}

export interface ListenerRooms {
  readonly settings: Settings
  readonly dispatch: Dispatch
  readonly budget: Budget
  readonly throttle: Throttle
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface KafkaListener {
  /** As clients are told; `port` there need not be the one that is bound. */
  readonly advertised: Listener
  readonly port: number
  /** Accepts no more, lets each connection finish what is in flight. Resolves when all are closed. */
  drain(): Promise<void>
  /** Closes what is still open. */
  destroy(): void
}

/** How often a reason for closing connections is logged. */
const LOG_EVERY_MS = 10_000

/** Reasons that are a client's way to be quiet, and no news. */
const ORDINARY: ReadonlySet<CloseReason> = new Set(['idle'])

/** Reasons that mean that the client does not speak the protocol. */
const FOREIGN: ReadonlySet<CloseReason> = new Set([
  'negative-size',
  'short-frame',
  'too-large',
  'http',
  'tls',
  'ssh',
  'proxy-protocol',
])

/** Binds the address of the settings and serves whoever connects. Throws ListenFailed. */
export async function listen(rooms: ListenerRooms): Promise<KafkaListener> {
  const { settings, metrics, clock } = rooms
  const logger = rooms.logger.named('kafka.connection')
  const limits = limitsOf(settings)
  const backpressured = metrics.child('svc.broker.backpressure_connections', {})
  const connections = new Set<Connection>()
  const turnedAway = new Set<Socket>()
  let onLastClosed = (): void => {}
  let nextId = 1

  const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)

  const server = createServer({ pauseOnConnect: true }, accept)
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(listenFailed(error, settings)))
    server.listen({ host: settings.get('broker.host'), port: settings.get('broker.port') }, () => {
      server.removeAllListeners('error')
      server.on('error', error => logger.error('connections cannot be accepted', { error }))
      resolve()
    })
  })
  const { port } = server.address() as AddressInfo
  const advertised: Listener = Object.freeze({ name: 'PLAINTEXT', ...advertisedEndpoint(settings, port) })
  metrics.sample('svc.broker.connections', {}, () => connections.size)

  function accept(accepted: Socket): void {
    const address = accepted.remoteAddress ?? 'unknown'
    const delayMs = rooms.throttle.connected(address)
    if (delayMs > 0) {
      turnAway(accepted, delayMs)
      return
    }
    const peer: Peer = { id: nextId++, listener: advertised, principal: 'User:ANONYMOUS', address }
    const socket = readThrough(buffer, accepted, bytes => connection.read(bytes))
    const connection = new Connection({
      socket,
      peer,
      limits,
      clock,
      dispatch: rooms.dispatch,
      budget: rooms.budget,
      onClosed(closed) {
        connections.delete(closed)
        if (connections.size === 0) onLastClosed()
      },
      onRefused(reason, message) {
        metrics.count('svc.broker.failures', { operation: 'connection', error_type: reason })
        if (FOREIGN.has(reason)) metrics.count('svc.broker.malformed_frames', {})
        if (ORDINARY.has(reason)) logger.debug(message, { address, reason })
        else logger.limited(`closed ${reason}`, LOG_EVERY_MS).warn(message, { address, reason })
      },
      onBackpressure: isPaused => (isPaused ? backpressured.inc() : backpressured.dec()),
    })
    connections.add(connection)
  }

  /** Who comes too soon for the quota of their address waits, unread, and is then closed (KIP-612). */
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
    advertised,
    port,
    async drain() {
      server.close()
      for (const socket of turnedAway) socket.destroy()
      if (connections.size === 0) return
      const closed = new Promise<void>(resolve => {
        onLastClosed = resolve
      })
      for (const connection of [...connections]) connection.drain()
      await closed
    },
    destroy() {
      for (const connection of [...connections]) connection.destroy()
    },
  }
}

function limitsOf(settings: Settings): ConnectionLimits {
  return {
    maxRequestBytes: settings.get('broker.max-request-bytes'),
    inFlightLimit: settings.get('broker.in-flight-limit'),
    maxPendingBytes: settings.get('broker.max-pending-bytes'),
    resumePendingBytes: settings.get('broker.resume-pending-bytes'),
    responseQueueTimeoutMs: settings.get('broker.response-queue-timeout'),
    frameTimeoutMs: settings.get('broker.frame-timeout'),
    idleTimeoutMs: settings.get('broker.idle-timeout'),
  }
}

function listenFailed(error: NodeJS.ErrnoException, settings: Settings): ListenFailed {
  const host = settings.get('broker.host')
  const port = settings.get('broker.port')
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const isPort = error.code === 'EADDRINUSE' || error.code === 'EACCES'
  const key = isPort ? 'broker.port' : 'broker.host'
  const variable = isPort ? 'SVC_BROKER_PORT' : 'SVC_BROKER_HOST'
  const example = isPort ? (port < 1024 ? 9092 : port + 1) : '127.0.0.1'
  return new ListenFailed(
    `cannot listen for Kafka clients on ${at}: ${whyNot(error)}. ` +
      `The address comes from svc.${key} (${settings.origin(key)}); take another one with --svc.${key}=${example} ` +
      `or ${variable}=${example}`,
    { cause: error },
  )
}

function whyNot(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is taken by another process'
    case 'EACCES':
      return 'this user may not bind the port'
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name of the host cannot be resolved'
    default:
      return error.message
  }
}
