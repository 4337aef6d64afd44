// Which connections of the HTTP listener somebody waits at. A connection is kept alive by its client, or was opened ahead of need as
// browsers do: when the broker drains, none of these may hold it.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface HttpConnections {
  /** Closes each connection as soon as nothing on it waits for an answer, beginning with those where nothing does. */
  drain(): void
}

export function watchConnections(server: Server): HttpConnections {
  /** Requests that are not answered yet. */
  const waiting = new Map<Socket, number>()
  let isDraining = false
  server.on('connection', (socket: Socket) => {
    waiting.set(socket, 0)
    socket.once('close', () => waiting.delete(socket))
  })
  server.on('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    waiting.set(socket, (waiting.get(socket) ?? 0) + 1)
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
