// Knows which connections of the HTTP listener have a client that waits for an answer. Clients keep other connections
// alive, and browsers open some in advance: these must not delay a broker that drains. A connection whose client
// sends requests and does not read the answers is cut.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { DropArgument, Socket } from 'node:net'
import type { Places } from './places.ts'

export interface HttpConnections {
  /** Closes each connection as soon as no request on it waits for an answer: some at once, the others later. */
  drain(): void
}

/**
 * The most requests on one connection that wait for answers; no client sends that many ahead. Each of them waits in
 * memory, and Node reads further requests until one is answered.
 */
const MAX_PIPELINED = 64

/**
 * Cuts a connection with more than MAX_PIPELINED requests at once. Also cuts a connection without a byte in either
 * direction for the `timeout` of the server, unless its client waits for an answer. Adds all connections to `places`.
 */
export function watchConnections(server: Server, places: Places): HttpConnections {
  /** Requests that are not answered yet, by the accepted socket. */
  const waiting = new Map<Socket, number>()
  /** Accepted sockets by the client's address and port. Node does not say which socket carries a TLS socket. */
  const accepted = new Map<string, Socket>()
  let isDraining = false
  server.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0 || !waiting.get(places.wireOf(socket))) socket.destroy()
  })
  server.on('connection', (wire: Socket) => {
    const peer = peerOf(wire)
    waiting.set(wire, 0)
    accepted.set(peer, wire)
    wire.once('close', () => {
      waiting.delete(wire)
      if (accepted.get(peer) === wire) accepted.delete(peer)
      places.leave(wire)
    })
    places.enter(wire)
  })
  server.on('secureConnection', (secure: Socket) => {
    const wire = accepted.get(peerOf(secure))
    // The client is gone already.
    if (wire === undefined) return void secure.destroy()
    places.secured(secure, wire)
  })
  server.on('drop', (dropped?: DropArgument) => places.dropped(dropped?.remoteAddress))
  // This comes before the request is handled, so that no work is done on a connection that is cut.
  server.prependListener('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request
    const wire = places.wireOf(socket)
    const count = (waiting.get(wire) ?? 0) + 1
    if (count > MAX_PIPELINED) socket.destroy()
    waiting.set(wire, count)
    followRequest(request, answer, places)
    answer.once('close', () => {
      const left = waiting.get(wire)
      if (left === undefined) return
      waiting.set(wire, left - 1)
      // End the connection and do not destroy it: a client may see a reset before its answer.
      if (isDraining && left === 1) socket.end()
    })
  })
  return {
    drain() {
      isDraining = true
      for (const [wire, count] of waiting) if (count === 0) wire.destroy()
    },
  }
}

/** Returns the name of a connection: at one time, an address and port of a client have one connection. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/**
 * Tells `places` when the request is complete, which is when its body is, and when it is answered. A request that is
 * answered early never becomes complete.
 */
function followRequest(request: IncomingMessage, answer: ServerResponse, places: Places): void {
  const { socket, headers } = request
  let isWhole = false
  let isAnswered = false
  const complete = () => {
    if (isAnswered) return
    isWhole = true
    places.asked(socket)
  }
  answer.once('close', () => {
    isAnswered = true
    if (isWhole) places.answered(socket)
  })
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (hasBody) request.once('end', complete)
  else complete()
}
