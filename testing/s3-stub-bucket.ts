// The bucket of the S3 stub: its objects and uploads in memory, and the operations on them, each in the words of the S3
// API reference. It knows no sockets and no faults.

import { createHash } from 'node:crypto'
import type { Clock } from '../src/base/clock.ts'
import { type Checked, S3Refusal } from './s3-stub-body.ts'

export interface StubObject {
  readonly bytes: Buffer
  readonly etag: string
  readonly changedAtMs: number
  readonly crc32: string | null
}

export interface StubAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: Buffer | string
}

/**
 * The behaviour of a PUT with `If-None-Match: *`.
 * - atomic: one succeeds, the others get 412.
 * - conflicts: as AWS; a PUT that meets another one in flight gets 409.
 * - ignored: each one succeeds.
 * - racy: each one looks when it begins and writes when it ends.
 */
export type Conditional = 'atomic' | 'conflicts' | 'ignored' | 'racy'

/** S3's smallest part that is not the last one. */
const SMALLEST_PART_BYTES = 5 << 20

const escapeXml = (text: string) => text.replace(/[&<>"]/g, found => `&#${found.charCodeAt(0)};`)
const unescapeXml = (text: string) =>
  text
    .replace(/&#x([0-9a-f]+);/gi, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replace(/&#(\d+);/g, (_, decimal) => String.fromCodePoint(Number(decimal)))
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&apos;/g, "'")
    .replace(/&amp;/g, '&')

export const xml = (name: string, content: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex')
const valuesOf = (document: string, name: string) =>
  [...document.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(match => unescapeXml(match[1]!))

export class StubBucket {
  readonly objects = new Map<string, StubObject>()
  /** By upload id: the key and the parts so far. */
  readonly uploads = new Map<string, { readonly key: string; readonly parts: Map<number, Checked> }>()
  readonly #clock: Clock
  readonly #pageSize: number
  #uploadCount = 0

  constructor(clock: Clock, pageSize: number) {
    this.#clock = clock
    this.#pageSize = pageSize
  }

  put(key: string, { bytes, crc32 }: Checked): StubAnswer {
    const object = { bytes, crc32, etag: md5(bytes), changedAtMs: this.#clock.now() }
    this.objects.set(key, object)
    return { status: 200, headers: { ETag: `"${object.etag}"` } }
  }

  get(key: string, range: string | undefined, withSum: boolean): StubAnswer {
    const object = this.objects.get(key)
    if (object === undefined) throw new S3Refusal(404, 'NoSuchKey', 'The specified key does not exist.')
    const { bytes, etag, changedAtMs, crc32 } = object
    const headers = {
      ETag: `"${etag}"`,
      'Last-Modified': new Date(changedAtMs).toUTCString(),
      'Accept-Ranges': 'bytes',
      'Content-Type': 'application/octet-stream',
    }
    const asked = /^bytes=(\d*)-(\d*)$/.exec(range ?? '')
    if (asked === null)
      return {
        status: 200,
        body: bytes,
        headers: { ...headers, ...(withSum && crc32 !== null ? { 'x-amz-checksum-crc32': crc32 } : {}) },
      }
    const [start, end] =
      asked[1] === ''
        ? [Math.max(0, bytes.length - Number(asked[2])), bytes.length]
        : [Number(asked[1]), asked[2] === '' ? bytes.length : Math.min(Number(asked[2]) + 1, bytes.length)]
    if (start >= bytes.length) throw new S3Refusal(416, 'InvalidRange', 'The requested range is not satisfiable')
    const contentRange = `bytes ${start}-${end - 1}/${bytes.length}`
    return { status: 206, body: bytes.subarray(start, end), headers: { ...headers, 'Content-Range': contentRange } }
  }

  delete(key: string): StubAnswer {
    this.objects.delete(key)
    return { status: 204 }
  }

  deleteMany(document: string): StubAnswer {
    const keys = valuesOf(document, 'Key')
    if (keys.length === 0 || keys.length > 1_000) throw new S3Refusal(400, 'MalformedXML', `${keys.length} keys`)
    for (const key of keys) this.objects.delete(key)
    const isQuiet = valuesOf(document, 'Quiet')[0] === 'true'
    const deleted = isQuiet ? '' : keys.map(key => `<Deleted><Key>${escapeXml(key)}</Key></Deleted>`).join('')
    return { status: 200, body: xml('DeleteResult', deleted) }
  }

  beginUpload(key: string): StubAnswer {
    const id = `upload-${++this.#uploadCount}`
    this.uploads.set(id, { key, parts: new Map() })
    return {
      status: 200,
      body: xml('InitiateMultipartUploadResult', `<Key>${escapeXml(key)}</Key><UploadId>${id}</UploadId>`),
    }
  }

  putPart(id: string, part: number, body: Checked): StubAnswer {
    if (!(part >= 1 && part <= 10_000)) throw new S3Refusal(400, 'InvalidArgument', `part ${part}`)
    this.#upload(id).parts.set(part, body)
    const sum = body.crc32 === null ? {} : { 'x-amz-checksum-crc32': body.crc32 }
    return { status: 200, headers: { ETag: `"${md5(body.bytes)}"`, ...sum } }
  }

  completeUpload(id: string, document: string): StubAnswer {
    const { key, parts } = this.#upload(id)
    const listed = valuesOf(document, 'Part').map(part => ({
      number: Number(valuesOf(part, 'PartNumber')[0]),
      etag: valuesOf(part, 'ETag')[0]?.replaceAll('"', ''),
      crc32: valuesOf(part, 'ChecksumCRC32')[0],
    }))
    const bodies = listed.map(({ number, etag, crc32 }, index) => {
      const part = parts.get(number)
      if (part === undefined || md5(part.bytes) !== etag || (crc32 !== undefined && crc32 !== part.crc32))
        throw new S3Refusal(400, 'InvalidPart', `part ${number}`)
      if (index > 0 && number <= listed[index - 1]!.number) throw new S3Refusal(400, 'InvalidPartOrder')
      if (index < listed.length - 1 && part.bytes.length < SMALLEST_PART_BYTES)
        throw new S3Refusal(400, 'EntityTooSmall', `part ${number} has ${part.bytes.length} bytes`)
      return part.bytes
    })
    if (bodies.length === 0) throw new S3Refusal(400, 'MalformedXML', 'no parts')
    this.put(key, { bytes: Buffer.concat(bodies), crc32: null })
    this.uploads.delete(id)
    return { status: 200, body: xml('CompleteMultipartUploadResult', `<Key>${escapeXml(key)}</Key>`) }
  }

  abortUpload(id: string): StubAnswer {
    this.#upload(id)
    this.uploads.delete(id)
    return { status: 204 }
  }

  /** ListObjectsV2. A token is the last key of the page before. */
  list(query: URLSearchParams): StubAnswer {
    const prefix = query.get('prefix') ?? ''
    const delimiter = query.get('delimiter') ?? ''
    const encode = query.get('encoding-type') === 'url' ? encodeURIComponent : escapeXml
    const token = query.get('continuation-token')
    const after = token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString()
    const most = Math.min(Number(query.get('max-keys') ?? 1_000), this.#pageSize)
    const keys = [...this.objects.keys()]
      .filter(key => key.startsWith(prefix))
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    // Keys with the same text up to the delimiter are one row.
    const rows = new Set<string>()
    for (const key of keys) {
      const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
      rows.add(cut < 0 ? key : key.slice(0, cut + delimiter.length))
    }
    const left = [...rows].filter(row => Buffer.compare(Buffer.from(row), Buffer.from(after)) > 0)
    const page = left.slice(0, most)
    const contents = page.map(row => {
      const object = this.objects.get(row)
      if (delimiter !== '' && row.endsWith(delimiter) && row.length > prefix.length)
        return `<CommonPrefixes><Prefix>${encode(row)}</Prefix></CommonPrefixes>`
      const changed = new Date(object!.changedAtMs).toISOString()
      return `<Contents><Key>${encode(row)}</Key><LastModified>${changed}</LastModified><ETag>"${object!.etag}"</ETag><Size>${object!.bytes.length}</Size></Contents>`
    })
    const next =
      left.length > page.length
        ? `<NextContinuationToken>${Buffer.from(page.at(-1)!).toString('base64url')}</NextContinuationToken>`
        : ''
    const encoding = encode === escapeXml ? '' : '<EncodingType>url</EncodingType>'
    const isTruncated = `<IsTruncated>${left.length > page.length}</IsTruncated>`
    const count = `<KeyCount>${page.length}</KeyCount><MaxKeys>${most}</MaxKeys><Prefix>${encode(prefix)}</Prefix>`
    return {
      status: 200,
      body: xml('ListBucketResult', `${count}${encoding}${isTruncated}${next}${contents.join('')}`),
    }
  }

  #upload(id: string) {
    const upload = this.uploads.get(id)
    if (upload === undefined) throw new S3Refusal(404, 'NoSuchUpload', 'The specified upload does not exist.')
    return upload
  }
}
