import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { startS3Stub } from '../../../testing/s3-stub.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { openObjects, parsePlace } from './place.ts'

const deps = { clock: systemClock, random: systemRandom, warn: assert.fail }

/** The client is made of modules that Node keeps in this cache. */
const isS3Loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).some(path => path.includes('node_modules/@aws-sdk/'))

test('the client of S3 is loaded for a bucket, and not for a folder', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const inFolder = await openObjects(parsePlace(folder), {}, deps)
  t.after(() => inFolder.close())
  await inFolder.write('a', Buffer.from('a'))
  assert.deepEqual([inFolder.uri, isS3Loaded()], [`file://${folder}`, false])

  const stub = await startS3Stub(t)
  const inBucket = await openObjects(parsePlace('s3://bucket/tables'), stub.options, deps)
  t.after(() => inBucket.close())
  await inBucket.write('a', Buffer.from('a'))
  assert.deepEqual([inBucket.uri, isS3Loaded()], ['s3://bucket/tables', true])
  assert.deepEqual([...stub.objects.keys()], ['tables/a'])
})
