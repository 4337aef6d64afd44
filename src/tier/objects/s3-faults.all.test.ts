// The S3 side of the port while the store loses answers, cuts connections, refuses or is away.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../../testing/free-port.ts'
import { everyNth, type S3Stub, type StubFault, type StubRequest, startS3Stub } from '../../../testing/s3-stub.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from './objects.ts'
import { probeCreateOnly } from './probe.ts'
import { openS3 } from './s3.ts'
import type { S3Options } from './s3-client.ts'

const MiB = 1 << 20

async function open(
  t: TestContext,
  options: S3Options = {},
  stubOptions: Parameters<typeof startS3Stub>[1] = {},
): Promise<{ stub: S3Stub; objects: Objects }> {
  const stub = await startS3Stub(t, stubOptions)
  const objects = await openS3({ bucket: stub.bucket, prefix: 'p' }, { ...stub.options, ...options })
  t.after(() => objects.close())
  return { stub, objects }
}

const failing =
  (kind: ObjectStoreError['kind'], message = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof ObjectStoreError, String(error))
    assert.equal(error.kind, kind, error.message)
    assert.match(error.message, message)
    return true
  }

/** Gives the first `times` requests of an operation the fault. */
function first(times: number, operation: string, fault: StubFault) {
  let left = times
  return (request: StubRequest) => (request.operation === operation && left-- > 0 ? fault : null)
}

const operations = (stub: S3Stub) => stub.requests.map(({ operation }) => operation)
const bytes = (length: number) => Buffer.alloc(length, 'ketch')

for (const fault of ['lost', 'reset', 'unavailable'] as const)
  test(`an ordinary call survives two faults '${fault}', and is away after three`, async t => {
    const { stub, objects } = await open(t)
    stub.faultOf = first(2, 'PutObject', fault)
    await objects.write('a', bytes(10))
    stub.faultOf = first(2, 'GetObject', fault)
    assert.equal((await objects.read('a'))?.length, 10)
    stub.faultOf = first(2, 'HeadObject', fault)
    assert.equal((await objects.stat('a'))?.size, 10)
    stub.faultOf = first(2, 'ListObjectsV2', fault)
    assert.equal((await Array.fromAsync(objects.list(''))).length, 1)
    stub.faultOf = first(2, 'DeleteObjects', fault)
    await objects.delete(['a'])
    stub.faultOf = first(3, 'GetObject', fault)
    await assert.rejects(objects.read('a'), failing('away', /^cannot read s3:\/\/bucket\/p\/a: /))
    assert.equal(operations(stub).filter(each => each === 'GetObject').length, 6)
  })

for (const [fault, exists] of [
  ['lost', true],
  ['reset', false],
  ['unavailable', false],
  ['cut upload', false],
] as const)
  test(`a create that meets the fault '${fault}' is sent once, and its outcome is unknown`, async t => {
    const { stub, objects } = await open(t)
    stub.faultOf = first(1, 'PutObject', fault)
    await assert.rejects(
      objects.create('v1', bytes(100_000)),
      failing('unknown', /^s3:\/\/bucket\/p\/v1 may have been created or not: /),
    )
    assert.deepEqual(operations(stub), ['PutObject'])
    assert.equal(stub.objects.has('p/v1'), exists)
    assert.equal(await objects.create('v1', bytes(100_000)), exists ? 'exists' : 'created')
  })

test('a create whose request arrives late has its effect after its outcome was unknown', async t => {
  const { stub, objects } = await open(t)
  stub.faultOf = first(1, 'PutObject', 'late')
  await assert.rejects(objects.create('v1', bytes(1)), failing('unknown'))
  assert.equal(await objects.read('v1'), null)
  await stub.doLate()
  assert.equal((await objects.read('v1'))?.length, 1)
})

test('a create that no store received is away', async t => {
  const port = await freePort()
  const options = { endpoint: `http://127.0.0.1:${port}`, accessKeyId: 'a', secretAccessKey: 'b', pathStyle: true }
  const objects = await openS3({ bucket: 'bucket', prefix: '' }, options)
  t.after(() => objects.close())
  await assert.rejects(objects.create('a', bytes(1)), failing('away', /ECONNREFUSED/))
  await assert.rejects(objects.read('a'), failing('away', /ECONNREFUSED/))
  await assert.rejects(objects.write('a', bytes(20 * MiB)), failing('away', /ECONNREFUSED/))
  await assert.rejects(probeCreateOnly(objects, seededRandom(1)), failing('away', /ECONNREFUSED/))
})

test('a create that meets another one in flight is a conflict', async t => {
  const { objects } = await open(t, {}, { conditional: 'conflicts' })
  const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(racer => objects.create('v1', bytes(racer))))
  const kinds = results.map(result => (result.status === 'fulfilled' ? result.value : result.reason.kind)).toSorted()
  assert.equal(kinds.filter(kind => kind === 'created').length, 1, kinds.join())
  assert.ok(kinds.includes('conflict'), kinds.join())
})

test('a store that answers nothing within the idle time-out is away', async t => {
  const { stub, objects } = await open(t, { idleTimeoutMs: 50 })
  stub.faultOf = () => 'silent'
  await assert.rejects(objects.read('a'), failing('away', /no byte came or went for 50 ms/))
  await assert.rejects(objects.create('a', bytes(1)), failing('unknown', /no byte came or went for 50 ms/))
})

for (const fault of ['cut answer', 'wrong bytes'] as const)
  test(`a read with the fault '${fault}' is repeated, and never returns wrong bytes`, async t => {
    const { stub, objects } = await open(t)
    await objects.write('a', bytes(300_000))
    stub.faultOf = first(2, 'GetObject', fault)
    assert.ok(bytes(300_000).equals((await objects.read('a'))!))
    stub.faultOf = first(3, 'GetObject', fault)
    await assert.rejects(objects.read('a'), failing('away', /cannot read s3:\/\/bucket\/p\/a: /))
  })

test('a range of which the connection is cut is read again', async t => {
  const { stub, objects } = await open(t)
  await objects.write('a', Buffer.from('0123456789'))
  stub.faultOf = first(2, 'GetObject', 'cut answer')
  assert.equal(Buffer.from((await objects.read('a', { start: 2, end: 8 }))!).toString(), '234567')
})

test('a large write survives cut parts and lost answers, and leaves no upload', async t => {
  const { stub, objects } = await open(t)
  for (const operation of ['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'])
    for (const fault of ['lost', 'cut upload', 'unavailable', 'reset'] as const) {
      stub.faultOf = first(2, operation, fault)
      assert.deepEqual(await objects.write(`${operation}-${fault}`, bytes(17 * MiB)), { size: 17 * MiB })
      assert.equal(stub.objects.get(`p/${operation}-${fault}`)?.bytes.length, 17 * MiB)
      stub.objects.clear()
    }
  // An upload whose id was lost cannot be aborted. Its bucket needs a lifecycle rule.
  assert.equal(stub.openUploads, 2)
})

test('a large write that fails is aborted, and leaves no object', async t => {
  const { stub, objects } = await open(t)
  for (const [operation, fault, kind] of [
    ['UploadPart', 'reset', 'away'],
    ['UploadPart', 'forbidden', 'refused'],
    ['CompleteMultipartUpload', 'unavailable', 'away'],
    ['CompleteMultipartUpload', 'forbidden', 'refused'],
  ] as const) {
    stub.faultOf = request => (request.operation === operation ? fault : null)
    await assert.rejects(
      objects.write('large', bytes(20 * MiB)),
      failing(kind, /^cannot write s3:\/\/bucket\/p\/large: /),
    )
    assert.equal(stub.openUploads, 0, `${operation} ${fault}`)
    assert.equal(stub.objects.size, 0)
  }
})

test('a large write whose completion always loses its answer has succeeded', async t => {
  const { stub, objects } = await open(t)
  stub.faultOf = request => (request.operation === 'CompleteMultipartUpload' ? 'lost' : null)
  assert.deepEqual(await objects.write('large', bytes(9 * MiB)), { size: 9 * MiB })
})

test('a write whose upload cannot be aborted says that its parts stay', async t => {
  const { stub, objects } = await open(t)
  stub.faultOf = ({ operation }) => (/UploadPart|Abort/.test(operation) ? 'forbidden' : null)
  await assert.rejects(
    objects.write('large', bytes(9 * MiB)),
    failing(
      'refused',
      /Access Denied.*; its parts stay in the store until a lifecycle rule of the bucket removes them/,
    ),
  )
})

test('a write that fails ends the source of its parts', async t => {
  const { stub, objects } = await open(t)
  for (const operation of ['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload']) {
    let hasEnded = false
    const parts = async function* () {
      try {
        for (let part = 0; part < (operation === 'PutObject' ? 1 : 5); part++) yield bytes(7 * MiB)
      } finally {
        hasEnded = true
      }
    }
    stub.faultOf = request => (request.operation === operation ? 'forbidden' : null)
    await assert.rejects(objects.write('large', parts()), failing('refused', /Access Denied/))
    assert.equal(hasEnded, true, operation)
  }
})

test('parts that throw end the upload', async t => {
  const { stub, objects } = await open(t)
  const parts = async function* () {
    yield bytes(20 * MiB)
    throw new Error('the encoder failed')
  }
  await assert.rejects(objects.write('large', parts()), /^Error: the encoder failed$/)
  assert.equal(stub.openUploads, 0)
  assert.ok(operations(stub).includes('AbortMultipartUpload'))
})

test('a refusal names the object and the reason, and holds no secret', async t => {
  const { stub, objects } = await open(t)
  stub.faultOf = () => 'forbidden'
  const refused = failing('refused', /403 AccessDenied: Access Denied \(request stub-\d+\)/)
  const quiet = (error: unknown) => {
    const { stack, cause } = error as Error
    assert.doesNotMatch(`${stack} ${cause}`, /stub secret|Signature|STUBKEYID/)
    return refused(error)
  }
  await assert.rejects(objects.read('a'), quiet)
  await assert.rejects(objects.create('a', bytes(1)), quiet)
  await assert.rejects(objects.write('a', bytes(1)), quiet)
  await assert.rejects(objects.delete(['a', 'b']), quiet)
  await assert.rejects(Array.fromAsync(objects.list('')), quiet)
  await assert.rejects(objects.stat('a'), failing('refused', /cannot look at s3:\/\/bucket\/p\/a: .*403/))
  // Nothing is asked twice.
  assert.equal(stub.requests.length, 6)
})

test('wrong keys and a missing bucket are refused in all calls', async t => {
  const stub = await startS3Stub(t)
  const at = async (bucket: string, options: S3Options) => {
    const objects = await openS3({ bucket, prefix: '' }, { ...stub.options, ...options })
    t.after(() => objects.close())
    return objects
  }
  const wrong = await at(stub.bucket, { accessKeyId: 'OTHER' })
  await assert.rejects(wrong.read('a'), failing('refused', /403 InvalidAccessKeyId/))
  const missing = await at('missing', {})
  await assert.rejects(missing.read('a'), failing('refused', /404 NoSuchBucket/))
  await assert.rejects(missing.stat('a'), failing('refused', /404 NoSuchBucket/))
  await assert.rejects(missing.create('a', bytes(1)), failing('refused', /404 NoSuchBucket/))
  await assert.rejects(Array.fromAsync(missing.list('')), failing('refused', /404 NoSuchBucket/))
})

test('a broker whose clock is hours away reads, writes and creates', async t => {
  const clock = { ...systemClock, now: () => systemClock.now() - 3 * 3600_000 }
  const { stub, objects } = await open(t, {}, { clock })
  assert.equal(await objects.create('a', bytes(1)), 'created')
  assert.equal(await objects.create('a', bytes(1)), 'exists')
  assert.equal((await objects.read('a'))?.length, 1)
  await objects.write('b', bytes(9 * MiB))
  assert.equal(stub.objects.size, 2)
})

test('with every fifth answer lost, everything that was written is read', async t => {
  const { stub, objects } = await open(t)
  for (const fault of ['lost', 'unavailable', 'cut upload', 'cut answer'] as const) {
    stub.faultOf = everyNth(5, fault)
    for (let n = 0; n < 12; n++) {
      const key = `${fault}/${n}`
      await objects.write(key, Buffer.from(key))
      assert.equal(Buffer.from((await objects.read(key))!).toString(), key)
    }
    assert.equal((await Array.fromAsync(objects.list(`${fault}/`))).length, 12)
  }
})

test('objects whose keys break the rules are not listed', async t => {
  const { stub, objects } = await open(t)
  await objects.write('data/a', bytes(1))
  const object = stub.objects.get('p/data/a')!
  for (const key of ['p/', 'p/data/', 'p/data//b', 'other/c', 'pother']) stub.objects.set(key, object)
  assert.deepEqual(
    (await Array.fromAsync(objects.list(''))).map(({ key }) => key),
    ['data/a'],
  )
})

test('some thousand objects are listed and deleted', async t => {
  const { stub, objects } = await open(t)
  await objects.write('0', bytes(1))
  const object = stub.objects.get('p/0')!
  const keys = Array.from({ length: 2_500 }, (_, i) => `data/${String(i).padStart(5, '0')}`)
  for (const key of keys) stub.objects.set(`p/${key}`, object)
  assert.deepEqual(
    (await Array.fromAsync(objects.list('data/'))).map(({ key }) => key),
    keys,
  )
  await objects.delete(keys)
  assert.deepEqual([...stub.objects.keys()], ['p/0'])
  assert.equal(operations(stub).filter(each => each === 'DeleteObjects').length, 3)
})

for (const conditional of ['ignored', 'racy'] as const)
  test(`the probe finds a store whose creates are ${conditional}`, async t => {
    const { stub, objects } = await open(t, {}, { conditional })
    assert.equal(await probeCreateOnly(objects, seededRandom(1)), false)
    assert.equal(stub.objects.size, 0)
  })

test('the probe accepts a store that answers with conflicts or loses an answer, and rejects if it loses most', async t => {
  const { stub, objects } = await open(t, {}, { conditional: 'conflicts' })
  assert.equal(await probeCreateOnly(objects, seededRandom(1)), true)
  stub.faultOf = first(1, 'PutObject', 'lost')
  assert.equal(await probeCreateOnly(objects, seededRandom(2)), true)
  stub.faultOf = ({ operation }) => (operation === 'PutObject' ? 'lost' : null)
  await assert.rejects(probeCreateOnly(objects, seededRandom(3)), failing('unknown'))
  assert.equal(stub.objects.size, 0)
})
