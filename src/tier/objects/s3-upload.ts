// Writes an object to S3 as its parts are made. An object that fits into one part is one request. A larger one is a
// multipart upload: its parts are checked as they come, and readers see it when the last request completes it.

import { twoAtOnce } from '../../base/ahead.ts'
import { ObjectStoreError } from './objects.ts'
import type { S3Clients } from './s3-client.ts'
import { readFailure, s3Error } from './s3-errors.ts'

/** S3 allows at least 5 MiB. */
export const PART_BYTES = 8 << 20
/** A limit of S3. */
const MOST_PARTS = 10_000

export interface Upload {
  readonly Bucket: string
  /** With the prefix of the place. */
  readonly Key: string
  /** For messages. */
  readonly what: string
  /** Resolves with the size of the object; null if it does not exist. */
  sizeOf(): Promise<number | null>
}

/** At most three parts are in memory. Resolves with the size in bytes. */
export async function upload(
  clients: S3Clients,
  object: Upload,
  parts: AsyncIterable<Uint8Array> | Uint8Array,
): Promise<number> {
  const blocks = blocksOf(parts)
  try {
    const first = await blocks.next()
    const second = first.done ? first : await blocks.next()
    if (!first.done && !second.done)
      return await uploadParts(clients, object, chained([first.value, second.value], blocks))
    const bytes = first.done ? new Uint8Array() : first.value
    await put(clients, object, bytes)
    return bytes.length
  } finally {
    // The source may hold a thread until it is told that no more parts are wanted.
    await blocks.return()
  }
}

export async function put(
  { ordinary, sdk }: S3Clients,
  { Bucket, Key, what }: Pick<Upload, 'Bucket' | 'Key' | 'what'>,
  bytes: Uint8Array,
): Promise<void> {
  try {
    await ordinary.send(new sdk.PutObjectCommand({ Bucket, Key, Body: bytes, ChecksumAlgorithm: 'CRC32' }))
  } catch (error) {
    throw s3Error(what, error)
  }
}

async function uploadParts(
  { ordinary, sdk }: S3Clients,
  { Bucket, Key, what, sizeOf }: Upload,
  blocks: AsyncGenerator<Uint8Array, void>,
): Promise<number> {
  const send = async <T>(request: () => Promise<T>): Promise<T> => {
    try {
      return await request()
    } catch (error) {
      throw s3Error(what, error)
    }
  }
  const begin = new sdk.CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'CRC32' })
  const { UploadId } = await send(() => ordinary.send(begin))
  let size = 0
  let number = 0
  const uploadPart = async (Body: Uint8Array) => {
    const PartNumber = ++number
    if (PartNumber > MOST_PARTS)
      throw new ObjectStoreError(
        'refused',
        `cannot ${what}: it has more than ${MOST_PARTS} parts of ${PART_BYTES} bytes`,
      )
    size += Body.length
    const request = { Bucket, Key, UploadId, PartNumber, Body, ChecksumAlgorithm: 'CRC32' } as const
    const { ETag, ChecksumCRC32 } = await send(() => ordinary.send(new sdk.UploadPartCommand(request)))
    // Some stores check the sum of a part but do not return it.
    return { PartNumber, ETag, ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }) }
  }

  try {
    const Parts = await Array.fromAsync(twoAtOnce(blocks, uploadPart))
    await complete(Parts)
    return size
  } catch (error) {
    throw await abort(error)
  }

  async function complete(Parts: Awaited<ReturnType<typeof uploadPart>>[]): Promise<void> {
    try {
      await ordinary.send(new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
    } catch (error) {
      // If an answer was lost, the next attempt finds no upload, but the object. No other call uses the name.
      const mapped = s3Error(what, error)
      const mayBeDone = mapped.kind === 'away' || readFailure(error).code === 'NoSuchUpload'
      if (!mayBeDone || (await sizeOf()) !== size) throw mapped
    }
  }

  /** The parts of an upload cost their storage until it is completed or aborted. Resolves with the error to throw. */
  async function abort(error: unknown): Promise<unknown> {
    try {
      await ordinary.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
      return error
    } catch (failure) {
      if (readFailure(failure).code === 'NoSuchUpload' || !(error instanceof ObjectStoreError)) return error
      const stay = 'its parts stay in the store until a lifecycle rule of the bucket removes them'
      return new ObjectStoreError(error.kind, `${error.message}; ${stay}: ${readFailure(failure).said}`, error.cause)
    }
  }
}

/** Yields the bytes in blocks of PART_BYTES; the last one may be shorter. */
async function* blocksOf(parts: AsyncIterable<Uint8Array> | Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (parts instanceof Uint8Array) {
    for (let at = 0; at < parts.length; at += PART_BYTES) yield parts.subarray(at, at + PART_BYTES)
    return
  }
  let block = new Uint8Array(PART_BYTES)
  let filled = 0
  for await (const part of parts)
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + PART_BYTES - filled)
      block.set(taken, filled)
      filled += taken.length
      at += taken.length
      if (filled < PART_BYTES) continue
      yield block
      block = new Uint8Array(PART_BYTES)
      filled = 0
    }
  if (filled > 0) yield block.subarray(0, filled)
}

async function* chained<T>(first: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* first
  yield* rest
}
