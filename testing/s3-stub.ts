// An S3 store in this process, on 127.0.0.1: one bucket, path style. It checks that a request is signed with the known
// key id and a date near its own clock, but not the signature itself. A function decides the fault of each request, so
// that a test can say which answer is lost.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, sleep, systemClock } from '../src/base/clock.ts'
import type { S3Options } from '../src/tier/objects/s3-client.ts'
import type { CleanUp } from './broker.ts'
import { checkedBody, collect, S3Refusal } from './s3-stub-body.ts'
import { type Conditional, type StubAnswer, StubBucket, type StubObject, xml } from './s3-stub-bucket.ts'

export interface StubRequest {
  readonly method: string
  /** Without the bucket; '' for the bucket itself. */
  readonly key: string
  readonly query: URLSearchParams
  /** The name of the operation in the S3 API reference, such as PutObject. */
  readonly operation: string
  /** 1 for the first request of the stub. */
  readonly number: number
}

/**
 * - lost: the operation is done, and the connection is cut instead of an answer.
 * - late: the connection is cut, and the operation is done when `doLate` is called.
 * - reset: the connection is cut, and nothing is done.
 * - unavailable: 503 SlowDown. forbidden: 403 AccessDenied. Nothing is done.
 * - cut upload: the connection is cut after half of the body.
 * - cut answer: the connection is cut after half of the answer's body.
 * - wrong bytes: a byte of the answer's body is flipped.
 * - silent: no answer comes, and the connection stays.
 */
export type StubFault =
  | 'lost'
  | 'late'
  | 'reset'
  | 'unavailable'
  | 'forbidden'
  | 'cut upload'
  | 'cut answer'
  | 'wrong bytes'
  | 'silent'
  | { readonly delayMs: number }

export type FaultOf = (request: StubRequest) => StubFault | null

export interface S3Stub {
  readonly endpoint: string
  readonly bucket: string
  /** For openS3: endpoint, keys, path style. */
  readonly options: S3Options
  readonly objects: Map<string, StubObject>
  /** The number of multipart uploads that were neither completed nor aborted. */
  readonly openUploads: number
  /** The requests since the start, or since the test emptied it. */
  readonly requests: StubRequest[]
  /** Decides the fault of each request from now on; by default no request has one. */
  faultOf: FaultOf
  /** Does the operations of `late` faults. */
  doLate(): Promise<void>
}

/** Returns a function that gives every nth request the fault. */
export function everyNth(n: number, fault: StubFault): FaultOf {
  return ({ number }) => (number % n === 0 ? fault : null)
}

/** The duration of a create if others shall meet it. */
const SLOW_CREATE_MS = 50

/** AWS refuses a request whose date is further away. */
const MOST_SKEW_MS = 15 * 60_000

export async function startS3Stub(
  cleanUp: CleanUp,
  options: {
    readonly conditional?: Conditional
    /** The most objects of a page of a list; 1,000 by default, as S3. */
    readonly pageSize?: number
    readonly clock?: Clock
    readonly port?: number
  } = {},
): Promise<S3Stub> {
  const { conditional = 'atomic', pageSize = 1_000, clock = systemClock, port = 0 } = options
  const name = 'bucket'
  const [accessKeyId, secretAccessKey] = ['STUBKEYID', 'stub secret']
  const bucket = new StubBucket(clock, pageSize)
  const late: (() => Promise<unknown>)[] = []
  const creating = new Set<string>()
  let count = 0

  const server = createServer((request, response) => {
    handle(request, response).catch(error => {
      // A client may cut its request at any time. Any other error is a mistake of the stub and ends the test.
      if (request.errored === null) throw error
    })
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.after(() => {
    server.closeAllConnections()
    return new Promise<void>(resolve => server.close(() => resolve()))
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const stub: S3Stub = {
    endpoint,
    bucket: name,
    options: { endpoint, accessKeyId, secretAccessKey, pathStyle: true },
    objects: bucket.objects,
    get openUploads() {
      return bucket.uploads.size
    },
    requests: [],
    faultOf: () => null,
    async doLate() {
      for (const each of late.splice(0)) await each()
    },
  }
  return stub

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, endpoint)
    const [, first, ...rest] = url.pathname.split('/').map(decodeURIComponent)
    const asked = { method: request.method!, key: rest.join('/'), query: url.searchParams }
    const seen: StubRequest = { ...asked, operation: operationOf(asked, request), number: ++count }
    stub.requests.push(seen)
    const fault = stub.faultOf(seen)
    if (typeof fault === 'object' && fault !== null) await sleep(clock, fault.delayMs)
    if (fault === 'silent') return
    if (fault === 'reset') return void request.socket.destroy()
    const half = Math.floor(Number(request.headers['content-length'] ?? 0) / 2)
    const raw = await collect(request, fault === 'cut upload' ? half : undefined)
    if (raw === null) return
    const act = async (): Promise<StubAnswer> => {
      try {
        if (fault === 'unavailable') throw new S3Refusal(503, 'SlowDown', 'Please reduce your request rate.')
        if (fault === 'forbidden') throw new S3Refusal(403, 'AccessDenied', 'Access Denied')
        checkSigner(request)
        if (first !== name) throw new S3Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist')
        return await perform(seen, request, raw)
      } catch (error) {
        if (!(error instanceof S3Refusal)) throw error
        // Unlike an answer, an error document has no namespace.
        const body = `<Error><Code>${error.code}</Code><Message>${error.message}</Message></Error>`
        return { status: error.status, headers: { 'Content-Type': 'application/xml' }, body }
      }
    }
    if (fault === 'late') {
      late.push(act)
      return void request.socket.destroy()
    }
    const answer = await act()
    if (fault === 'lost') return void request.socket.destroy()
    send(response, request.method === 'HEAD', answer, fault)
  }

  function send(response: ServerResponse, isHead: boolean, answer: StubAnswer, fault: StubFault | null): void {
    const body = Buffer.from(answer.body ?? '')
    const headers = { ...answer.headers, 'Content-Length': body.length, 'x-amz-request-id': `stub-${count}` }
    response.writeHead(answer.status, { ...headers, Date: new Date(clock.now()).toUTCString() })
    if (isHead) return void response.end()
    if (fault === 'cut answer') {
      response.write(body.subarray(0, body.length >> 1), () => response.destroy())
      return
    }
    if (fault !== 'wrong bytes') return void response.end(body)
    const wrong = Buffer.from(body)
    if (wrong.length > 0) wrong[wrong.length >> 1]! ^= 1
    response.end(wrong)
  }

  function checkSigner({ headers }: IncomingMessage): void {
    const signer =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/[^/]+\/s3\/aws4_request, ?SignedHeaders=[^,]+, ?Signature=/.exec(
        headers.authorization ?? '',
      )
    if (signer === null) throw new S3Refusal(403, 'AccessDenied', 'the request is not signed')
    if (signer[1] !== accessKeyId)
      throw new S3Refusal(
        403,
        'InvalidAccessKeyId',
        'The AWS Access Key Id you provided does not exist in our records.',
      )
    const iso = String(headers['x-amz-date']).replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5')
    if (!(Math.abs(Date.parse(iso) - clock.now()) <= MOST_SKEW_MS))
      throw new S3Refusal(
        403,
        'RequestTimeTooSkewed',
        'The difference between the request time and the current time is too large.',
      )
  }

  async function perform(asked: StubRequest, { headers }: IncomingMessage, raw: Buffer): Promise<StubAnswer> {
    const { key, query } = asked
    const body = () => checkedBody(headers, raw)
    const uploadId = query.get('uploadId') ?? ''
    switch (asked.operation) {
      case 'ListObjectsV2':
        return bucket.list(query)
      case 'HeadBucket':
        return { status: 200 }
      case 'GetBucketLocation':
        return { status: 200, body: xml('LocationConstraint', '') }
      case 'DeleteObjects':
        if (!Object.keys(headers).some(header => /^(content-md5$|x-amz-checksum-)/.test(header)))
          throw new S3Refusal(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5')
        return bucket.deleteMany(body().bytes.toString())
      case 'GetObject':
      case 'HeadObject':
        return bucket.get(key, headers.range, headers['x-amz-checksum-mode'] === 'ENABLED')
      case 'DeleteObject':
        return bucket.delete(key)
      case 'CreateMultipartUpload':
        return bucket.beginUpload(key)
      case 'UploadPart':
        return bucket.putPart(uploadId, Number(query.get('partNumber')), body())
      case 'CompleteMultipartUpload':
        return bucket.completeUpload(uploadId, body().bytes.toString())
      case 'AbortMultipartUpload':
        return bucket.abortUpload(uploadId)
      case 'PutObject':
        if (headers['if-none-match'] === undefined) return bucket.put(key, body())
        return await create(key, body)
      default:
        throw new S3Refusal(501, 'NotImplemented', `the stub does not know ${asked.method} ${asked.operation}`)
    }
  }

  async function create(key: string, body: () => ReturnType<typeof checkedBody>): Promise<StubAnswer> {
    const exists = new S3Refusal(
      412,
      'PreconditionFailed',
      'At least one of the pre-conditions you specified did not hold',
    )
    const isFree = () => conditional === 'ignored' || !bucket.objects.has(key)
    if (conditional === 'conflicts' && creating.has(key)) throw new S3Refusal(409, 'ConditionalRequestConflict')
    const wasFree = isFree()
    creating.add(key)
    try {
      // Others that come at the same time meet it here. A connection that is opened meanwhile takes some turns.
      if (conditional === 'racy' || conditional === 'conflicts') await sleep(clock, SLOW_CREATE_MS)
      if (!(conditional === 'racy' ? wasFree : isFree())) throw exists
      return bucket.put(key, body())
    } finally {
      creating.delete(key)
    }
  }
}

function operationOf(
  { method, key, query }: Pick<StubRequest, 'method' | 'key' | 'query'>,
  request: IncomingMessage,
): string {
  if (key === '') {
    if (method === 'HEAD') return 'HeadBucket'
    if (method === 'POST' && query.has('delete')) return 'DeleteObjects'
    if (method === 'GET') return query.has('location') ? 'GetBucketLocation' : 'ListObjectsV2'
    return 'of the bucket'
  }
  const isUpload = query.has('uploadId')
  if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload'
  if (method === 'PUT') {
    if (request.headers['x-amz-copy-source'] !== undefined) return 'CopyObject'
    return isUpload ? 'UploadPart' : 'PutObject'
  }
  if (method === 'DELETE') return isUpload ? 'AbortMultipartUpload' : 'DeleteObject'
  return method === 'HEAD' ? 'HeadObject' : 'GetObject'
}
