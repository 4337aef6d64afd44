// Closes encrypted connections whose clients make OpenSSL write and take nothing. A client may ask for new keys at any
// time (RFC 8446, 4.6.3), and OpenSSL answers each request at once, into memory that has no bound and that the
// admission does not see. No Kafka byte passes, so no other limit would end this soon. Node reports none of it.

import type { TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../base/clock.ts'

/** The time between two looks at the connections. */
export const LOOK_EVERY_MS = 1_000

/** Session tickets, alerts and a few key updates of a client that is slow. */
const SPARE_BYTES = 64 * 1024

/** More than TLS adds to the bytes that it encrypts: about 22 to each 16 KiB, and to each smaller write. */
const OVERHEAD = 1.1

/** A field of a socket that Node does not document: the encrypted bytes that the network has not taken. */
interface Inner {
  readonly _handle: { readonly writeQueueSize: number } | null
}

/** Returns a function that watches a socket until it is closed. `flooded` must close it. */
export function watchUnaskedBytes(clock: Clock): (socket: TLSSocket, flooded: () => void) => void {
  const watched = new Map<TLSSocket, () => void>()
  let timer: Timer | null = null

  function look(): void {
    timer = clock.timer(LOOK_EVERY_MS, look)
    for (const [socket, flooded] of watched) if (hasUnasked(socket)) flooded()
  }

  return (socket, flooded) => {
    watched.set(socket, flooded)
    timer ??= clock.timer(LOOK_EVERY_MS, look)
    socket.on('close', () => {
      watched.delete(socket)
      if (watched.size > 0) return
      timer?.cancel()
      timer = null
    })
  }
}

function hasUnasked(socket: TLSSocket): boolean {
  const { _handle: handle } = socket as unknown as Inner
  return handle !== null && handle.writeQueueSize > socket.writableLength * OVERHEAD + SPARE_BYTES
}
