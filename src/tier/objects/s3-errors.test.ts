import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ObjectStoreError } from './objects.ts'
import { readFailure, s3Error } from './s3-errors.ts'

/** An error as the client of S3 throws it after an answer. */
const answered = (httpStatusCode: number, name = 'Unknown', message = 'UnknownError', more = {}) =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode, ...more } })
/** An error of the connection. */
const cut = (code: string, message = code) => Object.assign(new Error(message), { code })

const shown = (error: unknown) => {
  const { kind, message } = s3Error('read s3://b/k', error)
  return `${kind}: ${message}`
}

for (const [error, expected] of [
  [
    answered(403, 'AccessDenied', 'Access Denied', { requestId: 'R1' }),
    'refused: cannot read s3://b/k: the store answered 403 AccessDenied: Access Denied (request R1); the key needs s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket',
  ],
  [
    answered(404, 'NoSuchBucket', 'The specified bucket does not exist'),
    'refused: cannot read s3://b/k: the store answered 404 NoSuchBucket: The specified bucket does not exist',
  ],
  [
    answered(301, 'PermanentRedirect', 'Use another endpoint'),
    'refused: cannot read s3://b/k: the store answered 301 PermanentRedirect: Use another endpoint; the bucket may be in another region',
  ],
  [answered(503, 'SlowDown', 'SlowDown'), 'away: cannot read s3://b/k: the store answered 503 SlowDown'],
  [answered(502), 'away: cannot read s3://b/k: the store answered 502 without an error of S3'],
  [
    answered(429, 'TooManyRequests', 'later'),
    'away: cannot read s3://b/k: the store answered 429 TooManyRequests: later',
  ],
  [answered(400, 'RequestTimeout', 'slow'), 'away: cannot read s3://b/k: the store answered 400 RequestTimeout: slow'],
  [answered(501, 'NotImplemented', 'no'), 'refused: cannot read s3://b/k: the store answered 501 NotImplemented: no'],
  [
    answered(507, 'XMinioStorageFull', 'no space'),
    'full: cannot read s3://b/k: the store answered 507 XMinioStorageFull: no space',
  ],
  [
    answered(404, 'Error', 'XML parse error'),
    'away: cannot read s3://b/k: the store answered 404 without an error of S3',
  ],
  [cut('ECONNREFUSED', 'connect ECONNREFUSED ::1:9'), 'away: cannot read s3://b/k: connect ECONNREFUSED ::1:9'],
  [
    Object.assign(new AggregateError([new Error('one'), new Error('two')], ''), { code: 'ECONNREFUSED' }),
    'away: cannot read s3://b/k: one, two',
  ],
  [cut('CERT_HAS_EXPIRED', 'certificate has expired'), 'refused: cannot read s3://b/k: certificate has expired'],
  [new Error('Region is missing'), 'refused: cannot read s3://b/k: no region is set for the bucket'],
  [
    Object.assign(new Error('Could not load credentials from any providers'), { name: 'CredentialsProviderError' }),
    'refused: cannot read s3://b/k: Could not load credentials from any providers',
  ],
] as const)
  test(`an error of S3 is told as '${expected}'`, () => assert.equal(shown(error), expected))

test('only errors before the request are certain to have changed nothing', () => {
  const noConnection = new Error('the request socket did not establish a connection … within the … of 50 ms.')
  assert.equal(readFailure(noConnection).said, 'no connection within 50 ms')
  for (const error of [cut('ECONNREFUSED'), cut('ENOTFOUND'), cut('ERR_TLS_CERT_ALTNAME_INVALID'), noConnection])
    assert.equal(readFailure(error).isUnsent, true, String(error))
  for (const error of [cut('ECONNRESET'), cut('EPIPE'), answered(503), answered(403), new Error('?')])
    assert.equal(readFailure(error).isUnsent, false, String(error))
})

test('a message of the store loses its signatures, its line breaks and its length', () => {
  const message = shown(answered(403, 'SignatureDoesNotMatch', `expected ${'0a'.repeat(32)}\nin the request`))
  assert.match(message, /SignatureDoesNotMatch: expected …\\nin the request$/)
  assert.ok(shown(answered(400, 'Long', 'x'.repeat(10_000))).length < 200)
})

test('an error of the port stays as it is', () => {
  const error = new ObjectStoreError('full', 'no room')
  assert.equal(s3Error('read', error), error)
})
