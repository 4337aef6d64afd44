import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { topicPattern } from '../../../testing/topic-pattern.ts'
import type { Values } from '../../settings/settings.ts'

async function openApi(t: CleanUp, overrides: Partial<Values> = {}) {
  const { url } = await startBroker(t, { 'admin.security-enabled': false, ...overrides }, { hasHttp: true })
  return adminClient(`${url}/api/v1`).ask
}

test('a topic is created, described, grown and deleted', async t => {
  const api = await openApi(t)
  const created = await api('POST', '/topics', {
    name: 'orders',
    partitions: 2,
    configs: { 'retention.ms': '9007199254740993' },
  })
  assert.equal(created.status, 201)
  assert.match(created.body.id, /^[\w-]{22}$/)
  assert.equal(created.body.partitions, 2)

  await api('POST', '/topics/orders/messages', { messages: [{ partition: 1, value: { text: 'x' } }] })
  const { body } = await api('GET', '/topics/orders')
  const brokers = { leader: 0, leaderEpoch: 1, replicas: [0], inSync: [0] }
  assert.deepEqual(
    { ...body, createdAt: null, lastWriteAt: null, sizeBytes: null },
    {
      name: 'orders',
      id: created.body.id,
      partitions: 2,
      replicationFactor: 1,
      createdAt: null,
      configs: { 'retention.ms': '9007199254740993' },
      cleanupPolicy: 'delete',
      retentionMs: '9007199254740993',
      retentionBytes: '-1',
      records: 1,
      sizeBytes: null,
      lastWriteAt: null,
      leaders: [
        { partition: 0, ...brokers, start: 0, end: 0, sizeBytes: 0, error: null },
        { partition: 1, ...brokers, start: 0, end: 1, sizeBytes: body.sizeBytes, error: null },
      ],
    },
  )
  assert.ok(body.sizeBytes > 0)
  for (const at of [body.createdAt, body.lastWriteAt]) assert.equal(new Date(at).toISOString(), at)
  assert.ok(body.createdAt <= body.lastWriteAt)

  const grown = await api('POST', '/topics/orders/partitions', { count: 5 })
  assert.deepEqual([grown.status, grown.body], [200, { name: 'orders', partitions: 5 }])
  const fewer = await api('POST', '/topics/orders/partitions', { count: 3 })
  assert.deepEqual([fewer.status, fewer.body.code], [400, 'INVALID_PARTITIONS'])
  assert.equal(fewer.body.title, 'A topic cannot have this number of partitions.')

  assert.equal((await api('DELETE', '/topics/orders')).status, 204)
  const gone = await api('GET', '/topics/orders')
  assert.deepEqual([gone.status, gone.body.code], [404, 'UNKNOWN_TOPIC_OR_PARTITION'])
  assert.equal((await api('DELETE', '/topics/orders')).status, 404)
})

test('an impossible topic is refused with the reason, and no topic is created', async t => {
  const api = await openApi(t, { 'max-partitions-per-topic': 4 })
  const cases = [
    [{ name: 'a', partitions: 5 }, 400, 'INVALID_PARTITIONS', /max-partitions-per-topic is 4/],
    [{ name: 'a', partitions: 0 }, 400, 'INVALID_REQUEST', /^partitions: /],
    [{ name: 'a', replicationFactor: 2 }, 400, 'INVALID_REPLICATION_FACTOR', /only 1 broker\(s\) are registered/],
    [{ name: 'a', replicationFactor: 0 }, 400, 'INVALID_REQUEST', /^replicationFactor: /],
    [{ name: 'a', configs: { 'no.such': '1' } }, 400, 'INVALID_CONFIG', /no\.such/],
    [{ name: 'a', configs: { 'retention.ms': 5 } }, 400, 'INVALID_REQUEST', /^configs\.retention\.ms: /],
    [{ name: 'a', partition: 5 }, 400, 'INVALID_REQUEST', /partition/],
    [{ name: '__consumer_offsets' }, 400, 'INVALID_TOPIC_EXCEPTION', /prohibited/],
  ] as const
  for (const [body, status, code, detail] of cases) {
    const answer = await api('POST', '/topics', body)
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(body))
    assert.match(answer.body.detail, detail)
  }
  const checked = await api('POST', '/topics', { name: 'checked', partitions: 4, validateOnly: true })
  assert.deepEqual([checked.status, checked.body.id], [200, null])
  await api('POST', '/topics', { name: 'there' })
  const twice = await api('POST', '/topics', { name: 'there' })
  assert.deepEqual([twice.status, twice.body.code], [409, 'TOPIC_ALREADY_EXISTS'])
  // The title belongs to the code, the detail to this request (RFC 9457, 3.1.3).
  const titles = ['Topic with this name already exists.', "Topic 'there' already exists."]
  assert.deepEqual([twice.body.title, twice.body.detail], titles)
  const grown = await api('POST', '/topics/there/partitions', { count: 5 })
  assert.match(grown.body.detail, /max-partitions-per-topic is 4/)
  // The limit counts the partitions of all topics together.
  const bounded = await openApi(t, { 'max-partitions': 4 })
  await bounded('POST', '/topics', { name: 'there' })
  for (const [path, body] of [
    ['/topics', { name: 'a', partitions: 4 }],
    ['/topics/there/partitions', { count: 5 }],
  ] as const) {
    for (const validateOnly of [true, false]) {
      const answer = await bounded('POST', path, { ...body, validateOnly })
      assert.deepEqual([answer.status, answer.body.code], [400, 'INVALID_PARTITIONS'])
      assert.match(answer.body.detail, /svc\.max-partitions is 4/)
    }
  }
  const { body } = await api('GET', '/topics?fields=name')
  assert.deepEqual(body, { topics: [{ name: 'there' }], total: 1, offset: 0 })
})

test('topics are searched, sorted and paged', async t => {
  const api = await openApi(t)
  for (const [name, partitions] of [
    ['beta', 3],
    ['alpha', 1],
    ['gamma-Beta', 2],
  ] as const)
    await api('POST', '/topics', { name, partitions })
  await api('POST', '/topics/gamma-Beta/messages', {
    messages: [{ value: { text: 'x'.repeat(500) } }, { value: { text: 'y' } }],
  })
  await api('POST', '/topics/alpha/messages', { messages: [{ value: { text: 'z' } }] })
  const names = async (query: string) => {
    const { body } = await api('GET', `/topics?${query}`)
    return [body.topics.map((topic: { name: string }) => topic.name).join(), body.total]
  }
  assert.deepEqual(await names(''), ['alpha,beta,gamma-Beta', 3])
  assert.deepEqual(await names('q=BETA'), ['beta,gamma-Beta', 2])
  assert.deepEqual(await names('sort=partitions&order=desc&limit=2'), ['beta,gamma-Beta', 3])
  assert.deepEqual(await names('sort=records&order=desc'), ['gamma-Beta,alpha,beta', 3])
  assert.deepEqual(await names('sort=sizeBytes&order=desc&limit=1'), ['gamma-Beta', 3])
  assert.deepEqual(await names('sort=lastWriteAt&limit=1'), ['beta', 3])
  assert.deepEqual(await names('sort=createdAt&offset=2'), ['gamma-Beta', 3])
  assert.deepEqual(await names('offset=1&limit=1'), ['beta', 3])
  assert.deepEqual(await names('offset=7'), ['', 3])
  assert.deepEqual(await names('fields=name&order=desc'), ['gamma-Beta,beta,alpha', 3])
  assert.deepEqual(await names('fields=name&sort=partitions&order=desc&limit=2'), ['beta,gamma-Beta', 3])
  assert.deepEqual(await names('fields=name&sort=createdAt&offset=2'), ['gamma-Beta', 3])
  assert.deepEqual(await names('names=gamma-Beta,unknown,alpha,alpha'), ['alpha,gamma-Beta', 2])
  assert.deepEqual(await names('names=gamma-Beta,alpha&sort=sizeBytes&order=desc&limit=1'), ['gamma-Beta', 2])
  assert.deepEqual(await names('names=gamma-Beta,alpha&q=beta'), ['gamma-Beta', 1])
  assert.deepEqual(await names('names=beta,alpha&fields=name&order=desc&offset=1'), ['alpha', 2])
  await api('POST', '/topics', { name: '__beta' })
  assert.deepEqual(await names('q=beta'), ['__beta,beta,gamma-Beta', 3])
  assert.deepEqual(await names('q=beta&internal=false'), ['beta,gamma-Beta', 2])
  assert.deepEqual(await names('internal=false&fields=name&limit=1'), ['alpha', 3])
  for (const none of ['names=', 'names=BETA', 'names=unknown']) assert.deepEqual(await names(none), ['', 0], none)
})

test('a query is accepted as documented, or refused with the name of the field', async t => {
  const api = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  const cases = [
    ['/topics?limit=1000000000', 'limit'],
    ['/topics?limit=0', 'limit'],
    ['/topics?limit=abc', 'limit'],
    ['/topics?limit=', 'limit'],
    ['/topics?limit=1e2', 'limit'],
    ['/topics?limit=0x10', 'limit'],
    ['/topics?limit=%205', 'limit'],
    ['/topics?limit=5&limit=6', 'limit'],
    ['/topics?offset=-1', 'offset'],
    ['/topics?offset=9007199254740993', 'offset'],
    ['/topics?q=a&q=b', 'q'],
    ['/topics?names=t&names=t', 'names'],
    ['/groups?topic=t&topic=t', 'topic'],
    ['/groups?sort=topicLag.totalLag', 'sort'],
    [`/metrics/consumer-lag?${'groups=g&'.repeat(1_001)}`, 'groups'],
    ['/topics?sort=colour', 'sort'],
    ['/topics?fields=name&sort=records', 'sort'],
    ['/topics?fields=name&sort=sizeBytes', 'sort'],
    ['/topics?fields=name&sort=lastWriteAt', 'sort'],
    ['/topics?topic[]=x', 'topic[]'],
    ['/topics/t/messages?offset=-1', 'offset'],
    ['/topics/t/messages?offset=abc', 'offset'],
    ['/topics/t/messages?offset=1.5', 'offset'],
    ['/topics/t/messages?offset=9223372036854775808', 'offset'],
    ['/topics/t/messages?offset=1&offset=2', 'offset'],
    ['/topics/t/messages?timestamp=-5', 'timestamp'],
    ['/topics/t/messages?partition=2147483648', 'partition'],
    ['/topics/t/messages?limit=1001', 'limit'],
    ['/topics/t/messages?previewBytes=9999999', 'previewBytes'],
    ['/topics/t/messages?decode=avro', 'decode'],
    ['/topics/t/messages?from=earliest&offset=1', 'from'],
    ['/topics/t/messages/tail?partition=x', 'partition'],
    ['/topics/t/messages/0/-1', 'offset'],
    ['/topics/t/messages/0/9223372036854775808', 'offset'],
    ['/topics/t/messages/x/0', 'partition'],
  ] as const
  for (const [path, field] of cases) {
    const { status, body } = await api('GET', path)
    assert.deepEqual([status, body.code], [400, 'INVALID_REQUEST'], path)
    assert.ok(JSON.stringify([body.fields, body.detail]).includes(field), `${path}: ${JSON.stringify(body)}`)
    if (/^(limit|offset)$/.test(field) && !path.includes('earliest'))
      assert.match(body.detail, /takes an integer from [01]/)
  }
})

test('names of topics are checked by one rule in every path and body, and decoded once', async t => {
  const api = await openApi(t)
  const long = 'n'.repeat(249)
  assert.equal((await api('POST', '/topics', { name: long })).status, 201)
  assert.equal((await api('GET', `/topics/${long}`)).status, 200)
  assert.equal((await api('POST', '/topics', { name: 'a-b.c_D' })).status, 201)
  assert.equal((await api('GET', '/topics/%61-b%2Ec_D')).status, 200)
  const refused = ['a b', 'a/b', 'a%2Fb', 'a:b', '{x}', 'ä', 'a\0', 'a\nb', '.', '..', `${long}n`, 'a;x=1', '<script>']
  for (const name of refused) {
    const answers = [await api('POST', '/topics', { name })]
    // A client resolves a segment of only dots itself, so the broker sees another path.
    if (!/^\.+$/.test(name)) {
      const path = `/topics/${encodeURIComponent(name)}`
      answers.push(
        await api('GET', path),
        await api('DELETE', path),
        await api('GET', `${path}/configs`),
        await api('PUT', `${path}/configs`, { set: {} }),
        await api('POST', `${path}/partitions`, { count: 2 }),
        await api('POST', `${path}/records/delete`, { offsets: [{ partition: 0, before: 'end' }] }),
        await api('GET', `${path}/messages`),
        await api('POST', `${path}/messages`, { messages: [{ value: null }] }),
        await api('GET', `${path}/messages/tail`),
        await api('GET', `${path}/messages/export`),
        await api('GET', `${path}/messages/0/0`),
        await api('GET', `${path}/messages/0/0/download`),
      )
    }
    for (const { status, body } of answers) {
      assert.deepEqual([status, body.code], [400, 'INVALID_TOPIC_EXCEPTION'], JSON.stringify([name, body]))
    }
  }
  assert.equal((await api('POST', '/topics', { name: '' })).status, 400)
  // These are names that a metric could not tell apart, and names that look like the broker's own.
  for (const name of ['a-b_c.D', '__consumer_offsets']) {
    const { status, body } = await api('POST', '/topics', { name })
    assert.deepEqual([status, body.code], [400, 'INVALID_TOPIC_EXCEPTION'], name)
    assert.equal((await api('GET', `/topics/${name}`)).status, 404, name)
  }
})

test('a check before a topic is created names the pattern that would give each config', async t => {
  const topics = [topicPattern('audit-*', { retention: 5_000 }), topicPattern('*', { compression: 'zstd' })]
  const api = await openApi(t, { topics })
  const asked = { name: 'audit-eu', configs: { 'segment.ms': '1000' }, validateOnly: true }
  const { status, body } = await api('POST', '/topics', asked)
  assert.equal(status, 200)
  const givers = body.configs.map(({ name, source, origin, pattern }: Record<string, unknown>) => {
    return [name, [source, origin, pattern]]
  })
  const of = Object.fromEntries(givers)
  assert.deepEqual(of['retention.ms'], ['settings', 'svc.topics[0].retention (name audit-*), test', 'audit-*'])
  assert.deepEqual(of['storage.compression.type'], ['settings', 'svc.topics[1].compression (name *), test', '*'])
  assert.deepEqual(of['segment.ms'], ['topic', null, null])
  assert.deepEqual(of['retention.bytes'], ['default', null, null])
})

test('configs show their source, and change one by one', async t => {
  const api = await openApi(t)
  await api('POST', '/topics', { name: 't', configs: { 'retention.ms': '60000' } })
  const find = async (name: string) => {
    const { body } = await api('GET', '/topics/t/configs')
    return body.configs.find((config: { name: string }) => config.name === name)
  }
  assert.deepEqual(await find('retention.ms'), {
    name: 'retention.ms',
    value: '60000',
    source: 'topic',
    type: 'long',
    default: '604800000',
    isReadOnly: false,
    isSensitive: false,
    documentation: 'Age at which segments are dropped; -1 is no limit.',
    ...{ origin: null, pattern: null, unit: 'ms', choices: null, hasEffect: true, because: null },
  })
  const { hasEffect, because, choices } = await find('flush.messages')
  assert.deepEqual(
    [hasEffect, because, choices],
    [false, "It has no effect here and takes only Kafka's default.", ['9223372036854775807']],
  )
  assert.equal((await find('message.timestamp.before.max.ms')).value, '9223372036854775807')
  assert.equal((await find('storage.compression.type')).isReadOnly, true)

  const checked = await api('PUT', '/topics/t/configs', { set: { 'retention.bytes': '5' }, validateOnly: true })
  assert.equal(checked.status, 200)
  assert.equal((await find('retention.bytes')).value, '-1')
  const changed = await api('PUT', '/topics/t/configs', { set: { 'retention.bytes': '5' }, delete: ['retention.ms'] })
  assert.equal(changed.status, 200)
  assert.deepEqual([(await find('retention.bytes')).value, (await find('retention.ms')).source], ['5', 'default'])
  const longest = '9223372036854775807'
  await api('PUT', '/topics/t/configs', { set: { 'retention.ms': longest, 'retention.bytes': longest } })
  const { body: topic } = await api('GET', '/topics/t')
  assert.deepEqual([topic.retentionMs, topic.retentionBytes], [longest, longest], 'more than a number holds')

  for (const body of [
    { set: { 'retention.bytes': 'many' } },
    { set: { 'no.such': '1' } },
    { set: { 'storage.compression.type': 'gzip' } },
  ]) {
    const refused = await api('PUT', '/topics/t/configs', body)
    assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_CONFIG'], JSON.stringify(refused.body))
  }
  const both = await api('PUT', '/topics/t/configs', { set: { 'retention.ms': '1' }, delete: ['retention.ms'] })
  assert.deepEqual([both.status, both.body.code], [400, 'INVALID_REQUEST'])
  assert.equal((await api('PUT', '/topics/none/configs', { set: {} })).status, 404)
})

test('records are deleted up to an offset, partition by partition', async t => {
  const api = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 2 })
  for (const partition of [0, 1])
    for (let i = 0; i < 3; i++)
      await api('POST', '/topics/t/messages', { messages: [{ partition, value: { text: `${i}` } }] })
  const { status, body } = await api('POST', '/topics/t/records/delete', {
    offsets: [
      { partition: 0, before: 2 },
      { partition: 1, before: 'end' },
    ],
  })
  assert.equal(status, 200)
  assert.deepEqual(body.partitions, [
    { partition: 0, start: 2, error: null },
    { partition: 1, start: 3, error: null },
  ])
  const mixed = await api('POST', '/topics/t/records/delete', {
    offsets: [
      { partition: 0, before: 3 },
      { partition: 1, before: 9 },
    ],
  })
  assert.deepEqual(
    mixed.body.partitions.map((row: { start: number; error: { code: string } | null }) => [row.start, row.error?.code]),
    [
      [3, undefined],
      [null, 'OFFSET_OUT_OF_RANGE'],
    ],
  )
  const beyond = await api('POST', '/topics/t/records/delete', { offsets: [{ partition: 0, before: 9 }] })
  assert.deepEqual([beyond.status, beyond.body.code], [400, 'OFFSET_OUT_OF_RANGE'])
  const stranger = await api('POST', '/topics/t/records/delete', { offsets: [{ partition: 7, before: 0 }] })
  assert.equal(stranger.status, 404)
  const negative = await api('POST', '/topics/t/records/delete', { offsets: [{ partition: 0, before: -1 }] })
  assert.equal(negative.status, 400)
})
