// The promises of the port to object stores, kept by S3 servers that others have written. KETCH_TEST_S3 adds one that
// is running: https://<key id>:<secret>@<host>/<bucket>, path style. The tests leave objects in it.

import { after, test } from 'node:test'
import { systemRandom } from '../../src/base/random.ts'
import { objectsConformance } from '../../src/tier/objects/conformance.ts'
import { openS3 } from '../../src/tier/objects/s3.ts'
import { FOREIGN_SERVERS, type ForeignS3 } from './servers.ts'

const given = process.env.KETCH_TEST_S3

/** A hook that a test registers runs when the test ends, and the servers stay for the next one. */
const cleanUps: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp()
})

/** All tests of a server use one process of it. */
function conformanceOf(name: string, start: () => Promise<ForeignS3>): void {
  let server: Promise<ForeignS3> | undefined
  objectsConformance(name, async t => {
    server ??= start()
    const { bucket, options } = await server
    const prefix = `test/${systemRandom.uuidBytes().toString('hex')}`
    const objects = await openS3({ bucket, prefix }, options)
    t.after(() => objects.close())
    return objects
  })
}

for (const { name, absence, start } of FOREIGN_SERVERS)
  if (absence !== false) test(`the conformance suite on ${name}`, { skip: absence }, () => {})
  else conformanceOf(name, () => start({ after: cleanUp => void cleanUps.push(cleanUp) }))

if (given !== undefined)
  conformanceOf('the given S3', async () => {
    const { origin, username, password, pathname } = new URL(given)
    const [accessKeyId, secretAccessKey] = [username, password].map(decodeURIComponent)
    const keys = username === '' ? {} : { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! }
    return { bucket: pathname.replaceAll('/', ''), options: { endpoint: origin, pathStyle: true, ...keys } }
  })
