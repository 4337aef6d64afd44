// Objects in a bucket of an S3 store, below a prefix. Everything here is said in the words of the port; s3-client.ts
// has the connections, s3-upload.ts the writes in parts, and s3-errors.ts the meaning of a refusal.

import { objectionToKey } from '../../base/object-key.ts'
import { checkMemory, checkRange } from './byte-range.ts'
import { type ByteRange, checkKey, type ObjectFacts, ObjectStoreError, type Objects } from './objects.ts'
import { ATTEMPTS, type GetObjectCommandOutput, loadS3, type S3Clients, type S3Options } from './s3-client.ts'
import { kindOf, readFailure, s3Error } from './s3-errors.ts'
import { put, type Upload, upload } from './s3-upload.ts'

/** The most objects that one DeleteObjects may name (S3 API reference). */
const DELETED_AT_ONCE = 1_000

export interface Bucket {
  readonly bucket: string
  /** '' or without '/' at its ends. */
  readonly prefix: string
}

/** Loads the client. Sends nothing. Throws an Error that names the endpoint if it is no URL of a store. */
export async function openS3(place: Bucket, options: S3Options): Promise<Objects> {
  checkEndpoint(options.endpoint)
  return s3Objects(place, await loadS3(options))
}

function checkEndpoint(endpoint: string | undefined): void {
  if (endpoint === undefined) return
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === '')
    return
  // A login in the URL must not get into a log.
  const shown = endpoint.replace(/\/\/.*@/s, '//***@').replace(/\?.*/s, '?…')
  throw new Error(`'${shown}' is no endpoint of S3; expected a URL such as https://storage.example.com:9000`)
}

function s3Objects({ bucket: Bucket, prefix }: Bucket, clients: S3Clients): Objects {
  const { ordinary, once, sdk } = clients
  const uri = prefix === '' ? `s3://${Bucket}` : `s3://${Bucket}/${prefix}`
  const base = prefix === '' ? '' : `${prefix}/`

  const address = (key: string) => {
    checkKey(key)
    return { Bucket, Key: base + key }
  }

  async function read(key: string, range?: ByteRange): Promise<Uint8Array<ArrayBuffer> | null> {
    checkRange(range)
    const object = address(key)
    // HTTP has no empty ranges.
    if (range !== undefined && range.start === range.end) return (await stat(key)) === null ? null : new Uint8Array()
    const request = range === undefined ? object : { ...object, Range: `bytes=${range.start}-${range.end - 1}` }
    for (let attempt = 1; ; attempt++) {
      let answer: GetObjectCommandOutput
      try {
        answer = await ordinary.send(new sdk.GetObjectCommand(request))
      } catch (error) {
        const { status, code } = readFailure(error)
        if (code === 'NoSuchKey') return null
        if (range !== undefined && status === 416) return new Uint8Array()
        throw s3Error(`read ${uri}/${key}`, error)
      }
      try {
        return await bytesOf(`${uri}/${key}`, answer, range)
      } catch (error) {
        if (error instanceof ObjectStoreError) throw error
        // The client repeats a request that got no answer, but not one whose body was cut.
        if (attempt < ATTEMPTS) continue
        throw new ObjectStoreError('away', `cannot read ${uri}/${key}: ${readFailure(error).said}`)
      }
    }
  }

  async function head(key: string): Promise<ObjectFacts | null> {
    try {
      const { ContentLength, LastModified } = await ordinary.send(new sdk.HeadObjectCommand(address(key)))
      return { size: ContentLength ?? 0, changedAtMs: timeOf(LastModified) }
    } catch (error) {
      if (readFailure(error).status === 404) return null
      throw s3Error(`look at ${uri}/${key}`, error)
    }
  }

  async function stat(key: string): Promise<ObjectFacts | null> {
    const facts = await head(key)
    if (facts !== null) return facts
    // The answer to HEAD has no body, so its 404 does not tell a missing object from a missing bucket.
    return (await read(key, { start: 0, end: 1 })) === null ? null : head(key)
  }

  async function create(key: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
    const what = `create ${uri}/${key}`
    const request = { ...address(key), Body: bytes, IfNoneMatch: '*', ChecksumAlgorithm: 'CRC32' } as const
    for (let attempt = 1; ; attempt++) {
      try {
        await once.send(new sdk.PutObjectCommand(request))
        return 'created'
      } catch (error) {
        const failure = readFailure(error)
        if (failure.status === 412) return 'exists'
        if (failure.status === 409) throw new ObjectStoreError('conflict', `cannot ${what}: ${failure.said}`)
        // Our clock is wrong. The client has corrected its own by the answer, and the store did nothing.
        if (failure.code === 'RequestTimeTooSkewed' && attempt < ATTEMPTS) continue
        if (failure.isUnsent || kindOf(failure) !== 'away') throw s3Error(what, error)
        throw new ObjectStoreError('unknown', `${uri}/${key} may have been created or not: ${failure.said}`)
      }
    }
  }

  async function deleteSome(keys: readonly string[]): Promise<void> {
    const what = `delete ${keys.length === 1 ? `${uri}/${keys[0]}` : `${keys.length} objects of ${uri}`}`
    try {
      const Objects = keys.map(key => ({ Key: address(key).Key }))
      const request = { Bucket, Delete: { Objects, Quiet: true }, ChecksumAlgorithm: 'CRC32' } as const
      const { Errors } = await ordinary.send(new sdk.DeleteObjectsCommand(request))
      const failed = Errors?.find(each => each.Code !== 'NoSuchKey')
      if (failed === undefined) return
      // Each object has a refusal of its own. The first one stands for them all.
      const name = failed.Code ?? 'Unknown'
      const $metadata = { httpStatusCode: /^(InternalError|SlowDown|ServiceUnavailable)$/.test(name) ? 503 : 403 }
      throw Object.assign(new Error(`${failed.Message ?? name}, for ${failed.Key}`), { name, $metadata })
    } catch (error) {
      throw s3Error(what, error)
    }
  }

  return {
    uri,
    read,
    stat,
    create,

    async write(key, parts) {
      const sizeOf = async () => (await head(key))?.size ?? null
      const object: Upload = { ...address(key), what: `write ${uri}/${key}`, sizeOf }
      return { size: await upload(clients, object, parts) }
    },

    async replace(key, bytes) {
      await put(clients, { ...address(key), what: `write ${uri}/${key}` }, bytes)
    },

    async *list(below) {
      let ContinuationToken: string | undefined
      do {
        const request = { Bucket, Prefix: base + below, ContinuationToken }
        let page: Awaited<ReturnType<typeof listPage>>
        try {
          page = await listPage(request)
        } catch (error) {
          throw s3Error(`list ${uri}/${below}`, error)
        }
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          const key = Key!.slice(base.length)
          if (objectionToKey(key) !== null) continue
          yield { key, size: Size ?? 0, changedAtMs: timeOf(LastModified) }
        }
        ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
      } while (ContinuationToken !== undefined)
    },

    async delete(keys) {
      for (let from = 0; from < keys.length; from += DELETED_AT_ONCE)
        await deleteSome(keys.slice(from, from + DELETED_AT_ONCE))
    },

    async close() {
      ordinary.destroy()
      once.destroy()
    },
  }

  function listPage(request: { Bucket: string; Prefix: string; ContinuationToken: string | undefined }) {
    return ordinary.send(new sdk.ListObjectsV2Command(request))
  }
}

/** In whole seconds, as in the header of HEAD; some stores list milliseconds. */
function timeOf(changed: Date | undefined): number {
  return Math.floor((changed?.getTime() ?? 0) / 1_000) * 1_000
}

/** Reads the body of an answer into memory of its own. Throws if the body is cut or fails its checksum. */
async function bytesOf(
  what: string,
  answer: GetObjectCommandOutput,
  range: ByteRange | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks = answer.Body as (AsyncIterable<Uint8Array> & { destroy?(): void }) | undefined
  const expected = answer.ContentLength
  try {
    checkMemory(what, expected ?? 0, range)
  } catch (error) {
    // A body that is not read would keep its connection.
    chunks?.destroy?.()
    throw error
  }
  let bytes = new Uint8Array(expected ?? 0)
  let filled = 0
  for await (const chunk of chunks ?? []) {
    if (filled + chunk.length > bytes.length) {
      checkMemory(what, filled + chunk.length, range)
      const larger = new Uint8Array(Math.max(2 * bytes.length, filled + chunk.length))
      larger.set(bytes.subarray(0, filled))
      bytes = larger
    }
    bytes.set(chunk, filled)
    filled += chunk.length
  }
  if (expected !== undefined && filled !== expected) throw new Error(`${filled} of ${expected} bytes came`)
  if (filled < bytes.length) bytes = bytes.slice(0, filled)
  if (range === undefined) return bytes
  // A store or a proxy that knows no ranges sends the whole object.
  if (answer.ContentRange === undefined) return bytes.slice(range.start, range.end)
  if (!answer.ContentRange.startsWith(`bytes ${range.start}-`))
    throw new Error(`the store sent ${answer.ContentRange} for bytes from ${range.start}`)
  return bytes
}
