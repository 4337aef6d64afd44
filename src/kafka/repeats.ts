// Requests that say again what their connection said last. A consumer that waits asks the same of the same partitions twice
// a second for as long as nothing comes, and thousands may: for the same bytes its handler gets the same value, which costs a
// comparison and tells the handler that nothing is different. It knows no API.

/** A longer body is not kept: what a connection leaves behind has a bound. A Fetch of 500 partitions fits. */
const MOST_KEPT_BYTES = 20 * 1024

/** The last body of a connection that may be said again; null for none. */
export interface Saying {
  last: Said | null
}

interface Said {
  readonly by: unknown
  readonly version: number
  readonly frame: Buffer
  readonly bodyOffset: number
  readonly value: unknown
}

/**
 * The value of a body that fills the frame from bodyOffset to its end: the last one where API and version and every byte are
 * the same, else what `decode` makes of it. Nobody may change the value. Throws what `decode` throws.
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
