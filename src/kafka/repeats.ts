// Recognises requests that repeat the last one of their connection. A waiting consumer sends the same request twice a
// second while no records arrive, and there may be thousands of such consumers. For the same bytes the handler gets
// the same value. This costs one comparison, and the handler sees that the request has not changed. This file knows
// no API.

/**
 * The longest body that is kept, in bytes. It limits the memory for each connection. A Fetch of 500 partitions fits.
 */
const MOST_KEPT_BYTES = 20 * 1024

/** The last body of a connection; null if none is kept. */
export interface Saying {
  last: Said | null
}

export interface Said {
  readonly by: unknown
  readonly version: number
  readonly frame: Buffer
  readonly bodyOffset: number
  readonly value: unknown
}

/**
 * Returns the value of a body that goes from bodyOffset to the end of the frame. This is the last value if API,
 * version and every byte are the same. Otherwise it is the value that `decode` returns. No caller may change the
 * value. Throws the errors of `decode`.
 */
export function decodeAgain(
  saying: Saying,
  by: unknown,
  version: number,
  frame: Buffer,
  bodyOffset: number,
  decode: () => unknown,
): unknown {
  const { last } = saying
  if (last !== null && last.by === by && last.version === version && isSame(last, frame, bodyOffset)) return last.value
  saying.last = null
  const value = decode()
  if (frame.byteLength - bodyOffset <= MOST_KEPT_BYTES) saying.last = { by, version, frame, bodyOffset, value }
  return value
}

function isSame(last: Said, frame: Buffer, bodyOffset: number): boolean {
  const { byteLength } = last.frame
  if (byteLength - last.bodyOffset !== frame.byteLength - bodyOffset) return false
  return frame.compare(last.frame, last.bodyOffset, byteLength, bodyOffset) === 0
}
