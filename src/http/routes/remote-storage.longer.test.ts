// The remote tier over HTTP, with real brokers: its place and tables, its jobs and the moves of operators, the segments
// of both tiers, and the numbers of storage-stats, from the broker that offloads and from one that does not.

import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AdminClient, adminClient } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { roleSettings, signInRoles } from '../../../testing/http-roles.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { createTopic } from '../../../testing/topic.ts'
import { connect } from '../../../testing/wire.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'

const OPEN: Partial<Values> = { 'admin.security-enabled': false }
const FAST: Partial<Values> = {
  ...{ 'storage.worker.tick-interval': 100, 'storage.worker.lease-duration': 1_000 },
  ...{ 'storage.remote.iceberg.max-file-wait': 0, 'storage.remote.iceberg.offload.threads': 1 },
}
const REMOTE = { 'remote.storage.enable': 'true', 'segment.ms': '1', 'retention.ms': '-1' }
const JOBS = '/api/v1/storage/offload-jobs'
const segmentsOf = (topic: string, base: number | '' = '') =>
  `/api/v1/topics/${topic}/partitions/0/segments${base === '' ? '' : `/${base}`}`

/** Produces a batch; the broker refuses it until it has read the table of the topic. */
async function append({ port }: { readonly port: number }, topic: string): Promise<void> {
  const wire = await connect({ port })
  const records = encodeBatch([
    { key: 'a', value: '1', timestamp: 1_000 },
    { key: 'b', value: '2', timestamp: 2_000 },
  ])
  await eventually('the partition takes records', async () => {
    const { responses } = await wire.send(produce, 9, {
      ...{ acks: -1, timeoutMs: 5_000 },
      topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
    })
    return responses[0]!.partitionResponses[0]!.errorCode === 0
  })
  await wire.close()
}

type Ask = AdminClient['ask']

async function read(ask: Ask, path: string) {
  const { status, body } = await ask('GET', path)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Resolves to the segments when the partition has no local ones but the active one. */
async function whenCold(ask: Ask, topic: string, end: number) {
  let found: Awaited<ReturnType<typeof read>> = null
  await eventually(
    `the log of ${topic} is cold up to ${end}`,
    async () => {
      found = await read(ask, segmentsOf(topic))
      return found.localStartOffset === end
    },
    60_000,
  )
  return found
}

test('an offloaded segment is shown with its job, its files and its table', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const broker = await startBroker(t, { ...OPEN, ...FAST, 'storage.remote.path': path }, { hasHttp: true })
  const { ask } = adminClient(broker.url)
  await createTopic(broker, 'orders', 1, { ...REMOTE, 'local.retention.ms': '1' })
  await append(broker, 'orders')
  const { segments, ...place } = await whenCold(ask, 'orders', 2)
  assert.deepEqual([place.startOffset, place.localStartOffset, place.endOffset, place.trouble], [0, 2, 2, null])
  assert.deepEqual(place.remote.ranges, [{ base: 0, next: 2 }])
  assert.ok(place.remote.version > 0)
  assert.deepEqual(
    segments.map(({ base, next, tier, isActive }: Record<string, unknown>) => [base, next, tier, isActive]),
    [
      [0, 2, 'remote', false],
      [2, 2, 'local', true],
    ],
  )

  await eventually('the job is done', async () => (await read(ask, JOBS)).counts.done === 1)
  const { jobs, total, counts, unreadable } = await read(ask, JOBS)
  assert.deepEqual([total, unreadable], [1, []])
  assert.deepEqual(counts, { pending: 0, running: 0, done: 1, failed: 0, cancelled: 0, suspended: 0 })
  const [job] = jobs
  assert.deepEqual([job.topic, job.partition, job.base, job.next, job.status], ['orders', 0, 0, 2, 'done'])
  assert.deepEqual([job.attempts, job.maxAttempts, job.suspended, job.failure], [1, 5, false, null])
  assert.ok(job.tookMs >= 0)
  assert.deepEqual(await read(ask, `${JOBS}/${job.id}`), job)

  const detail = await read(ask, segmentsOf('orders', 0))
  assert.deepEqual([detail.inspection, detail.totalFiles, detail.trouble], ['done', 1, null])
  assert.deepEqual(detail.job, job)
  assert.deepEqual(detail.segment, segments[0])
  const [file] = detail.files
  assert.deepEqual([file.base, file.next, file.rows, file.minTimestamp, file.maxTimestamp], [0, 2, 2, 1_000, 2_000])
  assert.ok(file.path.startsWith(`file://${path}/default/orders-`) && file.bytes > 0, JSON.stringify(file))
  const active = await read(ask, segmentsOf('orders', 2))
  assert.deepEqual([active.inspection, active.files, active.job, active.trouble], ['none', [], null, null])

  const remote = await read(ask, '/api/v1/storage/remote')
  const { reads, breakerChangedAt, tables, ...rest } = remote
  assert.deepEqual(rest, {
    ...{ place: `file://${path}`, namespace: 'default', breaker: 'closed', trouble: null, createOnly: 'kept' },
    ...{ suspended: 0, passed: 0, total: 1 },
  })
  assert.deepEqual([reads.threads, reads.queueCapacity], [4, 64])
  const [table] = tables
  assert.deepEqual([table.topic, table.files, table.rows, table.trouble], ['orders', 1, 2, null])
  assert.deepEqual((await read(ask, '/api/v1/storage/remote?q=nothing')).tables, [])

  const stats = await read(ask, '/api/v1/storage-stats')
  assert.deepEqual([stats.segmentsPerMin, stats.backlogSegments, stats.backlogAgeSeconds], [1, 0, 0])
  assert.ok(stats.bytesPerMin > 0)
  const { components } = (await ask('GET', '/api/v1/health')).body.details
  assert.equal(components.remoteStorage.status, 'UP')
  assert.deepEqual(
    [components.remoteStorage.details.breaker, components.remoteStorage.details.warning],
    ['closed', undefined],
  )
})

test('a segment that both tiers have says so, and one that waits for its offload is local', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const broker = await startBroker(t, { ...OPEN, ...FAST, 'storage.remote.path': path }, { hasHttp: true })
  const { ask } = adminClient(broker.url)
  await createTopic(broker, 'orders', 1, REMOTE)
  await append(broker, 'orders')
  const tiers = async () => (await read(ask, segmentsOf('orders'))).segments.map(({ tier }: { tier: string }) => tier)
  await eventually('the segment is in both tiers', async () => (await tiers()).join() === 'both,local', 60_000)
})

test('an operator cancels and retries a job, and a move that its state forbids is refused with the reason', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  // A small segment waits for others to share a file, so that its job stays pending.
  const slow = { ...FAST, 'storage.remote.iceberg.max-file-wait': 3_600_000 }
  const broker = await startBroker(t, { ...roleSettings, ...slow, 'storage.remote.path': path }, { hasHttp: true })
  const roles = await signInRoles(broker.url)
  const as = (role: 'ADMIN' | 'VIEWER') => {
    const { cookie } = roles.headers(role, 'viewer')
    return adminClient(broker.url, cookie).ask
  }
  const ask = as('ADMIN')
  await createTopic(broker, 'orders', 1, REMOTE)
  await append(broker, 'orders')
  await eventually('the job is there', async () => (await read(ask, JOBS)).total === 1, 60_000)
  const { id } = (await read(as('VIEWER'), `${JOBS}?status=pending&topic=orders`)).jobs[0]
  assert.equal((await as('VIEWER')('POST', `${JOBS}/${id}/cancel`)).status, 403)
  assert.equal((await adminClient(broker.url).ask('GET', JOBS)).status, 401)

  const cancelled = await ask('POST', `${JOBS}/${id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.id, cancelled.body.status], [200, id, 'cancelled'])
  const again = await ask('POST', `${JOBS}/${id}/cancel`, {})
  assert.deepEqual([again.status, again.code], [409, 'CONFLICT'])
  assert.match(again.body.detail, /is cancelled; only a pending or failed job can be cancelled\.$/)
  assert.equal((await read(ask, `${JOBS}?status=pending`)).total, 0)
  assert.equal((await read(ask, `${JOBS}?status=cancelled`)).total, 1)

  const retried = await ask('POST', `${JOBS}/${id}/retry`)
  assert.deepEqual([retried.status, retried.body.status, retried.body.attempts], [200, 'pending', 0])
  const twice = await ask('POST', `${JOBS}/${id}/retry`)
  assert.deepEqual([twice.status, twice.code], [409, 'CONFLICT'])
  assert.deepEqual((await ask('POST', `${JOBS}/retry-failed`)).body, { retried: 0, unreadable: [] })
  assert.deepEqual((await ask('POST', `${JOBS}/retry-failed`, { topic: 'orders' })).body, {
    retried: 0,
    unreadable: [],
  })
  assert.match(broker.log(), new RegExp(`svc\\.audit .*cancel offload job .*${id}`))
  assert.match(broker.log(), /svc\.audit .*retry failed offload jobs .*orders/)
})

test('bad input of the routes of the remote tier is refused by name', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const { url } = await startBroker(t, { ...OPEN, 'storage.remote.path': path }, { hasHttp: true })
  const { ask } = adminClient(url)
  const id = `${'A'.repeat(22)}:0:0`
  const cases: readonly [string, string, number, string][] = [
    ['GET', `${JOBS}?status=lost`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?status=`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?offset=-1`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?limit=0`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?limit=1001`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?sort=size`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}?topic=unknown`, 404, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['GET', `${JOBS}?topic=a%2Fb`, 400, 'INVALID_TOPIC_EXCEPTION'],
    ['GET', `${JOBS}/orders:0:0`, 400, 'INVALID_REQUEST'],
    ['GET', `${JOBS}/${id}`, 404, 'NOT_FOUND'],
    ['GET', `${JOBS}/${'A'.repeat(22)}:-1:0`, 400, 'INVALID_REQUEST'],
    ['POST', `${JOBS}/${id}/retry`, 404, 'NOT_FOUND'],
    ['POST', `${JOBS}/${id}/cancel`, 404, 'NOT_FOUND'],
    ['POST', `${JOBS}/nothing/cancel`, 400, 'INVALID_REQUEST'],
    ['GET', '/api/v1/storage/remote?limit=101', 400, 'INVALID_REQUEST'],
    ['GET', segmentsOf('unknown', 0), 404, 'UNKNOWN_TOPIC_OR_PARTITION'],
  ]
  for (const [method, target, status, code] of cases) {
    const answer = await ask(method, target)
    assert.deepEqual([answer.status, answer.code], [status, code], `${method} ${target}`)
  }
  const unknown = await ask('POST', `${JOBS}/retry-failed`, { topic: 'unknown' })
  assert.deepEqual([unknown.status, unknown.code], [404, 'UNKNOWN_TOPIC_OR_PARTITION'])
  assert.equal((await ask('POST', `${JOBS}/retry-failed`, { status: 'done' })).status, 400)
  assert.deepEqual((await ask('GET', JOBS)).body.jobs, [])
  const notAnId = await ask('GET', `${JOBS}/retry-failed`)
  assert.deepEqual([notAnId.status, notAnId.headers.get('allow')], [405, 'POST'], 'it is no id of a job')
})

test('a broker without a remote tier says which setting switches it on', async t => {
  const broker = await startBroker(t, OPEN, { hasHttp: true })
  const { ask } = adminClient(broker.url)
  for (const [method, target] of [
    ['GET', JOBS],
    ['GET', `${JOBS}/${'A'.repeat(22)}:0:0`],
    ['POST', `${JOBS}/${'A'.repeat(22)}:0:0/retry`],
    ['POST', `${JOBS}/${'A'.repeat(22)}:0:0/cancel`],
    ['POST', `${JOBS}/retry-failed`],
    ['GET', '/api/v1/storage/remote'],
  ] as const) {
    const { status, code, body } = await ask(method, target)
    assert.deepEqual(
      [status, code, body.detail],
      [404, 'REMOTE_TIER_OFF', 'svc.storage.remote.path is unset (default).'],
    )
  }
  await createTopic(broker, 'orders', 1)
  const missing = await ask('GET', segmentsOf('orders', 7))
  assert.deepEqual([missing.status, missing.code], [404, 'NOT_FOUND'])
  assert.equal(missing.body.detail, "No segment of partition 0 of 'orders' begins at offset 7.")
})

test('a place that is gone is a trouble of its rows and of health, and everything else is shown', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const tables = join(path, 'tables')
  const settings = { ...OPEN, ...FAST, 'storage.remote.path': tables, 'admin.segment-inspection.ttl': 0 }
  const broker = await startBroker(t, settings, { hasHttp: true })
  const { ask } = adminClient(broker.url)
  await createTopic(broker, 'orders', 1, { ...REMOTE, 'local.retention.ms': '1' })
  await append(broker, 'orders')
  await whenCold(ask, 'orders', 2)
  await rename(tables, join(path, 'moved'))
  await append(broker, 'orders')
  await eventually(
    'the table cannot be read',
    async () => typeof (await read(ask, '/api/v1/storage/remote')).tables[0]?.trouble === 'string',
    60_000,
  )
  const health = await ask('GET', '/api/v1/health')
  assert.deepEqual([health.status, health.body.details.components.remoteStorage.status], [200, 'UP'])
  assert.equal((await ask('GET', JOBS)).status, 200)
})

test('every broker of a cluster answers alike, whether or not it offloads or leads', async t => {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const cluster = createCluster(t, { ...OPEN, ...FAST, 'storage.remote.path': path }, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2)] as const
  await cluster.agreed(brokers, [1, 2])
  await createTopic(brokers[0], 'orders', 1, { ...REMOTE, 'local.retention.ms': '1' })
  const asks = brokers.map(({ url }) => adminClient(url).ask)
  const { leaderId } = await read(asks[0]!, segmentsOf('orders'))
  await append(brokers[leaderId - 1]!, 'orders')
  for (const ask of asks) {
    const { segments } = await whenCold(ask, 'orders', 2)
    assert.equal(segments[0].tier, 'remote')
    await eventually('the job is done', async () => (await read(ask, JOBS)).counts.done === 1)
    assert.equal((await read(ask, segmentsOf('orders', 0))).inspection, 'done')
    const known = async () => (await read(ask, '/api/v1/storage/remote')).tables[0]?.rows === 2
    await eventually('the table is known', known, 60_000)
    await eventually('the rate is known', async () => (await read(ask, '/api/v1/storage-stats')).segmentsPerMin === 1)
  }
})
