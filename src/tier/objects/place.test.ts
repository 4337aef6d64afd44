import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { openObjects } from './place.ts'

test('an endpoint that is no URL of a store ends the opening, without its login', async () => {
  const deps = { clock: systemClock, random: systemRandom, warn: assert.fail }
  const place = { kind: 's3', bucket: 'bucket', prefix: '' } as const
  for (const endpoint of ['minio:9000', 'localhost', 'ftp://store', 'http://key:verysecret@store', 'http://store?a=b'])
    await assert.rejects(
      openObjects(place, { endpoint }, deps),
      (error: Error) => /is no endpoint of S3; expected a URL/.test(error.message) && !/verysecret/.test(error.message),
    )
})
