// Recognises requests that repeat the last one of their connection. A consumer that waits asks for the same partitions
// twice a second while no records arrive, and thousands may do so. For the same bytes its handler gets the same value.
// That costs one comparison, and the handler knows that the request has not changed. This file knows no API.

/** A longer body is not kept, so that the memory for each connection has a bound. A Fetch of 500 partitions fits. */
const MOST_KEPT_BYTES = 20 * 1024

/** The last body of a connection, if it may be repeated; else null. */
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
 * The value of a body that fills the frame from bodyOffset to its end: the last value if API, version and every byte
 * are the same, else the value that `decode` makes. No caller may change the value. Throws what `decode` throws.
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
