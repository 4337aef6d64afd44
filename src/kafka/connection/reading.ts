// Reads all connections through one buffer. By default, Node allocates 64 KiB for each read of an accepted
// socket. At a gigabyte per second this memory and its garbage collection cost a third of the work of receiving. The
// frame splitter copies the bytes that it keeps at once, so all connections can share one buffer. The operating
// system fills it, and the bytes are taken before the next read. Node offers this (`onread`) only for sockets that a
// program creates, not for accepted ones. So the handle of the accepted socket is moved to a new socket.

import { Socket, type SocketConstructorOpts } from 'node:net'
import type { TLSSocket } from 'node:tls'

/**
 * The size of the buffer. A larger one needs fewer system calls, but a much larger one does not fit into the
 * processor's cache.
 */
export const READ_BUFFER_BYTES = 256 * 1024

/** The handle of an accepted socket, as far as whenReadable uses it. */
interface Handle {
  onread: unknown
  useUserBuffer(buffer: Buffer): void
  readStart(): void
  readStop(): void
}

/** Fields of a socket that Node does not document. Every Node of the last ten years has them. */
interface Inner {
  _handle: unknown
  _server: unknown
}

/** The fields of an encrypted socket. */
interface Secured {
  readonly _handle: { useUserBuffer(buffer: Buffer): void }
  [field: symbol]: unknown
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

/**
 * Calls `fn` once, when the client has sent bytes or has left. It reads nothing, because it gives the operating system
 * no memory for the bytes. If it read them, Node would hand them to OpenSSL in a small buffer, keep that buffer, and
 * read all later bytes in small pieces too. The given socket must have been accepted with pauseOnConnect.
 */
export function whenReadable(accepted: Socket, fn: () => void): void {
  const handle = (accepted as unknown as Inner)._handle as Handle | null
  if (!handle) {
    fn()
    return
  }
  const { onread } = handle
  handle.onread = (): void => {
    handle.readStop()
    handle.onread = onread
    fn()
  }
  handle.useUserBuffer(Buffer.alloc(0))
  handle.readStart()
}

/**
 * Does for an encrypted socket the same as readThrough: its decrypted bytes go to `take`. Node offers `onread` only for
 * encrypted sockets that it connects. So the fields are set that the option would set. The handshake must just have
 * ended, before the socket has emitted a byte.
 */
export function readSecuredThrough(buffer: Buffer, socket: TLSSocket, take: (bytes: Buffer) => void): void {
  const inner = socket as unknown as Secured
  const [bufferField, callbackField] = ['kBuffer', 'kBufferCb'].map(name =>
    Object.getOwnPropertySymbols(socket).find(({ description }) => description === name),
  )
  if (bufferField === undefined || callbackField === undefined) {
    socket.on('data', take)
    return
  }
  inner._handle.useUserBuffer(buffer)
  inner[bufferField] = buffer
  inner[callbackField] = (length: number) => {
    take(buffer.subarray(0, length))
    return true
  }
  socket.on('close', () => {
    inner[callbackField] = () => true
    socket.removeAllListeners()
  })
}
