// Opens and closes the listening sockets of the Kafka protocol, one for each listener of the settings. connections.ts
// accepts the clients, handshake.ts makes their TLS handshakes, and connection.ts serves one of them.

import { type AddressInfo, createServer, type Server } from 'node:net'
import { type KafkaEndpoint, kafkaEndpoints } from '../settings/endpoints.ts'
import { listenFailed } from '../settings/listen-failed.ts'
import type { ServerCertificate } from '../tls/server-certificate.ts'
import { type ConnectionRooms, openConnections } from './connection/connections.ts'
import type { Handshakes } from './connection/handshake.ts'
import type { Listener } from './connection/session.ts'

export interface Bound {
  /** The advertised endpoint; its `port` may differ from the bound one. */
  readonly advertised: Listener
  readonly host: string
  readonly port: number
}

export interface KafkaListeners {
  /** In the order of the settings. */
  readonly bound: readonly Bound[]
  /** Accepts no more connections, and lets each one finish its requests in flight. Resolves when all are closed. */
  drain(): Promise<void>
  /** Closes the connections that are still open. */
  destroy(): void
}

export interface ListenerRooms extends Omit<ConnectionRooms, 'handshakes'> {
  /** Null if no listener uses TLS. */
  readonly certificate: ServerCertificate | null
  /** Returns whether a client certificate is that of another broker (HandshakeRooms); by default none is. */
  readonly acceptsPeer?: (fingerprint256: string) => boolean
}

/**
 * Binds every address of the settings and serves clients there. Throws ListenFailed if one address cannot be bound;
 * then it listens on none.
 */
export async function listen(rooms: ListenerRooms): Promise<KafkaListeners> {
  const logger = rooms.logger.named('kafka.connection')
  const connections = openConnections({ ...rooms, handshakes: await openTls(rooms) })
  const servers: Server[] = []
  const bound: Bound[] = []
  const close = () => {
    for (const server of servers) server.close()
  }

  async function open(endpoint: KafkaEndpoint): Promise<void> {
    const { name, host, advertisedHost, advertisedPort, security } = endpoint
    const server = createServer({ pauseOnConnect: true }, socket => connections.accept(socket, advertised))
    await new Promise<void>((resolve, reject) => {
      server.once('error', error => reject(listenFailed(error, { ...endpoint, whom: 'Kafka clients' })))
      server.listen({ host, port: endpoint.port }, () => {
        server.removeAllListeners('error')
        server.on('error', error => logger.error('connections cannot be accepted', { listener: name, error }))
        resolve()
      })
    })
    servers.push(server)
    const { port } = server.address() as AddressInfo
    const advertised: Listener = Object.freeze({
      name,
      host: advertisedHost,
      port: advertisedPort ?? port,
      security,
    })
    bound.push({ advertised, host, port })
  }

  try {
    for (const endpoint of kafkaEndpoints(rooms.settings)) await open(endpoint)
  } catch (error) {
    close()
    connections.destroy()
    throw error
  }

  return {
    bound,
    drain() {
      close()
      return connections.drain()
    },
    destroy: () => connections.destroy(),
  }
}

/** Node's TLS is loaded only if a listener uses it. */
async function openTls({
  certificate,
  acceptsPeer = () => false,
  ...rooms
}: ListenerRooms): Promise<Handshakes | null> {
  if (certificate === null) return null
  const { openHandshakes } = await import('./connection/handshake.ts')
  return openHandshakes({ ...rooms, certificate, acceptsPeer })
}
