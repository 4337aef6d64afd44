// Collects the bytes of a request's body. Fastify would keep each piece as an object of its own until the end: a
// megabyte in chunks of one byte would take 160 MB. Node spends microseconds on each piece, and takes up to 350,000 of
// them in one turn of the event loop. So a connection whose body comes in crumbs is cut.

import type { Readable } from 'node:stream'

/** No client writes a longer body in pieces that have fewer bytes on average. */
const MOST_CRUMBS = 4_096
const BYTES_OF_CRUMB = 16

/** The status is for failures.ts. */
const tooLarge = (most: number) =>
  Object.assign(new Error(`the body is longer than ${most} bytes`), { statusCode: 413 })

/**
 * Resolves with the body. `declared` is the Content-Length; NaN without one. Rejects with an error of status 413 beyond
 * `most` bytes, before anything is read if so much is declared, and of status 400 if the body breaks off or is cut.
 */
export function bodyBytes(payload: Readable, most: number, declared: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  if (declared > most) {
    reject(tooLarge(most))
    return promise
  }
  let bytes = Buffer.alloc(0)
  let length = 0
  let pieces = 0

  const take = (piece: Buffer) => {
    const end = length + piece.length
    if (end > most) return fail(tooLarge(most))
    if (end > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(most, Math.max(end, 2 * bytes.length)))
      bytes.copy(larger, 0, 0, length)
      bytes = larger
    }
    piece.copy(bytes, length)
    length = end
    if (++pieces > MOST_CRUMBS && length < pieces * BYTES_OF_CRUMB)
      payload.destroy(new Error('the body comes in too many small pieces'))
  }
  const stop = () => payload.off('data', take).off('end', finish).off('error', breakOff)
  const finish = () => {
    stop()
    resolve(bytes.subarray(0, length))
  }
  const fail = (error: Error) => {
    stop()
    reject(error)
  }
  const breakOff = (error: Error) => fail(Object.assign(error, { statusCode: 400 }))

  payload.on('data', take).on('end', finish).on('error', breakOff)
  return promise
}
