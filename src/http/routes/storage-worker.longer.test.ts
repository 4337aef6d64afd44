import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { append } from '../../../testing/group-calls.ts'
import { createTopic } from '../../../testing/topic.ts'
import { sleep, systemClock } from '../../base/clock.ts'
import type { Values } from '../../settings/settings.ts'

const OPEN: Partial<Values> = { 'admin.security-enabled': false }

async function startTwo(t: TestContext, more: Partial<Values> = {}) {
  const cluster = createCluster(t, { ...OPEN, ...more }, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2)] as const
  await cluster.agreed(brokers, [1, 2])
  return brokers
}

test('the only broker of a store runs the worker without a lease document', async t => {
  const broker = await startBroker(t, OPEN, { hasHttp: true })
  await createTopic(broker, 'orders', 3)
  const { ask } = adminClient(broker.url)
  const before = (await ask('GET', '/api/v1/storage/worker')).body
  assert.deepEqual(before, {
    ...{ holder: { id: 0, takenAt: null }, enabled: true, tickIntervalMs: 60_000, leaseDurationMs: 120_000 },
    ...{ lastRound: null, isCleaningAllowed: true, withoutFeature: [], trouble: null },
  })
  const { round } = (await ask('POST', '/api/v1/storage/worker/run')).body
  assert.deepEqual(
    round.brokers.map(({ id, outcome, trouble }: Record<string, unknown>) => [id, outcome, trouble]),
    [[0, 'done', null]],
  )
  assert.deepEqual((await ask('GET', '/api/v1/storage/worker')).body.lastRound, round)
  assert.match(broker.log(), / svc\.audit .*run storage worker/)
})

test('each of many callers gets the report of a finished round, while other rounds follow', async t => {
  const { url } = await startBroker(t, { ...OPEN, 'storage.worker.tick-interval': 10 }, { hasHttp: true })
  const { ask } = adminClient(url)
  const answers = Array.from({ length: 30 }, async (_, at) => {
    await sleep(systemClock, at * 10)
    return await ask('POST', '/api/v1/storage/worker/run')
  })
  for (const { status, body } of await Promise.all(answers)) {
    assert.equal(status, 200)
    assert.notEqual(body.round.tookMs, null, JSON.stringify(body.round))
  }
})

test('a request for a round that says more than that is refused, and starts none', async t => {
  const { url } = await startBroker(t, OPEN, { hasHttp: true })
  const path = '/api/v1/storage/worker/run'
  for (const [body, type, status, detail] of [
    ['{"topic":', 'application/json', 400, /^The body is not JSON/],
    ['[1]', 'application/json', 400, /^body: got a list, takes an object/],
    ['{"topic":"orders"}', 'application/json', 400, /^topic: is not taken here/],
    ['topic=orders', 'application/x-www-form-urlencoded', 415, /a body takes application\/json/],
  ] as const) {
    const answer = await fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body })
    assert.equal(answer.status, status)
    assert.match(((await answer.json()) as { detail: string }).detail, detail)
  }
  const { ask } = adminClient(url)
  assert.equal((await ask('GET', path)).status, 405)
  assert.equal((await ask('GET', '/api/v1/storage/worker')).body.lastRound, null)
  assert.equal((await ask('POST', path, {})).status, 200)
})

test('a broker that does not hold the lease asks the one that does, and says so if it cannot', async t => {
  const [one, two] = await startTwo(t)
  await createTopic(one, 'orders', 12)
  const [holder, other] =
    (await adminClient(one.url).ask('GET', '/api/v1/storage/worker')).body.holder.id === 1 ? [one, two] : [two, one]
  const { ask } = adminClient(other.url)
  await eventually('both brokers run their parts', async () => {
    const { status, body } = await ask('POST', '/api/v1/storage/worker/run')
    assert.equal(status, 200, JSON.stringify(body))
    return body.round.brokers.length === 2
  })
  const shown = (await ask('GET', '/api/v1/storage/worker')).body
  assert.deepEqual([shown.holder.id, shown.trouble], [holder.id, null])
  assert.deepEqual(shown.lastRound, (await adminClient(holder.url).ask('GET', '/api/v1/storage/worker')).body.lastRound)
  await holder.broker.close()
  const { status, code } = await ask('POST', '/api/v1/storage/worker/run')
  // It depends on the moment whether the other broker has taken the lease already.
  assert(status === 200 || (status === 503 && code === 'NO_STORAGE_WORKER') || code === 'LEADER_NOT_AVAILABLE')
})

test('without a broker that may run the worker, the route says why, and health tells it in a detail', async t => {
  const [one] = await startTwo(t, { 'storage.worker.enabled': false })
  const { ask } = adminClient(one.url)
  const { status, code, body } = await ask('POST', '/api/v1/storage/worker/run')
  assert.deepEqual([status, code], [503, 'NO_STORAGE_WORKER'])
  const why =
    'No broker holds the lease of the storage worker: nothing is rolled, dropped or cleaned; svc.storage.worker.enabled is false on this broker.'
  assert.equal(body.detail, why)
  const shown = (await ask('GET', '/api/v1/storage/worker')).body
  assert.deepEqual([shown.holder, shown.enabled, shown.lastRound, shown.trouble], [null, false, null, why])
  const health = await ask('GET', '/actuator/health')
  assert.deepEqual([health.status, health.body.status], [200, 'UP'])
  assert.deepEqual(health.body.components.storageWorker, { status: 'UP', details: { holder: null, warning: why } })
})

test('every broker shows the segments of a partition, and says so if its leader does not answer', async t => {
  const [one, two] = await startTwo(t)
  await createTopic(one, 'orders', 12)
  const path = (partition: number, query = '') => `/api/v1/topics/orders/partitions/${partition}/segments${query}`
  let led = -1
  await eventually('broker 2 leads a partition', async () => {
    for (let partition = 0; partition < 12; partition++) {
      const { body } = await adminClient(one.url).ask('GET', path(partition))
      if (body.leaderId === 2 && body.trouble === null) led = partition
    }
    return led >= 0
  })
  await append(await two.connect(), led, ['a', 'b'])
  const shown = await Promise.all(
    [one, two].map(async ({ url }) => (await adminClient(url).ask('GET', path(led))).body),
  )
  assert.deepEqual(shown[0], shown[1])
  const { segments, ...rest } = shown[0]
  assert.deepEqual(rest, {
    ...{ topic: 'orders', partition: led, leaderId: 2, startOffset: 0, localStartOffset: 0, endOffset: 2 },
    ...{ cleanedTo: 0, uncleanable: null, remote: null, total: 1, trouble: null },
  })
  assert.equal(segments.length, 1)
  const [{ base, next, isActive, tier, bytes, sealedAt }] = segments
  assert.deepEqual([base, next, isActive, tier, bytes > 0, sealedAt], [0, 2, true, 'local', true, null])
  assert.deepEqual((await adminClient(one.url).ask('GET', path(led, '?offset=1'))).body.segments, [])

  const { ask } = adminClient(one.url)
  assert.equal((await ask('GET', path(12))).code, 'UNKNOWN_TOPIC_OR_PARTITION')
  assert.equal((await ask('GET', path(-1))).code, 'INVALID_REQUEST')
  assert.equal((await ask('GET', path(led, '?limit=0'))).code, 'INVALID_REQUEST')
  assert.equal((await ask('GET', '/api/v1/topics/other/partitions/0/segments')).code, 'UNKNOWN_TOPIC_OR_PARTITION')
  // The broker that is cut off from the store no longer answers for its partitions.
  two.cutOff()
  await eventually('the leader does not answer', async () => {
    const { status, body } = await adminClient(two.url).ask('GET', path(led))
    assert.equal(status, 200)
    if (body.trouble === null) return false
    assert.deepEqual([body.startOffset, body.cleanedTo, body.segments], [null, null, []])
    return /The store does not tell the sealed segments either: the store gave no answer/.test(body.trouble)
  })
})

test('a process without a Kafka listener runs the worker too, and takes requests at its own admin API only', async t => {
  const cluster = createCluster(t, OPEN, { hasHttp: true })
  const one = await cluster.start(1, { 'broker.enabled': false })
  const two = await cluster.start(2)
  await createTopic(two, 'orders', 3)
  const run = (url: string) => adminClient(url).ask('POST', '/api/v1/storage/worker/run')
  await eventually('broker 2 runs its part', async () => {
    const { status, body } = await run(one.url)
    assert.equal(status, 200, JSON.stringify(body))
    const [row] = body.round.brokers
    return row?.id === 2 && row.outcome === 'done'
  })
  const { status, code, body } = await run(two.url)
  assert.deepEqual([status, code], [503, 'LEADER_NOT_AVAILABLE'])
  assert.match(
    body.detail,
    /^Broker 1 holds the lease of the storage worker, and has no Kafka listener .* its own admin API/,
  )
})
