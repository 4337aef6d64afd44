// Reads the errors of the S3 client, and maps them to errors of the port. The client's own errors are not kept as
// causes: they hold the signature and the id of the key.

import { cut } from '../../base/cut.ts'
import { printable } from '../../base/printable.ts'
import { ObjectStoreError, type ObjectStoreErrorKind } from './objects.ts'

/** An error of the S3 client, read. */
export interface S3Failure {
  /** The HTTP status; null if no answer came. */
  readonly status: number | null
  /** The code in S3's error document, such as NoSuchKey; '' if it has none. */
  readonly code: string
  /** True if the store certainly got no request. */
  readonly isUnsent: boolean
  /** Continues "cannot read a: ". */
  readonly said: string
}

/** Codes of AWS, MinIO and others for a store without room. */
const FULL = ['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'InsufficientStorage']
/** Codes that come with a 4xx status although a later attempt may succeed. */
const PASSING = ['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException', 'TooManyRequests']

const NO_CONNECTION = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']
/** Node's codes for a certificate that it does not trust, and for a port without TLS. */
const TLS = /CERT|SIGNATURE|UNABLE_TO_VERIFY|^ERR_SSL_|^EPROTO$/

export function readFailure(error: unknown): S3Failure {
  const { name, message, code, $metadata } = error as Error & {
    readonly code?: string
    readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string }
  }
  const status = $metadata?.httpStatusCode ?? null
  if (status !== null) {
    // Without an error document, or with another one than S3's, the client says only that it is unknown.
    const isS3 = !['Unknown', 'Error', 'TypeError'].includes(name)
    const text = isS3 && message !== 'UnknownError' && message !== name ? `: ${message}` : ''
    const id = $metadata?.requestId === undefined ? '' : ` (request ${$metadata.requestId})`
    const answer = isS3 ? `${status} ${name}${text}` : `${status} without an error of S3`
    return { status, code: isS3 ? name : '', isUnsent: false, said: `the store answered ${tidy(answer)}${tidy(id)}` }
  }
  const isUnsent =
    NO_CONNECTION.includes(code ?? '') ||
    TLS.test(code ?? '') ||
    name === 'CredentialsProviderError' ||
    /did not establish a connection|^Region is missing/.test(message)
  const isWithoutRegion = message.startsWith('Region is missing')
  return {
    status,
    code: isWithoutRegion ? 'RegionMissing' : (code ?? name),
    isUnsent,
    said: tidy(sentenceOf(error as Error)),
  }
}

/** Returns the kind of an error of a request that may be repeated. */
export function kindOf({ status, code }: S3Failure): ObjectStoreErrorKind {
  if (status === 507 || FULL.includes(code)) return 'full'
  if (status === null)
    return TLS.test(code) || ['CredentialsProviderError', 'RegionMissing'].includes(code) ? 'refused' : 'away'
  if (status === 501) return 'refused'
  if (status === 408 || status === 429 || status >= 500 || PASSING.includes(code)) return 'away'
  // The answer was cut, or it is of another server.
  if (status === 404 && code === '') return 'away'
  return 'refused'
}

/** `what` continues "cannot", for example `read s3://bucket/key`. */
export function s3Error(what: string, error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error
  const failure = readFailure(error)
  return new ObjectStoreError(kindOf(failure), `cannot ${what}: ${failure.said}${hintOf(failure)}`)
}

function hintOf({ status, code }: S3Failure): string {
  if (status === 403 && (code === '' || code === 'AccessDenied'))
    return '; the key needs s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket'
  if (status === 301 || code === 'AuthorizationHeaderMalformed') return '; the bucket may be in another region'
  return ''
}

function sentenceOf(error: Error): string {
  const timeout = /did not establish a connection.* (\d+) ms/.exec(error.message)
  if (timeout !== null) return `no connection within ${timeout[1]} ms`
  if (error.message.startsWith('Region is missing')) return 'no region is set for the bucket'
  const idle = /timed out after (\d+) ms of inactivity/.exec(error.message)
  if (idle !== null) return `no byte came or went for ${idle[1]} ms`
  // Node tries each address of a name, and its error has no text of its own.
  if (error.message === '' && error instanceof AggregateError)
    return error.errors.map((each: Error) => each.message).join(', ')
  return error.message
}

/** A store may quote the request. Signatures are 64 hexadecimal digits. */
function tidy(text: string): string {
  return printable(cut(text.replace(/[0-9a-f]{64}/g, '…')))
}
