// The segments of a partition over HTTP, with sealed and cleaned ones, from a broker that does not lead it, and while
// the leader is away. log/segments.longer.test.ts tests how segments come about.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startBrokerProcess } from '../../../testing/process.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopic, createTopicOfAll } from '../../../testing/topic.ts'
import { connect } from '../../../testing/wire.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch, type NewRecord } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'

const OPEN: Partial<Values> = { 'admin.security-enabled': false }
/** Each round seals all that was appended before it. */
const ROLLED_AT_ONCE = { 'segment.ms': '1', 'retention.ms': '-1' }
const COMPACTED = { ...ROLLED_AT_ONCE, 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0' }

const pathOf = (partition: number | string, query = '') =>
  `/api/v1/topics/orders/partitions/${partition}/segments${query}`

async function append({ port }: { readonly port: number }, partition: number, records: readonly NewRecord[]) {
  const wire = await connect({ port })
  const partitionData = [{ index: partition, records: encodeBatch(records) }]
  const { responses } = await wire.send(produce, 9, {
    ...{ acks: -1, timeoutMs: 5_000 },
    topicData: [{ name: 'orders', partitionData }],
  })
  assert.equal(responses[0]!.partitionResponses[0]!.errorCode, 0)
  await wire.close()
}

async function runRound({ url }: { readonly url: string }): Promise<void> {
  const { status, body } = await adminClient(url).ask('POST', '/api/v1/storage/worker/run')
  assert.equal(status, 200, JSON.stringify(body))
  for (const row of body.round.brokers) assert.deepEqual([row.outcome, row.failures], ['done', 0], JSON.stringify(row))
}

type Row = Readonly<Record<string, unknown>>

test('sealed, cleaned and active segments are shown with their numbers, page by page', async t => {
  const before = Date.now()
  const broker = await startBroker(t, OPEN, { hasHttp: true })
  await createTopic(broker, 'orders', 1, COMPACTED)
  const { ask } = adminClient(broker.url)
  await append(broker, 0, [
    { key: 'a', value: '1', timestamp: 1_000 },
    { key: 'a', value: '2', timestamp: 2_000 },
  ])
  await append(broker, 0, [{ key: 'b', value: '1', timestamp: 3_000 }])
  await runRound(broker)
  await append(broker, 0, [{ key: 'c', value: '1', timestamp: 4_000 }])
  const { segments, ...place } = (await ask('GET', pathOf(0))).body
  assert.deepEqual(place, {
    ...{ topic: 'orders', partition: 0, leaderId: 0, startOffset: 0, localStartOffset: 0, endOffset: 4 },
    ...{ cleanedTo: 3, uncleanable: null, remote: null, total: 2, trouble: null },
  })
  const [sealed, active] = segments as readonly Row[]
  const { sealedAt, cleanedAt, firstAppendAt, lastAppendAt, bytes, plainBytes, epochs, ...rest } = sealed!
  assert.deepEqual(rest, {
    ...{ base: 0, next: 3, isActive: false, tier: 'local', batches: 2, records: 2 },
    ...{ minTimestamp: 2_000, maxTimestamp: 3_000 },
  })
  assert.deepEqual(epochs, [{ epoch: 1, startOffset: 0 }])
  assert.ok((bytes as number) > 0 && bytes === plainBytes, JSON.stringify(sealed))
  for (const time of [sealedAt, cleanedAt, firstAppendAt, lastAppendAt]) {
    const ms = Date.parse(time as string)
    assert.ok(ms >= before && ms <= Date.now(), JSON.stringify(sealed))
  }
  assert.deepEqual(
    [active!.base, active!.next, active!.isActive, active!.records, active!.sealedAt, active!.cleanedAt],
    [3, 4, true, 1, null, null],
  )
  const paged = async (query: string) => {
    const { body } = await ask('GET', pathOf(0, query))
    return [body.total, ...body.segments.map(({ base }: Row) => base)]
  }
  assert.deepEqual(await paged('?limit=1'), [2, 0])
  assert.deepEqual(await paged('?offset=1'), [2, 3])
  assert.deepEqual(await paged('?offset=2'), [2])
})

test('a tombstone that the cleaner keeps does not make its delete horizon the oldest timestamp', async t => {
  const broker = await startBroker(t, OPEN, { hasHttp: true })
  await createTopic(broker, 'orders', 1, COMPACTED)
  await append(broker, 0, [
    { key: 'a', value: '1', timestamp: 1_000 },
    { key: 'a', value: null, timestamp: 2_000 },
  ])
  await runRound(broker)
  const [sealed] = (await adminClient(broker.url).ask('GET', pathOf(0))).body.segments
  assert.deepEqual(
    [sealed.records, sealed.minTimestamp, sealed.maxTimestamp, sealed.cleanedAt !== null],
    [1, 2_000, 2_000, true],
  )
})

test('a bad place or page is refused by name', async t => {
  const broker = await startBroker(t, OPEN, { hasHttp: true })
  await createTopic(broker, 'orders', 2)
  const { ask } = adminClient(broker.url)
  const refused = async (path: string) => {
    const { status, code, body } = await ask('GET', path)
    return [status, code, JSON.stringify(body)] as const
  }
  for (const [path, status, code, what] of [
    [pathOf(2), 404, 'UNKNOWN_TOPIC_OR_PARTITION', /'orders' has the partitions 0 to 1, not 2/],
    [pathOf(-1), 400, 'INVALID_REQUEST', /partition/],
    [pathOf('1.5'), 400, 'INVALID_REQUEST', /partition/],
    [pathOf('first'), 400, 'INVALID_REQUEST', /partition/],
    [pathOf(2 ** 31), 400, 'INVALID_REQUEST', /partition/],
    [pathOf(0, '?limit=0'), 400, 'INVALID_REQUEST', /limit/],
    [pathOf(0, '?limit=1001'), 400, 'INVALID_REQUEST', /limit/],
    [pathOf(0, '?offset=-1'), 400, 'INVALID_REQUEST', /offset/],
    ['/api/v1/topics/other/partitions/0/segments', 404, 'UNKNOWN_TOPIC_OR_PARTITION', /other/],
    ['/api/v1/topics/a%20b/partitions/0/segments', 400, 'INVALID_TOPIC_EXCEPTION', /a b/],
  ] as const) {
    const found = await refused(path)
    assert.deepEqual(found.slice(0, 2), [status, code], `${path}: ${found[2]}`)
    assert.match(found[2], what, path)
  }
})

test('a broker on Redis shows the sealed segments of a leader that is away', { skip: noRedis }, async t => {
  const { uri } = await startRedis(t)
  // The others take a broker that was killed for alive until its time is over.
  const settings = { 'redis.uri': uri, ...OPEN, 'broker.expiry': 60_000 }
  const one = await startBroker(t, { ...settings, 'broker.id': 1 }, { hasHttp: true })
  const two = await startBrokerProcess(t, {
    settings: Object.fromEntries(
      Object.entries({ ...settings, 'broker.id': 2 }).map(([key, value]) => [
        `svc.${key}`,
        key === 'broker.expiry' ? `${value}ms` : String(value),
      ]),
    ),
  })
  await createTopicOfAll(one, 'orders', 6, [1, 2], ROLLED_AT_ONCE)
  const { topics } = await (await one.connect()).send(metadata, 9, { topics: [{ name: 'orders' }] })
  const led = topics[0]!.partitions.find(({ leaderId }) => leaderId === 2)!.partitionIndex
  const shownBy = async ({ url }: { readonly url: string }) => (await adminClient(url).ask('GET', pathOf(led))).body
  const records = Array.from({ length: 3 }, (_, i) => ({ key: `${i}`, value: 'v', timestamp: 1_000 + i }))
  await append(two, led, records)
  await eventually('a segment is sealed', async () => {
    await runRound(one)
    return (await shownBy(one)).total === 2
  })
  await append(two, led, records)
  const before = await shownBy(one)
  assert.deepEqual(before, await shownBy(two), 'the leader shows the same')
  assert.deepEqual([before.leaderId, before.endOffset, before.cleanedTo, before.trouble], [2, 6, 0, null])
  const [sealed] = before.segments
  assert.deepEqual([sealed.base, sealed.next, sealed.records, sealed.isActive], [0, 3, 3, false])

  await two.kill('SIGKILL')
  const { trouble, ...away } = await shownBy(one)
  assert.deepEqual(away, {
    ...{ topic: 'orders', partition: led, leaderId: 2, startOffset: null, localStartOffset: null },
    ...{ endOffset: null, cleanedTo: null, uncleanable: null, remote: null, segments: [sealed], total: 1 },
  })
  assert.match(
    trouble,
    /^The leader does not answer: broker 2.*\. These are the sealed segments\. The active segment, and how far the partition is cleaned, are unknown until the leader answers\.$/,
  )
})
