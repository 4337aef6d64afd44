// Reads the body of a request to the S3 stub: plain or in the aws-chunked encoding, and checks its checksums. It does
// not check signatures of chunks.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { crc32 } from 'node:zlib'
import { crc32c } from '../src/base/crc32c.ts'

/** An error document of S3. */
export class S3Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message = code) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface Checked {
  readonly bytes: Buffer
  /** The checksum that the client sent; null if it sent only others, or none. */
  readonly crc32: string | null
}

/** Collects the body. Rejects if the client cuts it. After `most` bytes, cuts it and resolves with null. */
export function collect(request: IncomingMessage, most = Number.POSITIVE_INFINITY): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    request.on('data', chunk => {
      chunks.push(chunk)
      size += chunk.length
      if (size < most) return
      request.socket.destroy()
      resolve(null)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

/** Decodes and checks a body. Throws S3Refusal if a length or a checksum is wrong. */
export function checkedBody(headers: IncomingHttpHeaders, raw: Buffer): Checked {
  const declared = String(headers['x-amz-content-sha256'] ?? '')
  const isChunked = declared.startsWith('STREAMING-') || String(headers['content-encoding']).includes('aws-chunked')
  const { bytes, trailers } = isChunked ? decodeChunks(raw) : { bytes: raw, trailers: {} }
  const all: Readonly<Record<string, unknown>> = { ...headers, ...trailers }
  const length = headers['x-amz-decoded-content-length']
  if (length !== undefined && Number(length) !== bytes.length)
    throw new S3Refusal(400, 'IncompleteBody', `${bytes.length} of ${length} bytes came`)
  if (/^[0-9a-f]{64}$/.test(declared) && declared !== digest('sha256', raw, 'hex'))
    throw new S3Refusal(400, 'XAmzContentSHA256Mismatch')
  for (const [header, sum] of Object.entries(SUMS)) {
    const sent = all[header]
    if (sent !== undefined && sent !== sum(bytes)) throw new S3Refusal(400, 'BadDigest', `${header} is wrong`)
  }
  const unknown = Object.keys(all).find(
    name => name.startsWith('x-amz-checksum-') && !(name in SUMS || NO_SUMS.test(name)),
  )
  if (unknown !== undefined) throw new S3Refusal(501, 'NotImplemented', `the stub does not know ${unknown}`)
  return { bytes, crc32: (all['x-amz-checksum-crc32'] as string | undefined) ?? null }
}

const NO_SUMS = /^x-amz-checksum-(algorithm|mode|type)$/

const digest = (algorithm: string, bytes: Buffer, encoding: 'hex' | 'base64') =>
  createHash(algorithm).update(bytes).digest(encoding)

function base64(sum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(sum >>> 0)
  return bytes.toString('base64')
}

const SUMS: Readonly<Record<string, (bytes: Buffer) => string>> = {
  'content-md5': bytes => digest('md5', bytes, 'base64'),
  'x-amz-checksum-crc32': bytes => base64(crc32(bytes)),
  'x-amz-checksum-crc32c': bytes => base64(crc32c(bytes)),
  'x-amz-checksum-sha1': bytes => digest('sha1', bytes, 'base64'),
  'x-amz-checksum-sha256': bytes => digest('sha256', bytes, 'base64'),
}

/**
 * Decodes the aws-chunked encoding:
 *
 *   chunk    = hex-size [";chunk-signature=" hex] CRLF bytes CRLF     the last chunk has size 0 and no bytes
 *   trailers = *(name ":" value CRLF) CRLF
 */
function decodeChunks(raw: Buffer): { readonly bytes: Buffer; readonly trailers: Readonly<Record<string, string>> } {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = raw.indexOf('\r\n', at)
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(raw.toString('latin1', at, lineEnd), 16)
    const from = lineEnd + 2
    if (!(size >= 0) || from + size > raw.length) throw new S3Refusal(400, 'IncompleteBody', 'a chunk is cut')
    if (size === 0) {
      const lines = raw.toString('latin1', from).split(/\r?\n/)
      const pairs = lines.flatMap(line => {
        const colon = line.indexOf(':')
        return colon < 0 ? [] : [[line.slice(0, colon).toLowerCase().trim(), line.slice(colon + 1).trim()] as const]
      })
      return { bytes: Buffer.concat(chunks), trailers: Object.fromEntries(pairs) }
    }
    chunks.push(raw.subarray(from, from + size))
    at = from + size + 2
  }
}
