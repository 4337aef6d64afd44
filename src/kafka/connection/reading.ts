// Reads all plain connections through one buffer. By default, Node allocates 64 KiB for each read of an accepted
// socket. At a gigabyte per second this memory and its garbage collection cost a third of the work of receiving. The
// frame splitter copies the bytes that it keeps at once, so all connections can share one buffer. The operating
// system fills it, and the bytes are taken before the next read. Node offers this (`onread`) only for sockets that a
// program creates, not for accepted ones. So the handle of the accepted socket is moved to a new socket.

import { Socket, type SocketConstructorOpts } from 'node:net'

/**
 * The size of the buffer. A larger one needs fewer system calls, but a much larger one does not fit into the
 * processor's cache.
 */
export const READ_BUFFER_BYTES = 256 * 1024

/** Fields of a socket that Node does not document. Every Node of the last ten years has them. */
interface Inner {
  _handle: unknown
  _server: unknown
}

/**
 * Returns the socket to use from now on. Its bytes go to `take`, which must copy the bytes that it keeps. It emits no
 * 'data' event. The given socket must have been accepted with pauseOnConnect, and must not be used any more.
 */
export function readThrough(buffer: Buffer, accepted: Socket, take: (bytes: Buffer) => void): Socket {
  const inner = accepted as unknown as Inner
  if (!inner._handle) {
    // The client has already disconnected, or this is not a plain TCP socket.
    accepted.on('data', take)
    accepted.resume()
    return accepted
  }
  let taker: typeof take | null = take
  const callback = (length: number, bytes: Uint8Array): boolean => {
    taker?.(length === bytes.length ? (bytes as Buffer) : (bytes.subarray(0, length) as Buffer))
    return true
  }
  const options = { handle: inner._handle, onread: { buffer, callback } }
  const socket = new Socket(options as unknown as SocketConstructorOpts)
  // With this field the server counts its connections down when this one closes.
  ;(socket as unknown as Inner)._server = inner._server
  inner._handle = null
  inner._server = null
  // Otherwise a collection of the young heap keeps a closed socket, and through its references a whole connection,
  // until the next collection of the whole heap. If a client connects again and again, that is hundreds of times the
  // live memory.
  socket.on('close', () => {
    taker = null
    socket.removeAllListeners()
  })
  return socket
}
