// Lets the TLS handshakes of accepted sockets begin a few at a time, each when its client has sent something. So a
// client that sends nothing costs no state of OpenSSL (about 40 KB). And if thousands of clients connect at once, no
// turn of the event loop is long: the answer to a ClientHello takes up to a millisecond with an RSA key, and the
// clients that have got an answer send their next messages at once.
//
// This file knows no TLS and no timeout: handshake.ts does.

import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { whenReadable } from './reading.ts'

/** The handshakes that begin in one turn of the event loop. */
const IN_A_TURN = 2

/** The handshakes in progress at the same time. */
const AT_ONCE = 50

/** A handshake that takes longer does not count, so that clients that never go on do not keep others out. */
const COUNTS_MS = 100

export interface HandshakeLine {
  /**
   * Calls `begin` when the socket has bytes to read and its turn has come. The socket must have been accepted with
   * pauseOnConnect. Never calls `begin` for a socket that is removed before.
   */
  add(socket: Socket, begin: () => void): void
  /** Returns whether the socket has bytes to read and its handshake has not begun. */
  isWaiting(socket: Socket): boolean
  /** The handshake is over, or the socket is closed before its handshake began. */
  remove(socket: Socket): void
}

export function openHandshakeLine(clock: Clock): HandshakeLine {
  /** The sockets that can be read, in the order in which their bytes came. */
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
      whenReadable(socket, () => {
        ready.set(socket, begin)
        beginSoon()
      })
    },
    isWaiting: socket => ready.has(socket),
    remove(socket) {
      ready.delete(socket)
      begun.delete(socket)
    },
  }
}
