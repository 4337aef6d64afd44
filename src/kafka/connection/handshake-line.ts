// Lets the TLS handshakes of accepted sockets begin a few at a time, each when its first record has arrived. So a client
// that sends nothing, or a part of its first record, costs no state of OpenSSL (about 40 KB). And if thousands of
// clients connect at once, no turn of the event loop is long: the answer to a ClientHello takes up to a millisecond with
// an RSA key, and the clients that have got an answer send their next messages at once.
//
// This file knows no TLS but the head of a record (RFC 8446, 5.1), and no timeout: handshake.ts does.
//
//   22 (handshake) | version, 2 bytes | length of the rest, 2 bytes | ClientHello …

import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

/** The handshakes that begin in one turn of the event loop. */
const IN_A_TURN = 4

/** The handshakes in progress at the same time. */
const AT_ONCE = 100

/** A handshake that takes longer does not count, so that clients that never go on do not keep others out. */
const COUNTS_MS = 150

const HANDSHAKE = 22
const HEAD_BYTES = 5
/** OpenSSL refuses longer records (RFC 8446, 5.2). */
const MOST_BYTES = HEAD_BYTES + 2 ** 14 + 256

export interface HandshakeLine {
  /**
   * Reads the first record of a socket, which must have been accepted with pauseOnConnect, and then calls `begin`, in a
   * later turn of the event loop. The bytes are back in the socket then. If they are not the start of a handshake, it
   * calls `begin` too, so that OpenSSL says why. It never calls `begin` for a socket that is destroyed before.
   */
  add(socket: Socket, begin: () => void): void
  /** Returns whether the first record of the socket is there and its handshake has not begun. */
  isWaiting(socket: Socket): boolean
  /** The handshake is over, or the socket is closed before its handshake began. */
  remove(socket: Socket): void
}

export function openHandshakeLine(clock: Clock): HandshakeLine {
  /** The sockets whose first record is there, in the order in which they came. */
  const ready = new Map<Socket, () => void>()
  /** When each handshake began, the earliest first. Those that no longer count may be missing. */
  const begun = new Map<Socket, number>()
  let isDue = false

  function beginSoon(): void {
    if (isDue || ready.size === 0) return
    isDue = true
    if (begun.size < AT_ONCE) clock.soon(beginSome)
    else clock.timer(COUNTS_MS / 10, beginSome)
  }

  function beginSome(): void {
    isDue = false
    const nowMs = clock.monotonic()
    for (const [socket, sinceMs] of begun) {
      if (nowMs - sinceMs < COUNTS_MS) break
      begun.delete(socket)
    }
    let left = Math.min(IN_A_TURN, AT_ONCE - begun.size)
    for (const [socket, begin] of ready) {
      if (left-- <= 0) break
      ready.delete(socket)
      begun.set(socket, nowMs)
      begin()
    }
    beginSoon()
  }

  return {
    add(socket, begin) {
      let held: Buffer = Buffer.alloc(0)
      const take = (): void => {
        // Null: the client has closed its side, and the socket closes.
        const bytes: Buffer | null = socket.read()
        if (bytes === null) return
        held = held.length === 0 ? bytes : Buffer.concat([held, bytes])
        if (isIncomplete(held)) return
        socket.off('readable', take)
        socket.unshift(held)
        ready.set(socket, begin)
        beginSoon()
      }
      // 'close' follows every error.
      socket.on('error', () => {})
      socket.on('readable', take)
    },
    isWaiting: socket => ready.has(socket),
    remove(socket) {
      ready.delete(socket)
      begun.delete(socket)
    },
  }
}

function isIncomplete(bytes: Buffer): boolean {
  if (bytes[0] !== HANDSHAKE) return false
  return bytes.length < HEAD_BYTES || bytes.length < Math.min(MOST_BYTES, HEAD_BYTES + bytes.readUInt16BE(3))
}
