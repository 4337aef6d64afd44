// Which connections of the HTTP listener somebody waits at. A connection is kept alive by its client, or was opened ahead of need as
// browsers do: when the broker drains, none of these may hold it. One that asks and does not read what it is answered is cut.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { DropArgument, Socket } from 'node:net'
import type { Places } from './places.ts'

export interface HttpConnections {
  /** Closes each connection as soon as nothing on it waits for an answer, beginning with those where nothing does. */
  drain(): void
}

/** More than any client sends ahead of the answers. Each waits in memory, and Node reads on for as long as none is answered. */
const MAX_PIPELINED = 64

/**
 * Cuts a connection with more requests at once than that. Also one on which nothing moved for the `timeout` of the server, unless
 * it waits for an answer that is not there yet. Tells `places` of all of them.
 */
export function watchConnections(server: Server, places: Places): HttpConnections {
  /** Requests that are not answered yet. */
  const waiting = new Map<Socket, number>()
  let isDraining = false
  server.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0 || !waiting.get(socket)) socket.destroy()
  })
  server.on('connection', (socket: Socket) => {
    waiting.set(socket, 0)
    socket.once('close', () => {
      waiting.delete(socket)
      places.leave(socket)
    })
    places.enter(socket)
  })
  server.on('drop', (dropped?: DropArgument) => places.dropped(dropped?.remoteAddress))
  // Before the request is looked at, so that nothing is done for one of a connection that is cut.
  server.prependListener('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > MAX_PIPELINED) socket.destroy()
    waiting.set(socket, count)
    followRequest(request, answer, places)
    answer.once('close', () => {
      const left = waiting.get(socket)
      if (left === undefined) return
      waiting.set(socket, left - 1)
      // The client has its answer when it sees the end; a reset could overtake it.
      if (isDraining && left === 1) socket.end()
    })
  })
  return {
    drain() {
      isDraining = true
      for (const [socket, count] of waiting) if (count === 0) socket.destroy()
    },
  }
}

/** A request is whole when its body is; one that was answered before never is. */
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
