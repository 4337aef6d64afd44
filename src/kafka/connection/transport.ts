// Writes the bytes of one connection to its socket, and pauses and resumes reading. All code that depends on the
// details of Node's sockets is here and in reading.ts. An encrypted connection is another socket behind the same
// interface. This file knows no frames, no requests and no client: connection.ts and session.ts do.

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Fields of a socket that Node does not document. Node's own socket timeouts read them too. */
interface Inner {
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

const KEEP_ALIVE_MS = 60_000

/** An answer of 1 MiB is written in one piece. */
const RUN_BYTES = 2 << 20

/**
 * A run is copied and encrypted at once, beside its plain bytes, and the admission does not count the copies. So a run
 * is small. Node passes at most 160 KiB at a time from OpenSSL to the network, so larger runs are hardly faster.
 */
const ENCRYPTED_RUN_BYTES = 256 << 10

export class Transport {
  readonly #socket: Socket | TLSSocket
  readonly #tcp: Socket
  #takenBytes = 0
  #errorCode: string | null = null

  /**
   * The bytes that the socket reads do not pass through here. The creator of the socket must pass them to
   * Connection.read(). `tcp` is the socket below an encrypted one.
   */
  constructor(socket: Socket | TLSSocket, tcp: Socket = socket) {
    this.#socket = socket
    this.#tcp = tcp
    tcp.setNoDelay(true)
    tcp.setKeepAlive(true, KEEP_ALIVE_MS)
    // 'close' follows every error. A reset is a normal way for a client to leave.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#errorCode ??= error.code ?? error.message
    })
  }

  /** The most bytes that one call of write() should get. */
  get runBytes(): number {
    return this.#socket === this.#tcp ? RUN_BYTES : ENCRYPTED_RUN_BYTES
  }

  /** The code of the error that closed the connection, such as ECONNRESET; null if there was no error. */
  get errorCode(): string | null {
    return this.#errorCode
  }

  /** The exact number of bytes that the network has taken: the encrypted ones, and those of the handshake, with TLS. */
  get takenBytes(): number {
    const { _handle: handle } = this.#tcp as unknown as Inner
    if (handle) this.#takenBytes = handle.bytesWritten - handle.writeQueueSize
    return this.#takenBytes
  }

  /** True if the network has not taken all written bytes. */
  get isBehind(): boolean {
    return this.#socket.writableLength > 0
  }

  /**
   * Returns 32 bytes that only the two ends of this TLS connection can compute (RFC 5705 with this label and an empty
   * context); null without TLS, and after the connection is closed.
   */
  exportKey(label: string): Uint8Array | null {
    const socket = this.#socket
    if (!('exportKeyingMaterial' in socket) || socket.destroyed) return null
    return socket.exportKeyingMaterial(32, label, Buffer.alloc(0))
  }

  /** Calls `listener` once, when nothing can be read or written any more. */
  whenClosed(listener: () => void): void {
    this.#socket.on('close', listener)
  }

  resume(): void {
    this.#socket.resume()
  }

  pause(): void {
    this.#socket.pause()
  }

  /** Writes the pieces with one system call. `written` is called when the network has taken all of them. */
  write(pieces: readonly Uint8Array[], written: (error?: Error | null) => void): void {
    const last = pieces.length - 1
    if (last > 0) this.#socket.cork()
    for (let i = 0; i < last; i++) this.#socket.write(pieces[i]!)
    this.#socket.write(pieces[last]!, written)
    if (last > 0) this.#socket.uncork()
  }

  /** Closes this side; the client may still write. */
  end(): void {
    this.#socket.end()
  }

  /** Closes both sides at once. */
  destroy(): void {
    this.#socket.destroy()
  }
}
