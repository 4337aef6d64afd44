// The stub refuses requests that a store refuses, and understands those of other clients than ours.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { systemClock } from '../src/base/clock.ts'
import { startS3Stub } from './s3-stub.ts'

const dateOf = (timeMs: number) => new Date(timeMs).toISOString().replace(/[-:]|\.\d+/g, '')
const signerOf = (keyId: string) =>
  `AWS4-HMAC-SHA256 Credential=${keyId}/20261127/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00`

async function open(t: TestContext) {
  const stub = await startS3Stub(t)
  const signed = { authorization: signerOf(stub.options.accessKeyId!), 'x-amz-date': dateOf(systemClock.now()) }
  const ask = async (method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) => {
    const init = { method, headers: { ...signed, ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await fetch(`${stub.endpoint}${path}`, init)
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { stub, ask }
}

const sumOf = (text: string) => {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(text))
  return sum.toString('base64')
}

const CHUNKED = { 'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'content-encoding': 'aws-chunked' }
const chunks = (sum: string) =>
  `5\r\nhello\r\n6;chunk-signature=00\r\n world\r\n0\r\nx-amz-checksum-crc32:${sum}\r\n\r\n`

test('a body in the aws-chunked encoding is decoded, and its length and its checksum are checked', async t => {
  const { stub, ask } = await open(t)
  const put = (length: number, sum: string) =>
    ask('PUT', '/bucket/a', { ...CHUNKED, 'x-amz-decoded-content-length': String(length) }, chunks(sum))
  assert.match((await put(11, sumOf('other'))).text, /<Code>BadDigest</)
  assert.match((await put(12, sumOf('hello world'))).text, /<Code>IncompleteBody</)
  assert.equal(stub.objects.size, 0)
  assert.equal((await put(11, sumOf('hello world'))).status, 200)
  assert.equal(stub.objects.get('a')?.bytes.toString(), 'hello world')
})

test('a wrong checksum of a plain body is refused', async t => {
  const { stub, ask } = await open(t)
  for (const [header, value] of [
    ['x-amz-checksum-crc32', sumOf('b')],
    ['content-md5', 'AAAAAAAAAAAAAAAAAAAAAA=='],
    ['x-amz-content-sha256', '0'.repeat(64)],
    ['x-amz-checksum-sha256', 'AA=='],
  ] as const)
    assert.equal((await ask('PUT', '/bucket/a', { [header]: value }, 'a')).status, 400, header)
  assert.equal(stub.objects.size, 0)
})

test('a request needs a signer that the stub knows, and a date near its clock', async t => {
  const { ask } = await open(t)
  assert.match((await ask('GET', '/bucket/a', { authorization: '' })).text, /<Code>AccessDenied</)
  assert.match((await ask('GET', '/bucket/a', { authorization: signerOf('X') })).text, /<Code>InvalidAccessKeyId</)
  const early = dateOf(systemClock.now() - 20 * 60_000)
  assert.match((await ask('GET', '/bucket/a', { 'x-amz-date': early })).text, /<Code>RequestTimeTooSkewed</)
  assert.match((await ask('GET', '/other/a')).text, /<Code>NoSuchBucket</)
  assert.match((await ask('GET', '/bucket/a')).text, /<Code>NoSuchKey</)
})

test('ranges may be open at either end', async t => {
  const { ask } = await open(t)
  await ask('PUT', '/bucket/a', {}, '0123456789')
  const range = async (text: string) => {
    const { status, text: body, headers } = await ask('GET', '/bucket/a', { range: `bytes=${text}` })
    return `${status} ${status === 206 ? body : ''} ${headers.get('content-range')}`
  }
  assert.equal(await range('2-4'), '206 234 bytes 2-4/10')
  assert.equal(await range('7-'), '206 789 bytes 7-9/10')
  assert.equal(await range('-3'), '206 789 bytes 7-9/10')
  assert.equal(await range('8-99'), '206 89 bytes 8-9/10')
  assert.equal(await range('10-'), '416  null')
})

test('a list may have a delimiter, a start and a limit', async t => {
  const { ask } = await open(t)
  for (const key of ['a', 'b/1', 'b/2', 'c/d/e', 'f']) await ask('PUT', `/bucket/${key}`, {}, key)
  const list = async (query: string) =>
    [...(await ask('GET', `/bucket?list-type=2&${query}`)).text.matchAll(/<(?:Key|Prefix|IsTruncated)>(.*?)</g)]
      .map(match => match[1])
      .join(' ')
  assert.equal(await list('delimiter=/'), ' false a b/ c/ f')
  assert.equal(await list('delimiter=/&prefix=b/'), 'b/ false b/1 b/2')
  assert.equal(await list('start-after=b/1'), ' false b/2 c/d/e f')
  assert.equal(await list('max-keys=2'), ' true a b/1')
})

test('an upload with a small part, a part in a wrong order or without parts is refused', async t => {
  const { stub, ask } = await open(t)
  const id = /<UploadId>(.*?)</.exec((await ask('POST', '/bucket/a?uploads')).text)![1]
  const put = async (part: number) =>
    (await ask('PUT', `/bucket/a?partNumber=${part}&uploadId=${id}`, {}, `part ${part}`)).headers.get('etag')
  const etags = [await put(1), await put(2)]
  const complete = async (...parts: readonly number[]) => {
    const rows = parts.map(n => `<Part><PartNumber>${n}</PartNumber><ETag>${etags[n - 1] ?? '"0"'}</ETag></Part>`)
    const document = `<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`
    const { status, text } = await ask('POST', `/bucket/a?uploadId=${id}`, {}, document)
    return /<Code>(.*?)</.exec(text)?.[1] ?? status
  }
  assert.equal(await complete(), 'MalformedXML')
  assert.equal(await complete(3), 'InvalidPart')
  assert.equal(await complete(1, 2), 'EntityTooSmall')
  assert.equal(stub.objects.size, 0)
  assert.equal(await complete(2), 200)
  assert.equal(stub.objects.get('a')?.bytes.toString(), 'part 2')
  assert.equal(await complete(2), 'NoSuchUpload')
})

test('a delete of many objects needs a checksum', async t => {
  const { stub, ask } = await open(t)
  await ask('PUT', '/bucket/a&b', {}, 'a')
  const document = '<Delete><Object><Key>a&amp;b</Key></Object><Quiet>true</Quiet></Delete>'
  assert.match((await ask('POST', '/bucket?delete', {}, document)).text, /<Code>InvalidRequest</)
  assert.equal(stub.objects.size, 1)
  const sum = { 'x-amz-checksum-crc32': sumOf(document) }
  assert.equal((await ask('POST', '/bucket?delete', sum, document)).status, 200)
  assert.equal(stub.objects.size, 0)
})
