// Collects the bytes of a request's body. Fastify would keep each piece as an object of its own until the end: a
// megabyte in chunks of one byte would take 160 MB.

import type { Readable } from 'node:stream'

/** The status is for failures.ts. */
const tooLarge = (most: number) =>
  Object.assign(new Error(`the body is longer than ${most} bytes`), { statusCode: 413 })

/**
 * Resolves with the body. `declared` is the Content-Length; NaN without one. Rejects with an error of status 413 beyond
 * `most` bytes, before anything is read if so much is declared, and of status 400 if the body breaks off.
 */
export function bodyBytes(payload: Readable, most: number, declared: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  if (declared > most) {
    reject(tooLarge(most))
    return promise
  }
  let bytes = Buffer.alloc(0)
  let length = 0

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
