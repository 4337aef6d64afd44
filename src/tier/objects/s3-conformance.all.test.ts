import { startS3Stub } from '../../../testing/s3-stub.ts'
import { objectsConformance } from './conformance.ts'
import { openS3 } from './s3.ts'

for (const [name, prefix, conditional] of [
  ['S3', 'some/prefix', 'atomic'],
  ['S3 without a prefix, with 409', '', 'conflicts'],
] as const)
  objectsConformance(name, async t => {
    const stub = await startS3Stub(t, { conditional, pageSize: 3 })
    const objects = await openS3({ bucket: stub.bucket, prefix }, stub.options)
    t.after(() => objects.close())
    return objects
  })
