import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePlace } from './remote-place.ts'

test('a bucket may have a prefix', () => {
  assert.deepEqual(parsePlace('s3://bucket'), { kind: 's3', bucket: 'bucket', prefix: '' })
  assert.deepEqual(parsePlace('s3://bucket/'), { kind: 's3', bucket: 'bucket', prefix: '' })
  assert.deepEqual(parsePlace('s3://My_old.bucket-1/a'), { kind: 's3', bucket: 'My_old.bucket-1', prefix: 'a' })
  assert.deepEqual(parsePlace('s3://bucket/a b/c/'), { kind: 's3', bucket: 'bucket', prefix: 'a b/c' })
})

test('an absolute path is a folder', () => {
  assert.deepEqual(parsePlace('/data/tables'), { kind: 'folder', path: '/data/tables' })
  assert.deepEqual(parsePlace('/data//x/../tables/'), { kind: 'folder', path: '/data/tables' })
})

for (const [text, why] of [
  [
    '',
    /^'' is no place for objects: expected s3:\/\/bucket or s3:\/\/bucket\/prefix, or the absolute path of a folder$/,
  ],
  ['tables', /^'tables' is no place .*expected s3:\/\/bucket.*absolute path/],
  ['./tables', /absolute path of a folder/],
  ['file:///data', /^'file:\/\/\/data' is no place .*expected/],
  ['s3a://bucket', /^'s3a:\/\/bucket' is no place .*expected/],
  ['https://bucket.s3.amazonaws.com', /expected s3:\/\/bucket/],
  ['s3://', /names no bucket; expected/],
  ['s3:///prefix', /names no bucket; expected/],
  ['s3://b', /names no bucket; expected/],
  ['s3://a b/c', /names no bucket; expected/],
  ['s3://bucket//', /empty segment; expected/],
  ['s3://bucket/a//b', /empty segment.*; expected/],
  ['s3://bucket/a/../b', /segment '\.\.'; expected/],
  ['s3://bucket/.ketch-a', /reserved; expected/],
  [`s3://bucket/${'a/'.repeat(150)}b`, /longer than 200 bytes/],
  ['s3://bucket/50%', /has a '%'.*SQL/],
  ['/data/#1', /has a '#'.*SQL/],
  ['/data/a?', /has a '\?'.*SQL/],
  ['/data/a\nb', /^'\/data\/a\\nb' is no place.*control character/],
  ['/', /root of the file system/],
  ['/..', /root of the file system/],
] as const)
  test(`'${text.slice(0, 40).replace('\n', '·')}' is refused with its reason`, () => {
    assert.throws(() => parsePlace(text), { message: why })
  })

test('a refusal does not repeat a login in the URL', () => {
  assert.throws(
    () => parsePlace('s3://AKIAEXAMPLE:verysecret@bucket/p'),
    (error: Error) => /\*\*\*@bucket/.test(error.message) && !/AKIA|verysecret/.test(error.message),
  )
})
