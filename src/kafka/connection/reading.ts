// Reads all plain connections through one buffer. Node gives each read of an accepted socket a fresh 64 KiB of memory;
// at a gigabyte per second those, and the garbage collections that they bring, cost a third of the work of receiving.
// The framer copies what it keeps at once, so one buffer serves everybody: the operating system fills it and the bytes
// are taken before the next read. Node offers that (`onread`) for sockets that are made, not for those that are
// accepted, so the accepted socket's handle is moved to a made one.

import { Socket, type SocketConstructorOpts } from 'node:net'

/** More at once costs fewer calls; much more falls out of the processor's cache. */
export const READ_BUFFER_BYTES = 256 * 1024

/** Node does not document these fields of its sockets, and every Node of the last ten years has them. */
interface Inner {
  _handle: unknown
  _server: unknown
}

/**
 * The socket to use from now on: its bytes go to `take`, which must copy the bytes that it keeps, and no 'data' event
 * is emitted. The given socket must have been accepted with pauseOnConnect and must not be used any more.
 */
export function readThrough(buffer: Buffer, accepted: Socket, take: (bytes: Buffer) => void): Socket {
  const inner = accepted as unknown as Inner
  if (!inner._handle) {
    // The client has gone already, or this is no plain TCP socket.
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
  // The server counts its connections down when this one closes.
  ;(socket as unknown as Inner)._server = inner._server
  inner._handle = null
  inner._server = null
  // Collections of the young heap keep a closed socket, and through its references a whole connection, until the next
  // collection of the whole heap. Under a client that connects again and again that is hundreds of times the live
  // memory.
  socket.on('close', () => {
    taker = null
    socket.removeAllListeners()
  })
  return socket
}
